"""The deployed API beyond its own suite: other people's clients, and what its log keeps to itself."""

import time
from pathlib import Path

import pytest

from tests.support.calling import Caller, over_http
from tests.support.deployment import Deployment
from tests.support.generated import use_generated_client


def test_a_client_made_from_the_document_works(
    stack: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entrance = stack.entrance

    use_generated_client(entrance["url"], entrance["token"], stack.queue, tmp_path, monkeypatch)


def test_tokens_and_payloads_are_in_no_log(stack: Deployment, batch: str) -> None:
    entrance = stack.entrance
    api = Caller(over_http(entrance["url"]), entrance["token"], entrance["read_token"])
    guess, secret = f"guess-{batch}", f"payload-{batch}"
    api("GET", "/api/admin/jobs", token=guess)
    api("POST", "/api/admin/jobs", {"job_type": "e2e.nobody", "payload": {"x": secret}, "delay": 3600})
    api("GET", "/api/admin/jobs", token=api.read_token, type=f"log.{batch}")
    api("GET", f"/api/admin/jobs/{batch}")

    give_up_at = time.monotonic() + 30
    while True:
        pages = (
            stack.emulator.client("logs")
            .get_paginator("filter_log_events")
            .paginate(logGroupName="/aws/lambda/dynajobs-api")
        )
        said = "\n".join(each["message"] for page in pages for each in page["events"])
        if batch in said:
            break
        assert time.monotonic() < give_up_at, "the log never came"
        time.sleep(0.2)
    assert "login failed" in said
    for hidden in (guess, secret, entrance["token"], entrance["read_token"]):
        assert hidden not in said
