"""A plain PutItem from another language's SDK is a job."""

import json
import os

import pytest

from dynajobs import Status
from tests.support import node
from tests.support.deployment import Deployment
from tools.local.emulator import CREDENTIALS, REGION


def test_an_item_put_by_nodes_sdk_becomes_a_job_that_runs(stack: Deployment, batch: str) -> None:
    if why := node.why_missing():
        if os.environ.get("CI") == "true":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    environment = {
        "PATH": os.environ["PATH"],
        **CREDENTIALS,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": stack.emulator.endpoint,
    }

    payload = json.dumps({"batch": batch})
    job_id = node.run("enqueue.mjs", stack.table, "e2e.work", payload, env=environment).strip()

    stack.poll()
    [done] = stack.settle([stack.queue.get(job_id)])
    assert (done.status, done.job_type, done.payload) == (Status.COMPLETED, "e2e.work", {"batch": batch})
    assert stack.traces(batch) == [job_id]
