"""The four paging schemes of these clouds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Query = Mapping[str, str]
Keys = tuple[str, ...]
"""The path of a value in a response: the key in each nested object."""
_TOTAL = ("meta", "total")


@dataclass(frozen=True, slots=True)
class Paging:
    """A paging scheme. `size` requests long pages; `total` is the list's length, None if the cloud does not report it.

    `after` gives the query for the next page, from a response, its query and its number of entries; None after the
    last.
    """

    size: Query
    after: Callable[[Json, Query, int], dict[str, str] | None]
    total: Callable[[Json], int | None]


def by_links(parameter: str, size: int, following: Keys = ("links", "pages", "next"), total: Keys = _TOTAL) -> Paging:
    """Numbered pages; all except the last hold the `following` one, as a link or a number."""

    def after(body: Json, query: Query, _: int) -> dict[str, str] | None:
        return _page_after(query) if _value(body, following) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def by_cursor(parameter: str, size: int, following: Keys = ("meta", "links", "next"), total: Keys = _TOTAL) -> Paging:
    """Pages with a cursor to the `following` one."""

    def after(body: Json, _: Query, __: int) -> dict[str, str] | None:
        cursor = _value(body, following)
        return {"cursor": str(cursor)} if cursor else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def by_number(parameter: str, size: int) -> Paging:
    """Numbered pages, with their count."""

    def after(body: Json, query: Query, _: int) -> dict[str, str] | None:
        return _page_after(query) if int(query.get("page", "1")) < int(body.get("pages", 1)) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(body.get("results")))


def by_offset(parameter: str, size: int, total: Keys = _TOTAL) -> Paging:
    """Pages of `parameter` entries from an `offset`; only the `total` tells whether there are more."""

    def after(body: Json, query: Query, here: int) -> dict[str, str] | None:  # a page may be short
        following = int(query.get("offset", "0")) + here
        return {"offset": str(following)} if here and following < (_number(_value(body, total)) or 0) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def _page_after(query: Query) -> dict[str, str]:
    return {"page": str(int(query.get("page", "1")) + 1)}


def _value(body: Any, keys: Keys) -> Any:
    """The value at the keys, None if there is none."""
    for key in keys:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int) else None
