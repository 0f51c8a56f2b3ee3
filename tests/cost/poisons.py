"""Ways to poison a price list: each makes of a file's bytes other ones."""

import json
from collections.abc import Callable
from typing import Any

Poison = Callable[[bytes], bytes]


def swap(old: str, new: str, times: int = -1) -> Poison:
    """One text in place of another; the list must have it."""

    def poison(content: bytes) -> bytes:
        assert old.encode() in content, old
        return content.replace(old.encode(), new.encode(), times)

    return poison


def cut(share: float) -> Poison:
    """The first part only."""
    return lambda content: content[: int(len(content) * share)]


def twice(line: str, **changes: str) -> Poison:
    """The first line that has a text once more, with other texts in it."""

    def poison(content: bytes) -> bytes:
        lines = content.decode().splitlines(keepends=True)
        found = next(one for one in lines if line in one)
        other = found
        for old, new in changes.items():
            other = other.replace(old, new)
        lines.insert(lines.index(found) + 1, other)
        return "".join(lines).encode()

    return poison


def json_with(change: Callable[[Any], None]) -> Poison:
    """A JSON document, changed."""

    def poison(content: bytes) -> bytes:
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return poison


def item(field: str, value: object) -> Poison:
    """Azure's first item with another value in a field."""
    return json_with(lambda page: page["Items"][0].__setitem__(field, value))


def rate(field: str, value: object) -> Poison:
    """Google's first SKU with another value in its rate."""

    def change(page: Any) -> None:
        rate = page["skus"][0]["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]
        (rate["unitPrice"] if field in rate["unitPrice"] else rate)[field] = value

    return json_with(change)


def sku(change: Callable[[Any], None]) -> Poison:
    return json_with(lambda page: change(page["skus"][0]))


def first_again(key: str, change: Callable[[Any], None]) -> Poison:
    """A page that has its first thing twice, the second one changed."""

    def poison(page: Any) -> None:
        again = json.loads(json.dumps(page[key][0]))
        change(again)
        page[key].append(again)
        if "Count" in page:
            page["Count"] += 1

    return json_with(poison)


def price(value: object) -> Poison:
    """libcloud's first price."""
    return json_with(lambda page: page["compute"]["rackspace"].__setitem__("performance1-1", value))
