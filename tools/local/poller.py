"""Asks the deployed poller to look for due jobs now, once."""

import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from dynajobs.poller_function import TICK
from tools.local.emulator import Emulator
from tools.local.trouble import Trouble


def poll(emulator: Emulator, function: str) -> dict[str, Any]:
    """Invoke it, wait for it, and return its answer; `Trouble` if it failed."""
    try:
        answer = emulator.client("lambda", read_timeout=90).invoke(
            FunctionName=function, Payload=json.dumps({"source": TICK})
        )
        said: Any = json.loads(answer["Payload"].read() or b"null")
    except (BotoCoreError, ClientError) as error:
        raise Trouble(f"The poller could not be invoked: {error}") from error
    if "FunctionError" in answer or not isinstance(said, dict):
        raise Trouble(f"The poller failed: {said}. `make logs` shows what it said.")
    return said
