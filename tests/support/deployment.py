"""A stack on the emulator, deployed as `make run` deploys it, and what a test does with it."""

import json
import re
import shutil
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dynajobs import Job, JobQueue, Settings
from dynajobs.poller_function import TICK
from tests.support.recipe import add_functions
from tools.local.api import access
from tools.local.emulator import Emulator, free_port
from tools.local.layout import ROOT, Layout
from tools.local.poller import poll
from tools.local.stack import LOCAL, Stack

E2E = ROOT / "tests" / "e2e"
SHORT = {
    **LOCAL,
    "MaxInFlight": "12",
    "LeaseSeconds": "30",
    "MaxAttempts": "3",
    "BaseDelaySeconds": "1",
    "MaxDelaySeconds": "2",
}
# The first start of a function unpacks the layer; on a busy machine that takes its time.
PATIENCE_SECONDS = 120


@dataclass
class Deployment:
    """The running stack. `queue` is its queue, seen by somebody who may do everything."""

    emulator: Emulator
    outputs: dict[str, str]

    @cached_property
    def dynamodb(self) -> Any:
        return self.emulator.client("dynamodb")

    @cached_property
    def _lambda(self) -> Any:
        return self.emulator.client("lambda", read_timeout=90, retries={"total_max_attempts": 1})

    @cached_property
    def queue(self) -> JobQueue:
        return JobQueue(self.table, client=self.dynamodb, settings=Settings())

    @cached_property
    def entrance(self) -> dict[str, str]:
        """The API's `url`, `token` and `read_token`."""
        return access(self.emulator, self.outputs)

    @property
    def table(self) -> str:
        return self.outputs["TableName"]

    @cached_property
    def names(self) -> dict[str, str]:
        """Logical id to physical name."""
        found = self.emulator.client("cloudformation").describe_stack_resources(StackName="dynajobs")
        return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found["StackResources"]}

    def ticking(self, on: bool) -> None:
        """Let EventBridge ask the poller every minute, or not: a tick would take jobs from a test's hands."""
        events = self.emulator.client("events")
        [rule] = events.list_rules(NamePrefix="dynajobs-PollerFunctionTick")["Rules"]
        (events.enable_rule if on else events.disable_rule)(Name=rule["Name"])

    def waking(self, on: bool) -> None:
        """Let new jobs wake the poller through the table's stream, or not."""
        [mapping] = self._lambda.list_event_source_mappings(FunctionName=self.names["PollerFunction"])[
            "EventSourceMappings"
        ]
        self._lambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)

    def poll(self) -> dict[str, Any]:
        """Have the poller look now, and return when it is done."""
        return poll(self.emulator, self.outputs["PollerFunctionName"])

    def call(self, function: str, event: Any) -> Any:
        """Invoke a function by its logical id and return what it answers; an error is an assertion."""
        answer = self._lambda.invoke(FunctionName=self.names[function], Payload=json.dumps(event).encode())
        said = json.loads(answer["Payload"].read() or b"null")
        assert "FunctionError" not in answer, said
        return said

    def starts(self, folder: str) -> int:
        """How often the function of a folder was invoked, by its log."""
        pages = (
            self.emulator.client("logs")
            .get_paginator("filter_log_events")
            .paginate(logGroupName=f"/aws/lambda/dynajobs-{folder}")
        )
        return sum(each["message"].startswith("START") for page in pages for each in page["events"])

    def kill(self, function: str) -> None:
        """Invoke a function that does not live to answer."""
        answer = self._lambda.invoke(FunctionName=self.names[function], Payload=json.dumps({"source": TICK}))
        assert "FunctionError" in answer, "it should have died"

    def settle(self, jobs: Iterable[Job], *, within: float = PATIENCE_SECONDS) -> list[Job]:
        """Poll now and then until every job has ended, and return them as they are then."""
        waiting = {job.id: job for job in jobs}
        order = list(waiting)
        ended: dict[str, Job] = {}
        give_up_at = time.monotonic() + within
        while waiting:
            assert time.monotonic() < give_up_at, f"not ended: {list(waiting.values())[:3]}"
            self.poll()
            time.sleep(0.3)
            with ThreadPoolExecutor(8) as pool:
                for job in pool.map(self.queue.get, list(waiting)):
                    waiting[job.id] = job
                    if job.status.finished:
                        ended[job.id] = waiting.pop(job.id)
        return [ended[job_id] for job_id in order]

    def traces(self, batch: str) -> list[str]:
        """The id of a job for each time it was executed, crashed executions included."""
        pages = self.dynamodb.get_paginator("query").paginate(
            TableName=self.table,
            KeyConditionExpression="PK = :batch",
            ExpressionAttributeValues={":batch": {"S": f"trace#{batch}"}},
            ConsistentRead=True,
        )
        return sorted(item["SK"]["S"].split("#")[0] for page in pages for item in page["Items"])


def project(folder: Path) -> Path:
    """The shipped template with the tests' own functions, added as docs/deploy.md says."""
    for part in ("functions", "layers"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    shutil.copytree(E2E / "functions", folder / "functions", dirs_exist_ok=True)
    types = {"e2e.work": "WorkFunction", "e2e.fragile": "FragileFunction"}
    text = add_functions(
        (ROOT / "template.yaml").read_text(),
        resources=(E2E / "template.yaml").read_text(),
        mapped="".join(f'                "{name}": "${{{target}}}",\n' for name, target in types.items()),
        invoked="".join(f"                - !GetAtt {target}.Arn\n" for target in types.values()),
    )
    # The emulator knows no leading keys, so to it every request lacks them; tests/unit/test_template.py looks
    # after these conditions.
    text = re.sub(r' +"Null": \{ "dynamodb:LeadingKeys": "false" \}\n', "", text)
    (folder / "template.yaml").write_text(text)
    return folder / "template.yaml"


def deploy(folder: Path) -> Deployment:
    """With the emulator's IAM switched on. Stop `emulator` in the end, also if this fails."""
    layout = Layout(folder / "home")
    emulator = Emulator(layout=layout, port=free_port(), iam=True)
    stack = Stack(layout=layout, template=project(folder / "project"), parameters=SHORT)
    stack.build()
    try:
        emulator.start()
        return Deployment(emulator, stack.deploy(emulator))
    except BaseException:
        emulator.stop()
        raise
