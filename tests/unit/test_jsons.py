"""JSON is stored exactly, or cut to its limit with a mark that says so."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs.errors import InvalidJob
from dynajobs.jsons import cut_json, cut_text, dump_json, exact, load_json

texts = st.text(st.characters(exclude_categories=["Cs"]))
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


@given(jsons)
def test_what_json_can_hold_is_stored_exactly(value: Any) -> None:
    assert exact(value, "value") == value
    assert load_json(dump_json(value)) == value


@given(st.text(), st.integers(60, 300))
def test_a_text_is_cut_to_its_limit_and_says_how_long_it_was(text: str, most: int) -> None:
    cut = cut_text(text * 10, most)
    assert len(cut.encode()) <= most
    size = len((text * 10).encode(errors="replace"))
    if size > most:
        assert cut.endswith(f"… [truncated, {size} bytes]")
    else:
        assert cut == (text * 10).encode(errors="replace").decode()


@given(st.lists(jsons, max_size=40) | st.text('"\\\x00é', min_size=50), st.integers(100, 300))
def test_a_value_is_cut_so_that_it_is_within_the_limit_as_it_is_stored(value: Any, most: int) -> None:
    cut = cut_json(value, most)
    assert len(dump_json(cut).encode()) <= most
    if len(dump_json(value).encode()) <= most:
        assert cut == value
    else:
        assert isinstance(cut, str) and "truncated" in cut


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "result is nan"),
        ({"a": [float("-inf")]}, r"result\.a\[0\] is -inf"),
        ({"a": {1, 2}}, r"result\.a is a set"),
        ({1: "a"}, "result has the key 1"),
        (["\ud800"], r"result\[0\] has a lone surrogate"),
        (b"x", "result is a bytes"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(InvalidJob, match=place):
        exact(value, "result")


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidJob, match="nested deeper"):
        exact(loop, "result")
