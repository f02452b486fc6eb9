"""What a read or write costs in DynamoDB units, counted from the items themselves.

Emulators report transactions' units wrongly, so the numbers in the documentation are held by this module.
The rules are those of the Amazon DynamoDB Developer Guide: "DynamoDB item sizes and formats", "Read and write
operations" and "Using Global Secondary Indexes".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Mapping[str, Any]]

WRITE_BLOCK = 1024
READ_BLOCK = 4096
DOLLARS_PER_MILLION_WRITES = 0.625
DOLLARS_PER_MILLION_READS = 0.125


def item_size(item: Item) -> int:
    """The size in bytes of an item in the low-level AttributeValue form.

    >>> item_size({"PK": {"S": "job"}, "attempts": {"N": "12"}})
    15
    """
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def write_units(
    old: Item | None,
    new: Item | None,
    *,
    transaction: bool,
    index_pk: str = "GSI1PK",
    index_sk: str = "GSI1SK",
    table_pk: str = "PK",
    table_sk: str = "SK",
) -> int:
    """Write units of turning `old` into `new` under one key; None is an absent item.

    The transaction's factor of two is the table's; the KEYS_ONLY index pays the plain price of its entries.
    """
    key = (table_pk, table_sk)
    if old is not None and new is not None and any(old.get(name) != new.get(name) for name in key):
        raise ValueError("old and new have different keys: that is a delete and a put, priced one by one")
    larger = max(item_size(each) if each is not None else 0 for each in (old, new))
    table = _blocks(larger, WRITE_BLOCK) * (2 if transaction else 1)
    before, after = (_index_entry(each, (index_pk, index_sk), key) for each in (old, new))
    if before == after:
        return table
    return table + sum(
        _blocks(item_size(entry), WRITE_BLOCK) for entry in (before, after) if entry is not None
    )


def condition_units(item: Item | None, *, transaction: bool) -> int:
    """Write units of a condition that wrote nothing: one that failed, or a transaction's ConditionCheck."""
    return _blocks(item_size(item) if item is not None else 0, WRITE_BLOCK) * (2 if transaction else 1)


def read_units(size: int, *, consistent: bool = False, transaction: bool = False) -> float:
    """Read units of reading `size` bytes: of one item, or of all that one query went through."""
    factor = 2.0 if transaction else 1.0 if consistent else 0.5
    return _blocks(size, READ_BLOCK) * factor


def price_per_million(writes: float, reads: float = 0) -> float:
    """Dollars for a million operations of so many units each (us-east-1, on-demand, when written).

    >>> price_per_million(10)
    6.25
    """
    return writes * DOLLARS_PER_MILLION_WRITES + reads * DOLLARS_PER_MILLION_READS


def _blocks(size: int, block: int) -> int:
    # Reading, checking or deleting nothing is still one block.
    return max(1, -(-size // block))


def _index_entry(item: Item | None, index_key: tuple[str, str], key: tuple[str, str]) -> Item | None:
    if item is None or not all(name in item for name in index_key):
        return None
    return {name: item[name] for name in (*index_key, *key) if name in item}


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return _number_size(content)
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "SS":
            return sum(len(each.encode()) for each in content)
        case "NS":
            return sum(_number_size(each) for each in content)
        case "BS":
            return sum(len(each) for each in content)
        case "L":
            return 3 + sum(1 + _value_size(each) for each in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _value_size(each) for name, each in content.items())
    raise ValueError(f"{kind!r} is no DynamoDB type")


def _number_size(text: str) -> int:
    mantissa = text.lower().partition("e")[0].lstrip("+-").replace(".", "")
    return (len(mantissa.strip("0")) + 1) // 2 + 1
