"""Every variable has its default, its range, and a refusal that names all three."""

from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs.errors import InvalidSettings
from dynajobs.settings import Settings

# variable, default, lowest, highest
RANGES: list[tuple[str, int, int, int]] = [
    ("POLL_INTERVAL_SECONDS", 30, 1, 300),
    ("POLL_LIMIT", 25, 1, 1000),
    ("LEASE_SECONDS", 60, 30, 3600),
    ("MAX_ATTEMPTS", 5, 1, 100),
    ("BASE_DELAY_SECONDS", 60, 0, 86400),
    ("MAX_DELAY_SECONDS", 3600, 1, 604800),
    ("RETENTION_DAYS", 30, 0, 3650),
    ("MAX_IN_FLIGHT", 100, 1, 10000),
    ("SHARDS", 1, 1, 64),
    ("WORKER_CONCURRENCY", 4, 1, 64),
    ("SHUTDOWN_TIMEOUT_SECONDS", 30, 0, 900),
    ("AUDIT_DAYS", 365, 1, 3650),
]
SWITCHES = [
    ("ENABLED", True),
    ("SCHEDULER_ENABLED", True),
    ("SENTRY_PAYLOADS", True),
    ("LOG_PAYLOADS", False),
]
TEXTS = [
    ("TABLE", ""),
    ("INDEX", "GSI1"),
    ("TTL_ATTRIBUTE", "expires_at"),
    ("ENVIRONMENT", ""),
    ("POLLER", ""),
]
OTHERS = ["JITTER", "HANDLERS", "API_AUTH", "API_SECRETS", "REDACT", "SENTRY_DSN"]


def read(variable: str, text: str | None = None, prefix: str = "DYNAJOBS_") -> Any:
    settings = Settings.from_env({} if text is None else {prefix + variable: text})
    return getattr(settings, variable.lower())


def test_the_table_below_knows_every_setting() -> None:
    listed = {name for name, *_ in [*RANGES, *SWITCHES, *TEXTS]} | set(OTHERS)
    assert {each.name.upper() for each in fields(Settings)} == listed


@pytest.mark.parametrize(("variable", "default", "low", "high"), RANGES)
def test_a_whole_number_has_a_default_and_both_bounds(
    variable: str, default: int, low: int, high: int
) -> None:
    assert read(variable) == read(variable, "") == read(variable, "  ") == default
    assert read(variable, str(low)) == low
    assert read(variable, f" {high}\n") == high
    assert type(read(variable, str(high))) is int


@pytest.mark.parametrize(("variable", "low", "high"), [(name, low, high) for name, _, low, high in RANGES])
def test_a_whole_number_beyond_its_bounds_or_garbage_is_refused(variable: str, low: int, high: int) -> None:
    for text in (
        str(low - 1),
        str(high + 1),
        "-1",
        "abc",
        "1.5",
        "1e1",
        "nan",
        "inf",
        "0x10",
        "9" * 30,
        "true",
        "1 2",
    ):
        with pytest.raises(InvalidSettings) as refused:
            read(variable, text)
        assert str(refused.value) == (
            f"DYNAJOBS_{variable} is {text}: it must be a whole number from {low} to {high}"
        )


@pytest.mark.parametrize(("variable", "low", "high"), [(name, low, high) for name, _, low, high in RANGES])
def test_an_argument_is_held_to_the_same_range(variable: str, low: int, high: int) -> None:
    for value in (low - 1, high + 1, "5", 5.0, True, None):
        wrong: dict[str, Any] = {variable.lower(): value}
        with pytest.raises(InvalidSettings, match=f"^DYNAJOBS_{variable} is "):
            Settings(**wrong)


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("1", 1), ("0.25", 0.25), ("1.0", 1), ("5e-1", 0.5)])
def test_jitter_is_a_fraction(text: str, value: float) -> None:
    assert read("JITTER") == 0.1
    assert read("JITTER", text) == value


@pytest.mark.parametrize("text", ["-0.01", "1.01", "nan", "inf", "-inf", "10%", "half"])
def test_jitter_beyond_its_bounds_or_garbage_is_refused(text: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read("JITTER", text)
    assert str(refused.value) == f"DYNAJOBS_JITTER is {text}: it must be a number from 0 to 1"


@pytest.mark.parametrize(("variable", "default"), SWITCHES)
def test_a_switch_takes_the_usual_words(variable: str, default: bool) -> None:
    assert read(variable) is read(variable, " ") is default
    assert all(read(variable, text) is True for text in ("true", "True", "TRUE", "1", "yes", "on", " true "))
    assert all(read(variable, text) is False for text in ("false", "False", "FALSE", "0", "no", "off"))


@pytest.mark.parametrize("variable", [name for name, _ in SWITCHES])
@pytest.mark.parametrize("text", ["2", "maybe", "t", "none", "-1"])
def test_a_switch_refuses_other_words(variable: str, text: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read(variable, text)
    assert str(refused.value) == f"DYNAJOBS_{variable} is '{text}': it must be true or false"


@pytest.mark.parametrize(("variable", "default"), TEXTS)
def test_a_name_is_taken_as_it_is(variable: str, default: str) -> None:
    assert read(variable) == read(variable, "  ") == default
    assert read(variable, " my-own ") == "my-own"


@pytest.mark.parametrize("name", ["index", "ttl_attribute"])
def test_an_empty_index_or_ttl_attribute_is_refused(name: str) -> None:
    empty: dict[str, Any] = {name: ""}
    with pytest.raises(InvalidSettings, match=f"^DYNAJOBS_{name.upper()} is empty"):
        Settings(**empty)


def test_the_sentry_dsn_has_no_prefix() -> None:
    assert read("SENTRY_DSN") == ""
    assert read("SENTRY_DSN", "https://key@host/1", prefix="") == "https://key@host/1"
    assert read("SENTRY_DSN", "https://key@host/1") == ""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        (",", ()),
        ("iban", ("iban",)),
        (" iban , credit card,,ssn, ", ("iban", "credit card", "ssn")),
    ],
)
def test_redact_is_a_list_of_names(text: str, names: tuple[str, ...]) -> None:
    assert read("REDACT", text) == names


def test_handlers_are_a_json_object() -> None:
    assert read("HANDLERS") == {}
    assert read("HANDLERS", ' {"mail": "f", "*": "arn:aws:lambda:eu-west-1:1:function:g"} ') == {
        "mail": "f",
        "*": "arn:aws:lambda:eu-west-1:1:function:g",
    }


@pytest.mark.parametrize(
    "text", ["mail=f", "[]", "null", '"f"', "{", '{"mail": 1}', '{"mail": ""}', '{"": "f"}']
)
def test_other_handlers_are_refused(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^DYNAJOBS_HANDLERS is "):
        read("HANDLERS", text)


def test_the_process_environment_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNAJOBS_TABLE", "from-env")
    monkeypatch.setenv("DYNAJOBS_UNHEARD_OF", "ignored")
    assert Settings.from_env().table == "from-env"


def test_the_lease_is_a_duration() -> None:
    assert Settings(lease_seconds=45).lease == timedelta(seconds=45)


@given(st.sampled_from([name for name, *_ in [*RANGES, *SWITCHES]] + ["JITTER", "HANDLERS"]), st.text())
def test_any_text_is_understood_or_refused(variable: str, text: str) -> None:
    with suppress(InvalidSettings):
        read(variable, text)
