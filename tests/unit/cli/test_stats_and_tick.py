"""Counts, and asking the poller."""

import os
import re
from datetime import timedelta

import pytest

from dynajobs import JobQueue, Stats
from tests.support.answering import answering
from tests.support.commands import BOTH_WAYS, NOBODY, NOW, TOKEN, Run, answer, api, dead_letter, told
from tests.support.serving import serving


@BOTH_WAYS
class TestStats:
    def test_counts(self, run: Run, queue: JobQueue) -> None:
        dead_letter(queue)
        queue.enqueue("sync", run_at=NOW - timedelta(minutes=4))

        text, view = run("stats").stdout, answer(run("stats", "--json"))

        assert view["by_status"]["dead_letter"] == 1 and view["by_type"] == {"sync": 1, "work": 1}
        assert view["oldest_due_age"] == 240 and view["truncated"] is False
        assert re.search(r"● dead_letter +1", text) and re.search(r"● pending +1 +sync +1", text)
        assert "The oldest due job has waited 4m 00s." in text

    def test_an_empty_table(self, run: Run) -> None:
        assert "No job is due." in run("stats").stdout

    def test_counts_that_stopped(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        counted = Stats(
            by_status={"pending": 1000, "failed": 7},
            by_type={"a": 12480},
            oldest_due_age=None,
            truncated=True,
        )
        monkeypatch.setattr(JobQueue, "stats", lambda _: counted)
        text = run("stats").stdout
        assert "1,000+" in text and "12,480+" in text and "  7\n" in text and "stops at 1,000" in text


class TestTick:
    def test_it_invokes_the_poller_and_waits(self, run: Run) -> None:
        with answering({"ok": True, "claimed": 2, "fired": 1}) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert run("tick", "--function", "poller").stdout == "2 jobs claimed, 1 slot fired.\n"
            assert answer(run("tick", "--function", "p", "--json")) == {"ok": True, "claimed": 2, "fired": 1}

    def test_a_poller_that_fails_is_missing_or_is_none(self, run: Run) -> None:
        with answering(
            {"errorType": "KeyError", "errorMessage": "'x'"}, X_Amz_Function_Error="Unhandled"
        ) as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert told(run("tick", "--function", "p"), 3) == "p failed: KeyError: 'x'"
        missing = {"Message": "Function not found"}
        with answering(missing, status=404, X_Amzn_ErrorType="ResourceNotFoundException") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "there is no such function" in told(run("tick", "--function", "p"), 3)
        with answering("hello") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "it is no poller" in told(run("tick", "--function", "p"), 3)
        with answering({"Message": "no"}, status=403, X_Amzn_ErrorType="AccessDeniedException") as url:
            os.environ["AWS_ENDPOINT_URL"] = url
            assert "refused" in told(run("tick", "--function", "p"), 4)
        os.environ["AWS_ENDPOINT_URL"] = NOBODY
        assert "could not be invoked" in told(run("tick", "--function", "p"), 3)

    def test_without_a_poller(self, run: Run) -> None:
        assert "give --function" in told(run("tick"), 2)

    def test_through_the_api(self, run: Run, queue: JobQueue) -> None:
        with serving(api(queue, tick=lambda: {"ok": True, "claimed": 3, "fired": 1})) as url:
            os.environ |= {"DYNAJOBS_URL": url, "DYNAJOBS_TOKEN": TOKEN}
            assert run("tick").stdout == "3 jobs claimed, 1 slot fired.\n"
            assert answer(run("tick", "--json")) == {"ok": True, "claimed": 3, "fired": 1}
            assert "it knows its poller" in told(run("tick", "--function", "p"), 2)
        with serving(api(queue)) as url:
            assert "DYNAJOBS_POLLER is not set" in told(run("tick", "--url", url), 3)
