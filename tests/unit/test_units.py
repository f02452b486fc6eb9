"""Units are counted from item sizes by AWS's published rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynajobs.units import Item, condition_units, item_size, price_per_million, read_units, write_units

KEY: Item = {"PK": {"S": "job"}, "SK": {"S": "x"}}
INDEXED: Item = {**KEY, "GSI1PK": {"S": "job-id#1"}, "GSI1SK": {"S": "job"}}
ELSEWHERE: Item = {**KEY, "GSI1PK": {"S": "done"}, "GSI1SK": {"S": "job"}}
HALF: Item = {**KEY, "GSI1PK": {"S": "job-id#1"}}

values = st.recursive(
    st.builds(lambda text: {"S": text}, st.text(max_size=20))
    | st.builds(lambda number: {"N": str(number)}, st.integers(-(10**37), 10**37))
    | st.builds(lambda raw: {"B": raw}, st.binary(max_size=20))
    | st.sampled_from([{"BOOL": True}, {"NULL": True}, {"SS": ["a"]}, {"NS": ["1", "2"]}, {"BS": [b"a"]}]),
    lambda inner: (
        st.builds(lambda each: {"L": each}, st.lists(inner, max_size=3))
        | st.builds(lambda each: {"M": each}, st.dictionaries(st.text(max_size=5), inner, max_size=3))
    ),
    max_leaves=8,
)
items = st.dictionaries(st.text(max_size=5), values, max_size=4).map(lambda item: item | dict(KEY))


def of_size(size: int, item: Item = KEY) -> Item:
    return {**item, "p": {"S": "x" * (size - item_size(item) - 1)}}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "é€😀"}, 9),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "-7"}, 2),
        ({"N": "12"}, 2),
        ({"N": "123"}, 3),
        ({"N": "1000000"}, 2),
        ({"N": "0.00150"}, 2),
        ({"N": "1.5E+10"}, 2),
        ({"N": "9" * 38}, 20),
        ({"B": b"\x00\x01"}, 2),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "22"]}, 4),
        ({"BS": [b"a", b"bc"]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + 1 + 2 + 1 + 2),
        ({"M": {}}, 3),
        ({"M": {"key": {"BOOL": True}}}, 3 + 1 + 3 + 1),
        ({"M": {"é": {"L": [{"NULL": True}]}}}, 3 + 1 + 2 + 3 + 1 + 1),
    ],
)
def test_the_size_of_a_value(value: dict[str, Any], size: int) -> None:
    assert item_size({"name": value}) == 4 + size
    assert item_size({"é": value}) == 2 + size


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'X' is no DynamoDB type"):
        item_size({"a": {"X": 1}})


@pytest.mark.parametrize(
    ("old", "new", "index"),
    [
        (None, None, 0),
        (None, KEY, 0),
        (KEY, None, 0),
        (KEY, KEY, 0),
        (HALF, KEY, 0),
        (None, HALF, 0),
        (None, INDEXED, 1),
        (KEY, INDEXED, 1),
        (HALF, INDEXED, 1),
        (INDEXED, None, 1),
        (INDEXED, KEY, 1),
        (INDEXED, INDEXED, 0),
        (INDEXED, {**INDEXED, "more": {"S": "x"}}, 0),
        (INDEXED, ELSEWHERE, 2),
    ],
)
def test_the_index_pays_for_entries_that_come_go_or_move(
    old: Item | None, new: Item | None, index: int
) -> None:
    assert write_units(old, new, transaction=False) == 1 + index
    assert write_units(old, new, transaction=True) == 2 + index


@pytest.mark.parametrize(("size", "units"), [(10, 1), (1023, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_the_table_pays_per_started_kilobyte_of_the_larger_item(size: int, units: int) -> None:
    item = of_size(size)
    assert item_size(item) == size
    assert write_units(None, item, transaction=False) == units
    assert write_units(item, KEY, transaction=False) == units
    assert write_units(item, None, transaction=True) == 2 * units
    assert condition_units(item, transaction=False) == units
    assert condition_units(item, transaction=True) == 2 * units


def test_a_condition_on_nothing_still_costs_a_unit() -> None:
    assert condition_units(None, transaction=False) == 1


def test_a_large_index_entry_pays_per_started_kilobyte_too() -> None:
    assert write_units(None, {**INDEXED, "GSI1PK": {"S": "x" * 1024}}, transaction=True) == 2 * 2 + 2


def test_two_keys_are_two_writes() -> None:
    with pytest.raises(ValueError, match="different keys"):
        write_units(KEY, {**KEY, "SK": {"S": "y"}}, transaction=True)


def test_the_documented_costs_of_a_small_job() -> None:
    claimed: Item = {**INDEXED, "status": {"S": "in_progress"}}
    done: Item = {**ELSEWHERE, "PK": {"S": "job-id#1"}, "SK": {"S": "job"}}
    enqueue = write_units(None, INDEXED, transaction=False)
    claim = begin = write_units(INDEXED, claimed, transaction=False)
    complete = write_units(claimed, None, transaction=True) + write_units(None, done, transaction=True)
    assert (enqueue, claim, complete) == (2, 1, 6)
    assert enqueue + claim + begin + complete == 10
    assert price_per_million(10) == 6.25
    assert price_per_million(10, reads=3) == 6.625


@pytest.mark.parametrize(
    ("size", "eventual", "consistent", "transaction"),
    [(0, 0.5, 1, 2), (1, 0.5, 1, 2), (4096, 0.5, 1, 2), (4097, 1, 2, 4), (40960, 5, 10, 20)],
)
def test_reads_pay_per_started_four_kilobytes(
    size: int, eventual: float, consistent: float, transaction: float
) -> None:
    assert read_units(size) == eventual
    assert read_units(size, consistent=True) == consistent
    assert read_units(size, transaction=True) == transaction


@given(items, items)
def test_an_item_is_never_larger_than_its_parts_nor_free(old: Item, new: Item) -> None:
    assert item_size(old) == sum(item_size({name: value}) for name, value in old.items())
    plain, double = (write_units(old, new, transaction=each) for each in (False, True))
    assert 1 <= plain < double <= 2 * plain
    assert plain == write_units(new, old, transaction=False)
