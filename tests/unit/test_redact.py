"""Secret values are masked by the name of their key, and nothing else is touched."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretBytes, SecretStr

from dynajobs.redact import MASK, is_secret, mask, mask_model, secret_names

SECRET_KEYS = [
    "password", "PASSWORD", "Passwords", "password2", "db_password", "dbPassword", "dbPASSWORD", "pass-word",
    "passwd", "mysql_pwd", "passphrase", "secret", "clientSecret", "SECRETS", "api_token", "apiTokens",
    "token", "accessToken", "ACCESS_TOKEN", "jwt", "JWTs", "Authorization", "authorization.header",
    "proxy-authorization", "apikey", "apiKey", "APIKey", "api_key", "X-Api-Key", "x api key", "api.keys",
    "APIKEYS", "aws_access_key_id", "AccessKey", "private_key", "privateKeyPem", "credential",
    "userCredentials", "cookie", "Set-Cookie", "session_id", "sessionId", "sessionid", "PHP session ID",
    "oauth2Token", "user[password]", "$token",
]  # fmt: skip
PLAIN_KEYS = [
    "author", "authors", "authority", "tokenize", "tokenizer", "secretary", "secretariat", "user_id",
    "session", "key", "api", "keyboard", "api_keyboard", "monkey", "access", "private", "passenger", "pass",
    "compass", "", "cookiecutter", "accredited", "_", "-", "…", "id", "1",
]  # fmt: skip

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10)
plain_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(PLAIN_KEYS), inner, max_size=4)
    ),
    max_leaves=20,
)
any_json = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(PLAIN_KEYS + SECRET_KEYS), inner, max_size=4)
    ),
    max_leaves=20,
)


class Login(BaseModel):
    user: str
    code: SecretStr
    blob: SecretBytes = SecretBytes(b"hush-bytes")


class Visit(BaseModel):
    login: Login
    logins: list[Login] = []
    more: dict[str, SecretStr | None] = {}
    pin: SecretStr | None = Field(default=None, alias="personalNumber")
    anything: Any = None


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_the_value_under_a_secret_key_is_masked(key: str) -> None:
    assert mask({"a": [{key: {"deep": "hush"}}]}) == {"a": [{key: MASK}]}
    assert is_secret(key)


@pytest.mark.parametrize("key", PLAIN_KEYS)
def test_a_key_that_only_resembles_a_secret_one_is_left(key: str) -> None:
    assert mask({key: "seen"}) == {key: "seen"}
    assert not is_secret(key)


@pytest.mark.parametrize("value", [None, 0, 4711, True, "", "x", [], ["x"], {"a": 1}])
def test_whatever_is_under_a_secret_key_is_masked(value: Any) -> None:
    assert mask({"token": value}) == {"token": MASK}


@pytest.mark.parametrize(
    ("extra", "key", "masked"),
    [
        ("iban", "customer_iban", True),
        ("iban", "customerIBANs", True),
        ("iban", "ibanez", False),
        ("credit card", "creditCard", True),
        ("creditCard", "credit_cards", True),
        ("credit_card", "credit", False),
        ("tax ids", "TaxId", True),
        ("address", "home_addresses", True),
        ("identity", "identities", True),
        ("entries", "entry", True),
        ("clé", "ma_clé", True),
        ("pass", "passes", True),
        ("pass", "pas", False),
        ("--", "any", False),
        ("", "any", False),
    ],
)
def test_extra_names_match_the_same_way(extra: str, key: str, masked: bool) -> None:
    assert mask({key: "x"}, [extra]) == {key: MASK if masked else "x"}
    assert mask({key: "x"}) == {key: "x"}


def test_secret_objects_are_masked_wherever_they_are() -> None:
    assert mask([SecretStr("hush"), {"a": (SecretBytes(b"hush"), 1)}]) == [MASK, {"a": [MASK, 1]}]


def test_data_nested_beyond_reason_is_masked_rather_than_followed() -> None:
    deep: Any = {"password": "hush"}
    for _ in range(5000):
        deep = [deep]
    assert "hush" not in repr(mask(deep))


@given(plain_json)
def test_data_without_secrets_comes_back_equal(data: Any) -> None:
    assert mask(data) == data


@given(any_json)
def test_masking_changes_a_copy_and_is_stable(data: Any) -> None:
    before = copy.deepcopy(data)
    once = mask(data)
    assert data == before
    assert mask(once) == once


@given(any_json)
def test_no_value_under_a_secret_key_survives(data: Any) -> None:
    waiting = [mask(data)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            assert all(each == MASK for key, each in value.items() if is_secret(key))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


@given(st.text())
def test_any_text_can_be_a_key(key: str) -> None:
    assert mask({key: 1}) in ({key: 1}, {key: MASK})


def test_a_model_is_dumped_with_its_secrets_masked() -> None:
    visit = Visit(
        login=Login(user="u1", code=SecretStr("hush")),
        more={"left": SecretStr("hush"), "right": None},
        personalNumber=SecretStr("hush"),
        anything={
            "password": "hush",
            "when": {1, 2} - {2},
            "raw": b"\xff",
            "inner": Login(user="u2", code=SecretStr("hush")),
        },
    )
    assert mask_model(visit, ["user"]) == {
        "login": {"user": MASK, "code": MASK, "blob": MASK},
        "logins": [],
        "more": {"left": MASK, "right": None},
        "pin": MASK,
        "anything": {
            "password": MASK,
            "when": [1],
            "raw": "_w==",
            "inner": {"user": MASK, "code": MASK, "blob": MASK},
        },
    }


def test_an_unknown_object_in_a_model_is_named_not_shown() -> None:
    class Connection:
        def __repr__(self) -> str:
            return "Connection(password='hush')"

    assert mask_model(Visit(login=Login(user="u", code=SecretStr("x")), anything=[Connection()]))[
        "anything"
    ] == ["<Connection>"]


def test_a_model_that_cannot_be_dumped_is_none() -> None:
    class Broken:
        def model_dump(self, **_: Any) -> Any:
            raise RuntimeError("hush")

    assert mask_model(Broken()) is None
    assert mask_model(object()) is None


def test_a_wrongly_filled_model_warns_nobody_about_its_values() -> None:
    wrong: dict[str, Any] = {"user": 4711, "code": "hush"}
    assert mask_model(Login.model_construct(**wrong), ["code"]) == {"user": 4711, "code": MASK, "blob": MASK}


def test_the_secret_fields_of_a_model_are_known_by_name() -> None:
    assert secret_names(Visit) == {"code", "blob", "more", "pin", "personalNumber"}
    assert secret_names(dict) == secret_names(None) == frozenset()
