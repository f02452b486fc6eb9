"""Log lines and Sentry events say what was promised, nothing secret, and never get in the way."""

import gzip
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
import sentry_sdk
from pydantic import BaseModel, SecretStr, ValidationError, field_validator

from dynajobs.job import Job, Run, Status
from dynajobs.redact import MASK
from dynajobs.settings import Settings
from dynajobs.telemetry import Telemetry

# Spelled so that the lines of source that Sentry sends around a frame cannot contain it.
SECRET = "hush" + "-4711-" + "hush"
NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
JOB = Job(
    id="0192f0c1-7b1e-7cc3-98c4-dc0c0c07398f",
    job_type="mail",
    payload={"to": "u1", "password": SECRET, "nested": [{"api_key": SECRET}]},
    status=Status.FAILED,
    scheduled_for=NOON,
    created_at=NOON,
    attempts=2,
    max_attempts=5,
    fingerprint="0123456789ab",
    schedule_name="nightly",
    last_error="ValueError: as stored",
    runs=(Run(run_id="r2", attempt=2, status="failed", worker="lambda-7"),),
)
RUNNING = replace(JOB, status=Status.IN_PROGRESS, runs=(*JOB.runs, Run(run_id="r3", attempt=3)))


class Mail(BaseModel):
    to: str
    code: SecretStr

    @field_validator("to")
    @classmethod
    def _known(cls, value: str) -> str:
        if value == SECRET:
            raise ValueError(f"{value} is unknown")
        return value


class Inbox:
    """A Sentry server: every envelope that arrives, unpacked."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        inbox = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                inbox.raw.append(
                    gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
                )
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.dsn = f"http://key@127.0.0.1:{self.server.server_port}/1"

    @property
    def everything(self) -> bytes:
        return b"\n".join(self.raw)

    def items(self) -> list[tuple[str, Any]]:
        """Type and content of each item of all envelopes."""
        found = []
        for raw in self.raw:
            stream = io.BytesIO(raw)
            stream.readline()
            while header := stream.readline().strip():
                entry = json.loads(header)
                body = stream.read(entry["length"]) if "length" in entry else stream.readline()
                found.append((entry["type"], json.loads(body)))
                if "length" in entry:
                    stream.readline()
        return found

    def event(self) -> dict[str, Any]:
        ((kind, event),) = self.items()
        assert kind == "event"
        assert isinstance(event, dict)
        return event


@pytest.fixture
def inbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    for name in [
        name for name in os.environ if name.startswith("SENTRY_") or name.lower().endswith("_proxy")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SENTRY_RELEASE", "r1")
    inbox = Inbox()
    thread = Thread(target=inbox.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield inbox
    finally:
        sentry_sdk.get_client().close(timeout=0)
        sentry_sdk.get_global_scope().set_client(None)
        inbox.server.shutdown()
        thread.join()
        inbox.server.server_close()


def caught(error: Exception) -> Exception:
    def handler(payload: Any) -> None:
        local = {"payload": payload}
        assert local
        raise error

    try:
        handler(f"{SECRET} local")
    except Exception as raised:  # noqa: BLE001  the tests raise any kind
        return raised
    raise AssertionError("nothing was raised")


def refusal() -> ValidationError:
    with pytest.raises(ValidationError) as refused:
        Mail.model_validate({"to": SECRET, "code": {"x": SECRET}})
    return refused.value


def tell(inbox: Inbox, *args: Any, settings: dict[str, Any] | None = None, **kwargs: Any) -> dict[str, Any]:
    telemetry = Telemetry(Settings(sentry_dsn=inbox.dsn, **(settings or {})))
    job: Job = args[0]
    telemetry.failure(*args, **{"payload": job.payload} | kwargs)
    telemetry.flush()
    return inbox.event()


def test_a_failed_attempt_arrives_with_exactly_these_keys(inbox: Inbox) -> None:
    event = tell(inbox, JOB, caught(ValueError("no such user")))
    trace = event["contexts"].pop("trace")
    assert set(trace) <= {"trace_id", "span_id", "parent_span_id"}
    assert event.pop("breadcrumbs", {"values": []}) == {"values": []}
    assert event.pop("transaction_info", {}) == {}
    assert set(event) == {
        "contexts", "environment", "event_id", "exception", "fingerprint", "level", "platform", "release",
        "sdk", "server_name", "tags", "timestamp",
    }  # fmt: skip
    assert event["tags"] == {"job_id": JOB.id, "job_type": "mail", "attempt": "2", "status": "failed"}
    assert event["fingerprint"] == ["0123456789ab"]
    assert event["level"] == "error"
    assert event["contexts"] == {
        "job": {
            "job_id": JOB.id,
            "job_type": "mail",
            "status": "failed",
            "scheduled_for": "2026-11-18T12:00:00.000000Z",
            "created_at": "2026-11-18T12:00:00.000000Z",
            "attempts": 2,
            "max_attempts": 5,
            "undelivered": 0,
            "priority": 0,
            "worker": "lambda-7",
            "fingerprint": "0123456789ab",
            "schedule_name": "nightly",
            "payload": {"to": "u1", "password": MASK, "nested": [{"api_key": MASK}]},
        }
    }
    (exception,) = event["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("ValueError", "no such user")
    assert [frame["function"] for frame in exception["stacktrace"]["frames"]] == ["caught", "handler"]
    assert not any("vars" in frame for frame in exception["stacktrace"]["frames"])
    assert SECRET.encode() not in inbox.everything


def test_a_payload_that_is_not_given_is_not_sent(inbox: Inbox) -> None:
    assert "payload" not in tell(inbox, JOB, None, payload=None)["contexts"]["job"]


def test_the_running_attempt_is_the_one_that_is_tagged(inbox: Inbox) -> None:
    assert tell(inbox, RUNNING, caught(ValueError("x")))["tags"]["attempt"] == "3"


def test_a_failure_without_an_exception_arrives_as_a_message(inbox: Inbox) -> None:
    event = tell(inbox, replace(JOB, status=Status.DEAD_LETTER), None, message="never started")
    assert "exception" not in event
    assert event["level"] == "error"
    assert event["message"] == "never started"
    assert event["tags"]["status"] == "dead_letter"
    assert event["contexts"]["job"]["last_error"] == "ValueError: as stored"


def test_a_failure_without_any_words_is_named_after_the_job(inbox: Inbox) -> None:
    assert tell(inbox, replace(JOB, fingerprint=None), None)["message"] == "mail: failed"


def test_secret_fields_of_a_model_never_arrive(inbox: Inbox) -> None:
    payload = Mail(to="u1", code=SecretStr(SECRET))
    event = tell(inbox, replace(JOB, payload={"code": SECRET}), caught(ValueError("x")), payload=payload)
    assert event["contexts"]["job"]["payload"] == {"to": "u1", "code": MASK}
    assert SECRET.encode() not in inbox.everything


def test_secret_fields_of_a_refused_payload_are_known_by_the_model(inbox: Inbox) -> None:
    event = tell(inbox, replace(JOB, payload={"to": 5, "code": SECRET}), None, model=Mail)
    assert event["contexts"]["job"]["payload"] == {"to": 5, "code": MASK}
    assert SECRET.encode() not in inbox.everything


def test_a_model_that_cannot_be_dumped_is_not_sent(inbox: Inbox) -> None:
    class Broken:
        def model_dump(self, **_: Any) -> Any:
            raise RuntimeError(SECRET)

    event = tell(inbox, JOB, None, payload=Broken())
    assert event["contexts"]["job"]["payload"] is None
    assert SECRET.encode() not in inbox.everything


def test_extra_names_are_masked_too(inbox: Inbox) -> None:
    event = tell(inbox, JOB, None, settings={"redact": ("to",)})
    assert event["contexts"]["job"]["payload"]["to"] == MASK


def test_payloads_can_be_switched_off(inbox: Inbox) -> None:
    settings = {"sentry_payloads": False}
    event = tell(inbox, JOB, caught(ValueError("x")), payload={"to": "unseen"}, settings=settings)
    assert "payload" not in event["contexts"]["job"]
    assert b"unseen" not in inbox.everything
    assert b'"u1"' not in inbox.everything


def test_a_huge_payload_is_cut(inbox: Inbox) -> None:
    event = tell(inbox, replace(JOB, payload={"password": SECRET, "text": "x" * 250_000}), None)
    assert event["contexts"]["job"]["payload"].startswith('{"password": "•••", "text": "xxx')
    assert len(inbox.everything) < 30_000


def test_a_payload_of_any_objects_is_named_not_shown(inbox: Inbox) -> None:
    event = tell(inbox, JOB, None, payload={"when": NOON, "codes": [SecretStr(SECRET)]})
    assert event["contexts"]["job"]["payload"] == {"when": "<datetime>", "codes": [MASK]}


@pytest.mark.parametrize("shape", ["bare", "cause", "quoted", "grouped", "noted"])
def test_what_a_validation_error_refused_never_arrives(inbox: Inbox, shape: str) -> None:
    refused = refusal()
    assert SECRET in str(refused)
    error: Exception = refused
    if shape == "cause":
        error = RuntimeError("outer")
        error.__cause__ = refused
    elif shape == "quoted":
        error = RuntimeError(f"refused: {refused}")
        error.__cause__ = refused
    elif shape == "grouped":
        error = ExceptionGroup("several", [refused, ValueError("other")])
    elif shape == "noted":
        refused.add_note("in row 7")
    event = tell(inbox, JOB, caught(error), model=Mail)
    texts = " ".join(value["value"] for value in event["exception"]["values"])
    assert "to: Value error, ••• is unknown" in texts
    assert "code: Input should be a valid string" in texts
    assert ("in row 7" in texts) == (shape == "noted")
    assert any("stacktrace" in value for value in event["exception"]["values"])
    assert SECRET.encode() not in inbox.everything
    assert b"input_value" not in inbox.everything


def test_a_validation_error_too_deep_to_follow_is_withheld(inbox: Inbox) -> None:
    error: Exception = caught(refusal())
    for number in range(30):
        outer = RuntimeError(str(number))
        outer.__cause__ = error
        error = caught(outer)
    values = tell(inbox, JOB, error)["exception"]["values"]
    assert [each["value"] for each in values if each["type"] == "ValidationError"] == ["<details withheld>"]
    assert SECRET.encode() not in inbox.everything


def test_an_exception_that_cannot_be_printed_still_arrives(inbox: Inbox) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    (exception,) = tell(inbox, JOB, caught(Broken()))["exception"]["values"]
    assert exception["type"].endswith("Broken")


def test_a_users_own_client_is_used_as_it_is(inbox: Inbox) -> None:
    sentry_sdk.init(
        dsn=inbox.dsn, environment="theirs", default_integrations=False, send_client_reports=False
    )
    theirs = sentry_sdk.get_client()
    telemetry = Telemetry(Settings(sentry_dsn="http://key@127.0.0.1:9/9"))
    telemetry.failure(JOB, caught(ValueError("x")))
    telemetry.flush()
    assert sentry_sdk.get_client() is theirs
    event = inbox.event()
    assert event["environment"] == "theirs"
    assert event["tags"]["job_id"] == JOB.id
    assert SECRET.encode() not in inbox.everything


def test_sentry_is_started_once(inbox: Inbox) -> None:
    telemetry = Telemetry(Settings(sentry_dsn=inbox.dsn))
    telemetry.failure(JOB, None)
    first = sentry_sdk.get_client()
    telemetry.failure(JOB, None)
    telemetry.flush()
    assert sentry_sdk.get_client() is first
    assert not first.should_send_default_pii()
    assert first.integrations == {}
    assert [kind for kind, _ in inbox.items()] == ["event", "event"]


def test_a_problem_with_sentry_is_told_once_and_not_raised(
    inbox: Inbox, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    telemetry = Telemetry(Settings(sentry_dsn=inbox.dsn))

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(sentry_sdk, "capture_event", broken)
    monkeypatch.setattr(sentry_sdk, "flush", broken)
    for _ in range(3):
        telemetry.failure(JOB, ValueError("x"))
        telemetry.flush()
    assert caplog.messages == ["Sentry cannot be used: RuntimeError: out of order"]


def test_a_bad_dsn_is_told_once_and_not_tried_again(inbox: Inbox, caplog: pytest.LogCaptureFixture) -> None:
    telemetry = Telemetry(Settings(sentry_dsn="nonsense"))
    for _ in range(3):
        telemetry.failure(JOB, ValueError("x"))
        telemetry.flush()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("Sentry cannot be used: BadDsn: ")
    assert inbox.raw == []


def test_without_a_dsn_or_client_nothing_is_sent(inbox: Inbox) -> None:
    telemetry = Telemetry(Settings())
    telemetry.failure(JOB, ValueError("x"))
    telemetry.flush()
    assert inbox.raw == []
    assert not sentry_sdk.get_client().is_active()


def test_one_line_tells_the_job_and_the_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "dynajobs"):
        Telemetry(Settings()).transition("claimed", RUNNING, lease_seconds=60)
    (record,) = caplog.records
    assert record.name == "dynajobs"
    assert record.getMessage() == "claimed"
    said = {
        name: getattr(record, name) for name in ("job_id", "job_type", "attempt", "status", "lease_seconds")
    }
    assert said == {
        "job_id": JOB.id,
        "job_type": "mail",
        "attempt": 3,
        "status": "in_progress",
        "lease_seconds": 60,
    }
    assert not hasattr(record, "payload")
    assert record.funcName == "test_one_line_tells_the_job_and_the_fields"


def test_payloads_are_logged_masked_and_only_on_demand(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "dynajobs"):
        Telemetry(Settings(log_payloads=True, redact=("to",))).transition("claimed", JOB, payload=JOB.payload)
    assert vars(caplog.records[0])["payload"] == {"to": MASK, "password": MASK, "nested": [{"api_key": MASK}]}


def test_fields_named_like_loggings_own_do_not_lose_the_line(caplog: pytest.LogCaptureFixture) -> None:
    fields: dict[str, Any] = {"name": "n", "args": 1, "module": "m", "job_id": "not this one"}
    with caplog.at_level(logging.INFO, "dynajobs"):
        Telemetry(Settings()).transition("claimed", JOB, **fields)
    (record,) = caplog.records
    assert (vars(record)["name_"], vars(record)["args_"], vars(record)["module_"]) == ("n", 1, "m")
    assert vars(record)["job_id"] == JOB.id


def test_a_line_below_the_level_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Untouchable:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    job: Any = Untouchable()
    with caplog.at_level(logging.WARNING, "dynajobs"):
        Telemetry(Settings(log_payloads=True)).transition("claimed", job)
    assert caplog.records == []


def test_a_line_that_cannot_be_made_is_not_raised(caplog: pytest.LogCaptureFixture) -> None:
    job: Any = object()
    with caplog.at_level(logging.INFO, "dynajobs"):
        Telemetry(Settings()).transition("claimed", job)


def fresh(code: str, **environ: str) -> str:
    """What a new process prints; these are about what is loaded and configured, which stays as it is."""
    prelude = """
import sys, json, logging
from datetime import UTC, datetime
from dynajobs.job import Job, Status
from dynajobs.settings import Settings
from dynajobs import fault, redact, telemetry, units
settings = Settings.from_env()
noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
job = Job(id="j1", job_type="mail", payload={"to": "u1", "password": "hush"}, status=Status.FAILED,
          attempts=2, scheduled_for=noon, created_at=noon)
"""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("POWERTOOLS_", "SENTRY_", "LOG_"))
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", prelude + code],
        env=kept | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_a_producer_gets_no_output_and_loads_nothing_heavy() -> None:
    output = fresh("""
told = telemetry.Telemetry(settings)
told.transition("enqueued", job, level=logging.ERROR)
told.failure(job, ValueError("x"))
told.flush()
redact.mask(job.payload)
fault.from_exception("mail", ValueError("x"))
print([name for name in ("sentry_sdk", "aws_lambda_powertools", "pydantic", "boto3") if name in sys.modules])
""")
    assert output == "[]\n"


def test_our_own_processes_write_json_lines_with_exactly_these_fields() -> None:
    line, again, *rest = fresh("""
telemetry.configure(settings, service="poller")
telemetry.configure(settings, service="poller")
told = telemetry.Telemetry(settings)
told.transition("claimed", job, lease_seconds=60)
logging.getLogger("dynajobs.poller").info("pass done")
told.transition("too fine", job, level=logging.DEBUG)
""").splitlines()
    entry = json.loads(line)
    assert datetime.fromisoformat(entry.pop("timestamp")).utcoffset() is not None
    assert entry.pop("location").startswith("<module>:")
    assert entry == {
        "level": "INFO",
        "message": "claimed",
        "service": "poller",
        "job_id": "j1",
        "job_type": "mail",
        "attempt": 2,
        "status": "failed",
        "lease_seconds": 60,
    }
    assert json.loads(again)["message"] == "pass done"
    assert rest == []


def test_payloads_in_json_lines_are_masked() -> None:
    code = (
        "telemetry.configure(settings)\n"
        "telemetry.Telemetry(settings).transition('claimed', job, payload=job.payload)"
    )
    assert "payload" not in json.loads(fresh(code))
    assert json.loads(fresh(code, DYNAJOBS_LOG_PAYLOADS="true"))["payload"] == {"to": "u1", "password": MASK}


@pytest.mark.parametrize("variable", ["POWERTOOLS_LOG_LEVEL", "LOG_LEVEL"])
def test_the_level_is_powertools_own(variable: str) -> None:
    code = """
telemetry.configure(settings)
told = telemetry.Telemetry(settings)
told.transition("fine", job, level=logging.DEBUG)
told.transition("usual", job)
told.transition("grave", job, level=logging.ERROR)
"""

    def messages(level: str) -> list[str]:
        return [json.loads(line)["message"] for line in fresh(code, **{variable: level}).splitlines()]

    assert messages("ERROR") == ["grave"]
    assert messages("DEBUG") == ["fine", "usual", "grave"]


def test_a_root_handler_does_not_double_the_lines() -> None:
    output = fresh("""
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
telemetry.configure(settings)
telemetry.Telemetry(settings).transition("claimed", job)
""")
    assert len(output.splitlines()) == 1
