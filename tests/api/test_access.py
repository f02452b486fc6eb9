"""Who gets in, and what they may do then."""

from contextlib import suppress
from typing import Any

import pytest

from dynajobs import JobQueue, Settings, Unavailable
from dynajobs.http import access
from dynajobs.http.access import Gate, from_secrets
from dynajobs.http.function import lambda_handler
from dynajobs.http.problems import Refusal
from dynajobs.http.rate import AT_ONCE, PER_SECOND, Rate
from dynajobs.http.request import Request
from tests.support.answering import answering
from tests.support.calling import Caller, in_process
from tests.support.serving import event

CLOSED = [
    ("GET", "/api/admin/jobs"),
    ("POST", "/api/admin/jobs"),
    ("GET", "/api/admin/jobs/no-such-job"),
    ("DELETE", "/api/admin/jobs"),
    ("POST", "/api/jobs/tick"),
    ("GET", "/openapi.json"),
    ("POST", "/health"),
    ("GET", "/no/such/path"),
    ("PATCH", "/"),
]


@pytest.mark.parametrize(("method", "path"), CLOSED)
@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"Authorization": "Basic dTpw"}],
)
def test_without_a_valid_token_every_closed_path_says_the_same(
    api: Caller, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = api(method, path, token=None, headers=headers)

    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json == {
        "error": "Unauthorised",
        "message": "send a valid token as 'Authorization: Bearer …'",
    }


def test_a_bad_body_without_a_token_is_not_even_looked_at(api: Caller) -> None:
    answer = api("POST", "/api/admin/jobs", token=None, raw=b"\xff" * 300_000)

    assert answer.status == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_written_as_one_likes(api: Caller, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {api.token}"}

    assert api("GET", "/api/admin/jobs/stats", token=None, headers=headers).status == 200


def test_a_token_that_may_read_reads_and_changes_nothing(api: Caller, queue: JobQueue, kind: str) -> None:
    job = queue.enqueue(kind, delay=3600)
    for path in ("/api/admin/jobs", f"/api/admin/jobs/{job.id}", "/openapi.json", "/api/admin/audit"):
        assert api("GET", path, token=api.read_token).status == 200
    preview = api("POST", "/api/admin/schedules/preview", {"cron": "@daily"}, token=api.read_token)
    assert preview.status == 200

    for method, path in [
        ("POST", "/api/admin/jobs"),
        ("POST", f"/api/admin/jobs/{job.id}/cancel"),
        ("POST", "/api/admin/jobs/bulk"),
        ("PUT", "/api/admin/schedules/x"),
        ("DELETE", "/api/admin/schedules/x"),
        ("POST", "/api/admin/schedules/x/trigger"),
        ("DELETE", "/api/admin/reservation"),
        ("POST", "/api/jobs/tick"),
    ]:
        problem = api.refused(method, path, {}, status=403, token=api.read_token)
        assert problem["error"] == "Forbidden", path
    assert queue.get(job).status == "pending"


def test_health_is_open_and_tells_nothing_else(api: Caller) -> None:
    answer = api("GET", "/health", token=None)

    assert answer.status in (200, 503)
    assert set(answer.json) == {"ok", "last_tick_at", "oldest_due_age"}


def test_no_other_site_is_told_that_it_may_call(api: Caller) -> None:
    headers = {"Origin": "https://elsewhere.example"}
    answers = [
        api("GET", "/api/admin/jobs/stats", headers=headers),
        api("OPTIONS", "/api/admin/jobs", token=None, headers=headers),
    ]

    assert [answer.status for answer in answers] == [200, 401]
    for answer in answers:
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"


def test_failed_logins_are_slowed_more_and_more_and_logged_and_a_valid_token_never_is(
    local: Caller, slept: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="dynajobs"):
        for _ in range(15):
            local("GET", "/api/admin/jobs", token="guessed-secret")
            waited = len(slept)
            assert local("GET", "/api/admin/jobs/stats").status == 200
            assert len(slept) == waited

    assert slept == sorted(slept)
    assert (slept[0], slept[-1]) == (0, access.SLOWED_AT_MOST)
    failed = [record for record in caplog.records if record.message == "login failed"]
    assert len(failed) == 15
    everything = "\n".join(f"{record.__dict__}" for record in caplog.records)
    assert "guessed-secret" not in everything
    assert local.token not in everything


class Clockwork:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def knock(gate: Gate, token: str) -> str:
    return gate.admit(Request(event("GET", "/", headers={"Authorization": f"Bearer {token}"}))).role


def test_a_token_is_rotated_without_a_moment_at_which_none_works() -> None:
    tokens = {"operate": ("one",), "read": ()}
    time = Clockwork()
    gate = Gate(lambda: tokens, sleep=lambda _: None, monotonic=time)
    assert knock(gate, "one") == "operate"

    tokens["operate"] = ("two", "one")
    time.now += access.RELOAD_SOON
    assert (knock(gate, "two"), knock(gate, "one")) == ("operate", "operate")

    tokens["operate"] = ("three", "two")
    assert knock(gate, "one") == "operate"  # not known here yet
    time.now += access.RELOAD_EVERY
    with pytest.raises(Refusal):
        knock(gate, "one")
    assert (knock(gate, "two"), knock(gate, "three")) == ("operate", "operate")


def test_guessing_does_not_have_the_tokens_read_again_and_again() -> None:
    read: list[int] = []

    def load() -> dict[str, tuple[str, ...]]:
        read.append(1)
        return {"operate": ("one",)}

    time = Clockwork()
    gate = Gate(load, sleep=lambda _: None, monotonic=time)
    for _ in range(100):
        with pytest.raises(Refusal):
            knock(gate, "guess")

    assert len(read) == 1


def test_tokens_that_cannot_be_read_again_still_work_and_at_the_start_nobody_gets_in() -> None:
    answers: list[Any] = [{"operate": ("one",)}]

    def load() -> Any:
        if not answers:
            raise Unavailable("no answer")
        return answers.pop()

    time = Clockwork()
    gate = Gate(load, sleep=lambda _: None, monotonic=time)
    assert knock(gate, "one") == "operate"
    time.now += access.RELOAD_EVERY
    assert knock(gate, "one") == "operate"
    with pytest.raises(Unavailable):
        knock(Gate(load, sleep=lambda _: None, monotonic=time), "one")


def test_an_empty_token_is_none() -> None:
    gate = Gate(lambda: {"operate": ("",)}, sleep=lambda _: None)
    with pytest.raises(Refusal):
        knock(gate, "")


class Secrets:
    """Secrets Manager's answers, by secret and stage."""

    def __init__(self, **values: tuple[str, ...]) -> None:
        self.values = values

    def get_secret_value(self, SecretId: str, VersionStage: str) -> dict[str, str]:  # noqa: N803
        from botocore.exceptions import ClientError

        place = ["AWSCURRENT", "AWSPREVIOUS"].index(VersionStage)
        if place >= len(self.values[SecretId]):
            error = {"Error": {"Code": "ResourceNotFoundException", "Message": "no such version"}}
            raise ClientError(error, "GetSecretValue")
        return {"SecretString": self.values[SecretId][place]}


def test_both_versions_of_a_secret_are_valid() -> None:
    load = from_secrets({"operate": "a", "read": "b"}, Secrets(a=("new", "old"), b=("only",)))

    assert load() == {"operate": ("new", "old"), "read": ("only",)}


def test_a_secret_without_a_value_lets_nobody_in() -> None:
    with pytest.raises(Unavailable):
        from_secrets({"operate": "a"}, Secrets(a=()))()


def test_secrets_that_aws_does_not_give_are_a_503(
    moto_queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = {"__type": "AccessDeniedException", "message": "no"}
    with answering(refusal, status=400, X_Amzn_ErrorType="AccessDeniedException") as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url)
        settings = Settings(api_secrets={"operate": "a"})
        queue = JobQueue(moto_queue.settings.table, client=moto_queue.store.table.client, settings=settings)
        caller = Caller(in_process(lambda_handler(queue)), "x", "x")

        problem = caller.refused("GET", "/api/admin/jobs", status=503)

    assert "AccessDenied" not in problem["message"]


def signed(arn: str | None) -> dict[str, Any]:
    made = event("GET", "/api/admin/about")
    if arn:
        made["requestContext"]["authorizer"] = {"iam": {"userArn": arn}}
    return made


def test_with_aws_signatures_every_allowed_principal_may_operate_and_there_is_no_page(
    moto_queue: JobQueue,
) -> None:
    queue = JobQueue(
        moto_queue.settings.table,
        client=moto_queue.store.table.client,
        settings=Settings(api_auth="AWS_IAM"),
    )
    handler = lambda_handler(queue, sleep=lambda _: None)

    found = handler(signed("arn:aws:iam::1:user/ada"), None)

    assert found["statusCode"] == 200
    assert '"role":"operate"' in found["body"] and "user/ada" in found["body"]
    assert handler(signed(None), None)["statusCode"] == 401
    assert handler(event("GET", "/"), None)["statusCode"] == 401


def test_who_sends_too_much_is_told_when_to_come_back() -> None:
    time = Clockwork()
    rate = Rate(time)
    for _ in range(int(AT_ONCE)):
        rate.take("a")
    with pytest.raises(Refusal) as refused:
        rate.take("a")
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "1")
    rate.take("b")

    time.now += 1
    for _ in range(int(PER_SECOND)):
        rate.take("a")
    with pytest.raises(Refusal):
        rate.take("a")


def test_who_stays_just_above_the_limit_is_served_as_much_as_is_allowed() -> None:
    time = Clockwork()
    rate = Rate(time)
    for _ in range(int(AT_ONCE)):
        rate.take("a")
    served = 0
    for _ in range(1500):
        time.now += 1 / 150
        with suppress(Refusal):
            rate.take("a")
            served += 1

    assert 990 <= served <= 1010


def test_the_limit_is_the_tokens_whatever_the_caller_calls_itself(
    local: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynajobs.http.rate.AT_ONCE", 3.0)
    monkeypatch.setattr("dynajobs.http.rate.PER_SECOND", 0.001)
    answers = [
        local("GET", "/api/admin/reservation", headers={"X-Dynajobs-Actor": f"name {n}"}) for n in range(5)
    ]

    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert local("GET", "/api/admin/reservation", token=local.read_token).status == 200


def test_what_a_reader_tries_is_written_down(local: Caller) -> None:
    local.refused("POST", "/api/admin/schedules/x/trigger", status=403, token=local.read_token)

    (entry,) = local.ok("GET", "/api/admin/audit")["entries"]
    assert (entry["who"], entry["action"], entry["target"], entry["outcome"]) == (
        "read token",
        "POST",
        "/api/admin/schedules/x/trigger",
        "Forbidden",
    )


def test_an_answer_that_is_not_what_it_must_be_is_our_fault(
    local: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dynajobs.operating.operator.Operator.stats", lambda _: {"by_status": 7})

    problem = local.refused("GET", "/api/admin/jobs/stats", status=500)

    assert problem["error"] == "InternalError"
    assert "an answer is not what it must be" in caplog.text
