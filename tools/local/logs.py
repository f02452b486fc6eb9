"""`make logs`: follows what the functions of the running stack say."""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from tools.local.emulator import Emulator
from tools.local.layout import Layout
from tools.local.stack import NAME
from tools.local.trouble import Trouble

PREFIX = f"/aws/lambda/{NAME}-"
LOOK_SECONDS = 1.0
OVERLAP_MS = 10_000  # what was said while we looked elsewhere


def main() -> int:
    try:
        for line in follow(running(Layout())):
            print(line, flush=True)
    except KeyboardInterrupt:
        return 0
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"The stack no longer answers: {error}", file=sys.stderr)
    return 1


def running(layout: Layout) -> Any:
    """A client of the running stack's logs."""
    try:
        stack = json.loads(layout.pointer.read_text())
    except FileNotFoundError:
        raise Trouble("No stack is running in this folder: start one with `make run`.") from None
    return Emulator(layout=layout, port=urlsplit(stack["endpoint"]).port or 0).client("logs")


def follow(logs: Any) -> Iterator[str]:
    """Every line from the beginning, then new ones as they are written."""
    seen: set[tuple[Any, ...]] = set()
    since = 0
    while True:
        newest = since
        found = []
        for group in logs.describe_log_groups(logGroupNamePrefix=PREFIX)["logGroups"]:
            name = group["logGroupName"]
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=name, startTime=since):
                found += [(each["timestamp"], name, each) for each in page["events"]]
        for timestamp, name, each in sorted(found, key=lambda line: line[0]):
            newest = max(newest, timestamp)
            # The emulator gives events no ids.
            line = (name, each["logStreamName"], timestamp, each["message"])
            if line not in seen:
                seen.add(line)
                yield f"{name.removeprefix(PREFIX):8} {each['message'].rstrip()}"
        since = max(since, newest - OVERLAP_MS)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
