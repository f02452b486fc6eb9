"""What an error leaves behind fits, tells the useful part, gives no input away, and groups with its like."""

import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from dynajobs import fault
from dynajobs.fault import Fault, from_exception, from_message, from_validation

surrogates = st.characters(categories=["Cs"])
any_text = st.text(st.characters() | surrogates, max_size=3000) | st.text(
    surrogates, min_size=1, max_size=2000
)


def caught(raising: Callable[[], Any]) -> BaseException:
    try:
        raising()
    except BaseException as error:  # noqa: BLE001  the tests raise any kind
        return error
    raise AssertionError("nothing was raised")


def fail(error: BaseException) -> BaseException:
    def innermost() -> None:
        raise error

    return caught(innermost)


def of(error: BaseException, job_type: str = "mail") -> Fault:
    return from_exception(job_type, fail(error))


def fits(found: Fault) -> bool:
    assert re.fullmatch("[0-9a-f]{12}", found.fingerprint)
    return len(found.error.encode()) <= 300 and len(found.last_error.encode()) <= 4096


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Order(BaseModel):
    user_id: str
    count: int = 0
    code: str = ""
    pet: Cat | Dog | None = Field(default=None, discriminator="kind")
    low: int = 0
    high: int = 1

    @field_validator("code")
    @classmethod
    def _known(cls, value: str) -> str:
        if value:
            raise ValueError(f"code {value} ({value.upper()!r}) is unknown")
        return value

    @model_validator(mode="after")
    def _ordered(self) -> "Order":
        if self.low > self.high:
            raise AssertionError(f"{self.low} is above {self.high}")
        return self


def refusal(**data: Any) -> ValidationError:
    error = caught(lambda: Order.model_validate(data))
    assert isinstance(error, ValidationError)
    return error


def test_an_exception_is_named_with_its_message() -> None:
    found = of(ValueError("no such user"))
    assert found.error == "ValueError: no such user"
    assert found.last_error.startswith("Traceback (most recent call last):\n  File ")
    assert found.last_error.endswith("    raise error\nValueError: no such user")
    assert "in innermost" in found.last_error


def test_an_exception_without_a_message_is_named_alone() -> None:
    assert of(TimeoutError()).error == "TimeoutError"
    assert from_message("mail", "LeaseExpired", "").error == "LeaseExpired"


def test_a_message_stands_for_a_failure_without_an_exception() -> None:
    found = from_message("mail", "LeaseExpired", "the worker fell silent")
    assert found.error == found.last_error == "LeaseExpired: the worker fell silent"


def test_an_exception_that_was_never_raised_has_no_frames() -> None:
    assert from_exception("mail", ValueError("x")).last_error == "ValueError: x"


def test_a_long_message_keeps_its_class_and_its_start() -> None:
    found = of(ValueError("start" + "€" * 5000))
    assert fits(found)
    assert re.fullmatch(r"ValueError: start€+…", found.error)
    assert len(found.error.encode()) > 290
    assert "\nValueError: start€€" in found.last_error
    assert "Traceback" in found.last_error


def test_a_deep_traceback_keeps_its_end() -> None:
    def dig(depth: int) -> None:
        if not depth:
            raise LookupError("bottom")
        bury(depth)

    def bury(depth: int) -> None:
        dig(depth - 1)

    found = from_exception("mail", caught(lambda: dig(300)))
    assert fits(found)
    assert found.last_error.endswith('raise LookupError("bottom")\nLookupError: bottom')
    assert len(found.last_error.encode()) > 1500


def test_frames_that_do_not_fit_go_from_the_top() -> None:
    lines = [f"def step{n}():\n    step{n + 1}()  # {'x' * 300}\n" for n in range(15)]
    scope: dict[str, Any] = {}
    exec(compile("".join([*lines, "def step15():\n    raise KeyError('end')\n"]), "long.py", "exec"), scope)
    frames = from_exception("mail", caught(scope["step0"]))
    assert fits(frames)
    assert "in step15\nKeyError: 'end'" in frames.last_error
    assert frames.last_error.startswith("Traceback (most recent call last):\n")


def test_causes_are_told_oldest_first() -> None:
    def wrapped() -> None:
        try:
            raise KeyError("root")
        except KeyError as error:
            raise RuntimeError("outer") from error

    def stumbled() -> None:
        try:
            raise KeyError("root")
        except KeyError:
            raise RuntimeError("outer")  # noqa: B904  the context is what is tested

    def hidden() -> None:
        try:
            raise KeyError("root")
        except KeyError:
            raise RuntimeError("outer") from None

    assert re.search(
        r"KeyError: 'root'\n\nThe above.*direct cause.*RuntimeError: outer$", last(wrapped), re.DOTALL
    )
    assert re.search(r"KeyError: 'root'\n\nDuring handling.*RuntimeError: outer$", last(stumbled), re.DOTALL)
    assert "root" not in last(hidden).replace('"root"', "")
    assert from_exception("mail", caught(wrapped)).error == "RuntimeError: outer"


def last(raising: Callable[[], Any]) -> str:
    return from_exception("mail", caught(raising)).last_error


def test_a_cause_that_does_not_fit_is_left_out_but_never_the_end() -> None:
    error = fail(ValueError("x" * 2000))
    for number in range(20):
        following = RuntimeError(f"{number} " + "y" * 2000)
        following.__cause__ = error
        error = fail(following)
    found = from_exception("mail", error)
    assert fits(found)
    assert "RuntimeError: 19 yyy" in found.last_error
    assert "RuntimeError: 18 yyy" in found.last_error
    assert "ValueError" not in found.last_error


def test_a_circle_of_causes_ends() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert from_exception("mail", one).last_error.endswith("ValueError: one")


def test_notes_and_grouped_exceptions_are_told() -> None:
    noted = ValueError("x")
    noted.add_note("while reading row 7")
    assert of(noted).last_error.endswith("ValueError: x\nwhile reading row 7")
    group = of(ExceptionGroup("two", [ValueError("a"), KeyError("b")]))
    assert group.last_error.endswith("two (2 sub-exceptions)\n  | ValueError: a\n  | KeyError: 'b'")
    assert fits(of(ExceptionGroup("many", [ValueError("a" * 500)] * 100)))


def test_frames_of_this_package_at_the_top_are_dropped() -> None:
    worker: dict[str, Any] = {}
    handler: dict[str, Any] = {}
    exec(compile("def run(f):\n    f()\n", fault.__file__.replace("fault.py", "worker.py"), "exec"), worker)
    exec(compile("def send():\n    raise OSError('x')\n", "/srv/app/mail.py", "exec"), handler)
    error = caught(lambda: worker["run"](handler["send"]))
    assert error.__traceback__ is not None
    error = error.with_traceback(error.__traceback__.tb_next.tb_next)  # type: ignore[union-attr]
    assert from_exception("mail", error).last_error == (
        'Traceback (most recent call last):\n  File "/srv/app/mail.py", line 2, in send\nOSError: x'
    )
    only_ours = caught(lambda: worker["run"](None))
    assert only_ours.__traceback__ is not None
    only_ours = only_ours.with_traceback(only_ours.__traceback__.tb_next.tb_next)  # type: ignore[union-attr]
    assert "worker.py" in from_exception("mail", only_ours).last_error


class Broken(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Mute(Exception):
    def __str__(self) -> str:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize("kind", [Broken, Mute])
def test_an_exception_that_cannot_be_printed_is_still_stored(kind: type[Exception]) -> None:
    found = of(kind())
    assert fits(found)
    assert found.error == f"{kind.__name__}: <its text could not be made>"
    assert found.last_error.endswith(found.error)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_exceptions_beyond_exception_are_stored_too(kind: type[BaseException]) -> None:
    assert of(kind("x")).error == f"{kind.__name__}: x"


@given(any_text)
def test_any_message_fits_and_can_be_stored(message: str) -> None:
    for found in (of(ValueError(message)), from_message("mail", "Malformed", message)):
        assert fits(found)
        assert json.loads(json.dumps(found.error)) == found.error
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", found.error + found.last_error)


def test_a_pair_of_surrogates_is_one_character_and_a_lone_one_is_replaced() -> None:
    assert of(ValueError("\ud83d\ude00 \ud83d")).error == "ValueError: 😀 \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user 42 not found", "user 4711 not found"),
        ("offset -3", "offset 12"),
        ("took 1.5 s", "took 12,345.75 s"),
        ("rows [1, 2, 3]", "rows [4]"),
        ("job 0192f0c1-7b1e-7cc3-98c4-dc0c0c07398f", "job deadbeef-dead-beef-dead-beefdeadbeef"),
        ("sha da39a3ee5e6b4b0d3255", "sha cafebabedeadbeef"),
        ("at 0x7f3a2b", "at 0xdeadbe"),
        ("order AB12-99X", "order ZZ99-10Y"),
        ("no key 'alpha'", "no key 'beta gamma'"),
        ('no key "alpha"', 'no key "it\'s"'),
        ("no key 'a\\'b'", "no key ''"),
        ("bad `x`", "bad `y z`"),
        ("GET https://a.example/x?id=7 failed", "GET http://b.example:8080/ failed"),
        ("since 2026-11-18T07:00:00.000000Z", "since 2026-01-02T03:04:05+01:00"),
        ("since 2026-11-18 07:00:00", "since 2025-01-02 00:00:01.5"),
        ("a  b\n c", "a b c"),
        ("long " + "9" * 3000, "long 1"),
        ("user 1 " + "x" * 5000 + " a", "user 222222 " + "x" * 5000 + " b"),
    ],
)
def test_errors_that_differ_in_their_variable_parts_share_a_fingerprint(one: str, other: str) -> None:
    assert of(ValueError(one)).fingerprint == of(ValueError(other)).fingerprint
    assert from_message("mail", "k", one).fingerprint == from_message("mail", "k", other).fingerprint


def test_other_errors_have_other_fingerprints() -> None:
    def elsewhere() -> None:
        raise ValueError("disk full")

    found = [
        of(ValueError("disk full")),
        of(ValueError("disk empty")),
        of(ValueError("can't read the user's file")),
        of(OSError("disk full")),
        of(ValueError("disk full"), job_type="report"),
        from_exception("mail", caught(elsewhere)),
        from_exception("mail", ValueError("disk full")),
    ]
    assert len({each.fingerprint for each in found}) == len(found)


def test_an_apostrophe_opens_no_quotation() -> None:
    assert of(ValueError("can't open it, isn't there")).fingerprint != of(ValueError("can't")).fingerprint


def raised_in(path: str, source: str) -> str:
    scope: dict[str, Any] = {}
    exec(compile(source, path, "exec"), scope)
    return from_exception("mail", caught(scope["send"])).fingerprint


def test_the_fingerprint_survives_edits_above_and_another_folder() -> None:
    source = "def send():\n    raise ValueError('x')\n"
    one = raised_in("/var/task/mail.py", source)
    assert one == raised_in("/srv/other/mail.py", "# new\n\n\n" + source)
    assert one != raised_in("/var/task/post.py", source)
    assert one != raised_in("/var/task/mail.py", source.replace("send", "push") + "send = push\n")


@pytest.mark.parametrize(
    "path",
    [
        "/opt/python/lib.py",
        "/srv/.venv/lib/python3.12/site-packages/lib.py",
        "/usr/lib/python3/dist-packages/lib.py",
        "/var/runtime/lib.py",
        str(Path(traceback.__file__).with_name("lib.py")),
        str(Path(fault.__file__).with_name("lib.py")),
        "<frozen lib>",
    ],
)
def test_only_own_frames_count(path: str) -> None:
    scope: dict[str, Any] = {}
    exec(
        compile("def first(): raise ValueError('x')\ndef second(): raise ValueError('x')\n", path, "exec"),
        scope,
    )
    own: dict[str, Any] = {}
    exec(compile("def send(f):\n    f()\n", "/var/task/mail.py", "exec"), own)
    prints = {
        from_exception("mail", caught(lambda name=name: own["send"](scope[name]))).fingerprint  # type: ignore[misc]
        for name in ("first", "second")
    }
    assert len(prints) == 1


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    assert from_message("mail", "LeaseExpired", "lease expired").fingerprint == "8db6764909a7"


def test_a_refused_payload_tells_the_fields_and_why() -> None:
    found = from_validation("mail", refusal(count="many"))
    assert found.error == (
        "InvalidPayload: user_id: Field required; "
        "count: Input should be a valid integer, unable to parse string as an integer"
    )
    assert found.last_error == found.error


@pytest.mark.parametrize(
    "data",
    [
        {"user_id": ["hush"]},
        {"count": "hush"},
        {"user_id": "u", "code": "hush"},
        {"user_id": "u", "pet": {"kind": "hush"}},
        {"user_id": "u", "low": 74656, "high": 11},
        {"user_id": {"a": {"b": "hush"}}, "count": {"74656": "hush"}},
    ],
)
def test_a_validation_error_never_gives_away_what_was_put_in(data: dict[str, Any]) -> None:
    error = refusal(**data)
    assert "hush" in str(error).lower() or "74656" in str(error)

    def quoting() -> None:
        try:
            raise error
        except ValidationError as cause:
            raise RuntimeError(f"refused: {cause}") from cause

    for found in (from_validation("mail", error), of(error), from_exception("mail", caught(quoting))):
        assert fits(found)
        for text in (found.error, found.last_error):
            assert "hush" not in text.lower()
            assert "74656" not in text
            assert "input_value" not in text


def test_a_validators_own_words_are_kept_without_the_value() -> None:
    assert from_validation("mail", refusal(user_id="u", code="hush")).error == (
        "InvalidPayload: code: Value error, code ••• ('•••') is unknown"
    )
    assert from_validation("mail", refusal(user_id="u", low=5, high=3)).error == (
        "InvalidPayload: Assertion failed, ••• is above •••"
    )


def test_a_validation_error_in_a_handler_keeps_its_class_and_frames() -> None:
    found = from_exception("mail", caught(lambda: Order.model_validate({"count": "hush"})))
    assert found.error.startswith("ValidationError: user_id: Field required; count: ")
    assert "Order.model_validate" in found.last_error


def test_the_fingerprint_of_a_refusal_depends_on_the_fields_not_the_values() -> None:
    one = from_validation("mail", refusal(count="a")).fingerprint
    assert one == from_validation("mail", refusal(count="b")).fingerprint
    assert one != from_validation("mail", refusal(user_id="u", count="a")).fingerprint


def test_thousands_of_refused_fields_are_cut_short() -> None:
    class Many(BaseModel):
        numbers: list[int]

    error = caught(lambda: Many.model_validate({"numbers": ["x"] * 3000}))
    found = from_validation("mail", error)
    assert fits(found)
    assert found.last_error.endswith("; and 2980 more")


def test_a_look_alike_of_another_library_gives_nothing_away() -> None:
    look_alike = type("ValidationError", (Exception,), {"errors": lambda _: {"a": "hush"}})
    assert of(look_alike("hush")).error == "ValidationError: <details withheld>"
