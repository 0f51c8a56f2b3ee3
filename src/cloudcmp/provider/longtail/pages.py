"""The four ways in which these clouds say that a list goes on, and how long it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Query = Mapping[str, str]
Keys = tuple[str, ...]
"""Where a value stands in a response: the key in each object from the outermost one on."""
_TOTAL = ("meta", "total")


@dataclass(frozen=True, slots=True)
class Paging:
    """How a list is read page by page.

    `size` asks for long pages. `after` is what to ask for after a response's page, by what was asked for and how many
    entries the page has; None where it was the last. `total` is how many entries the list has, None where that is not
    said.
    """

    size: Query
    after: Callable[[Json, Query, int], dict[str, str] | None]
    total: Callable[[Json], int | None]


def by_links(parameter: str, size: int, following: Keys = ("links", "pages", "next"), total: Keys = _TOTAL) -> Paging:
    """Numbered pages, of which all but the last name the `following` one, as a link or a number."""

    def after(body: Json, asked: Query, _: int) -> dict[str, str] | None:
        return _page_after(asked) if _value(body, following) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def by_cursor(parameter: str, size: int, following: Keys = ("meta", "links", "next"), total: Keys = _TOTAL) -> Paging:
    """A cursor leads to the `following` page."""

    def after(body: Json, _: Query, __: int) -> dict[str, str] | None:
        cursor = _value(body, following)
        return {"cursor": str(cursor)} if cursor else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def by_number(parameter: str, size: int) -> Paging:
    """Numbered pages, and how many there are."""

    def after(body: Json, asked: Query, _: int) -> dict[str, str] | None:
        return _page_after(asked) if int(asked.get("page", "1")) < int(body.get("pages", 1)) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(body.get("results")))


def by_offset(parameter: str, size: int, total: Keys = _TOTAL) -> Paging:
    """As many entries as `parameter` says, from an `offset` on; that there are more is known by their `total` only."""

    def after(body: Json, asked: Query, here: int) -> dict[str, str] | None:  # a page may be a short one
        following = int(asked.get("offset", "0")) + here
        return {"offset": str(following)} if here and following < (_number(_value(body, total)) or 0) else None

    return Paging({parameter: str(size)}, after, lambda body: _number(_value(body, total)))


def _page_after(asked: Query) -> dict[str, str]:
    return {"page": str(int(asked.get("page", "1")) + 1)}


def _value(body: Any, keys: Keys) -> Any:
    """What stands below the keys, None where there is nothing."""
    for key in keys:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def _number(found: Any) -> int | None:
    return int(found) if isinstance(found, int) else None
