"""Prints what a move of data takes: days and money first, then shipped devices, and what it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from rich.console import Console

from cloudcmp.model.move import MoveAnswer, MovePart, Shipment, Step
from cloudcmp.report.placement import money_words
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import format_quantity, format_seconds

_TITLES = {Step.BRING: "BRING IN", Step.REFRESH: "REFRESH", Step.LEAVE: "LEAVE"}
_NONE = "never"


def show_move(console: Console, found: MoveAnswer, notes: Sequence[str] = ()) -> None:
    """Print the parts of a move, its money, and shipped devices beside the link."""
    say(console, f"{_size(found.parts[0].size_bytes)} from {found.origin} to {found.to}", "bold")
    say(console, "")
    for part in found.parts:
        labelled(console, _TITLES[part.step], _part_words(part, found.currency), "bold")
        labelled(console, "", _rate_words(part))
    if found.total is not None:
        period = f" over {found.months:g} month{'s' * (found.months != 1)}" if len(found.parts) > 2 else ""
        labelled(console, "TOTAL", f"{money_words(found.total)} {found.currency}{period}", "bold")
    for label, text in _disk_lines(found):
        labelled(console, label, text)
    for at, text in enumerate((*found.cautions, *notes)):
        labelled(console, "MIND" if not at else "", text, "yellow")
    say(console, "")
    _money(console, found)
    if found.shipments:
        say(console, "")
        _devices(console, found)


def _part_words(part: MovePart, currency: str) -> str:
    span = format_seconds(part.seconds)
    if part.bounds is not None:
        span += f" ({format_seconds(part.bounds.low)} to {format_seconds(part.bounds.high)})"
    money = "money unknown" if part.money is None else f"{money_words(part.money)} {currency}"
    if part.step is Step.REFRESH:
        return f"{_size(part.size_bytes)} a day: {span} each day; a month: {money}"
    return f"{span}, {money}"


def _rate_words(part: MovePart) -> str:
    rate = part.rate
    text = f"at {format_quantity(rate.value, 'B/s')} ({format_quantity(rate.value * 8, 'bit/s')})"
    if not rate.n:
        return f"{text}, given"
    if rate.bounds is None:
        return f"{text}, n = {rate.n} ({rate.source})"
    ends = " to ".join(format_quantity(one, "B/s") for one in (rate.bounds.low, rate.bounds.high))
    return f"{text}, 95 % {ends}, n = {rate.n} ({rate.source})"


def _disk_lines(found: MoveAnswer) -> Iterator[tuple[str, str]]:
    """For each step, whether the quickest device is quicker than the link."""
    at = 0
    for part in found.parts:
        shipments = [one for one in found.shipments if one.step is part.step]
        if not shipments:
            continue
        best = min(shipments, key=lambda one: one.seconds)
        way = "in" if part.step is Step.BRING else "out"
        text = f"{way}: {_many(best)} {format_seconds(best.seconds)}, {_against_link(best.seconds, part)}"
        yield "DISKS" if not at else "", f"{text}; as quick as a link of {format_quantity(best.even_rate * 8, 'bit/s')}"
        at += 1


def _against_link(seconds: float, part: MovePart) -> str:
    if part.bounds is not None and part.bounds.low <= seconds <= part.bounds.high:
        return "within the interval of the link: cannot tell which is quicker"
    quicker = "quicker than the link" if seconds < part.seconds else "slower than the link"
    return f"{quicker}, whose rate was measured once" if part.rate.n == 1 else quicker


def _many(one: Shipment) -> str:
    return f"{one.count} x {one.device.name} take{'s' * (one.count == 1)}"


def _money(console: Console, found: MoveAnswer) -> None:
    rows = []
    for part in found.parts:
        for charge in part.charges:
            step = f"{part.step.value} (a month)" if part.step is Step.REFRESH else part.step.value
            rows.append([step, charge.what, None if charge.amount is None else money_words(charge.amount)])
    table(console, ["part", "for", Head(found.currency)], rows, title="Money", note="–: the price is unknown")


def _devices(console: Console, found: MoveAnswer) -> None:
    heads: list[str | Head] = [
        "device", "way", Head("days"), Head(found.currency), Head("quicker above"), Head("cheaper above"),
    ]  # fmt: skip
    unpriced = {part.step for part in found.parts if part.money is None}
    rows = [
        [f"{one.count} x {one.device.name}", "in" if one.step is Step.BRING else "out", f"{one.seconds / 86400:.1f}",
         None if one.money is None else money_words(one.money), _above(one.even_bytes),
         None if one.step in unpriced or one.money is None else _above(one.even_money_bytes)]
        for one in found.shipments
    ]  # fmt: skip
    sources = dict.fromkeys(f"{one.device.source} ({one.device.as_of})" for one in found.shipments)
    table(console, heads, rows, title="Shipped devices", note=f"sources: {'; '.join(sources)}")


def _above(size: float | None) -> str:
    return _NONE if size is None else _size(size)


def _size(size: float) -> str:
    return format_quantity(size, "B")


def document(found: MoveAnswer) -> dict[str, Any]:
    """The document of `predict move`: parts with their money, shipments, and the total."""
    parts = [{**_named(one), "money": one.money} for one in found.parts]
    return {**_named(found), "parts": parts}


def _named(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}
