"""Prints the answer about a fleet: what it saves first, then the moves, what is unknown, and what to measure."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from rich.console import Console

from cloudcmp.answer.effects import chance_words
from cloudcmp.answer.fleet.sentences import UNTOLD_WORDS, need_words
from cloudcmp.model.fleet import FleetAnswer, Measurement, Move
from cloudcmp.model.market import OfferKey
from cloudcmp.report.recommendation import labelled, percent_words
from cloudcmp.report.table import Head, say, table
from cloudcmp.report.text import without_common
from cloudcmp.units import Money

_SHOWN = 10
_FEW = 3


def show_fleet(console: Console, found: FleetAnswer, *, every: bool = False) -> None:
    """Print the answer; `every` shows all moves and all unknown types, not only those with most money."""
    say(console, f"{found.machines:,} machines cost {money_words(found.cost)} a month", "bold")
    say(console, "")
    for label, text, style in _lines(found):
        labelled(console, label, text, style)
    most = None if every else _SHOWN
    if found.moves:
        say(console, "")
        _moves(console, found, found.moves[:most])
    if found.untold:
        say(console, "")
        _untold(console, found, most)
    if found.measurements:
        say(console, "")
        _measurements(console, found)
    if not every and max(len(found.moves), len(found.untold)) > _SHOWN:
        labelled(console, "MORE", "--all shows every move, --json the fate of every machine", "dim")


def fleet_document(found: FleetAnswer) -> dict[str, Any]:
    """The document of `recommend --fleet`."""
    return {one.name: getattr(found, one.name) for one in fields(found)}


def money_words(money: Money) -> str:
    """Money of a month for people: whole units from 100 on."""
    return f"{_amount(money.amount)} {money.currency}".rstrip()


def _amount(amount: Decimal) -> str:
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:,.2f}"


def _lines(found: FleetAnswer) -> Iterator[tuple[str, str, str]]:
    now = [one for one in found.moves if one.since is None]
    yield "SAVES", _saving(found, [one for one in now if one.chance is not None]), "bold"
    singles = [one for one in now if one.chance is None]
    if singles:
        spread = "" if found.spread is not None else "; --spread '5 %' assumes how much they scatter"
        what = f"{money_words(found.single)} a month ({_share(found, found.single)}) more by {_machines(singles)}"
        yield "MAY SAVE", f"{what}, if single values are believed: how sure they are is unknown{spread}", "bold"
    if found.later_from is not None:
        more = f"{money_words(found.later)} a month more when commitments end, the first on {found.later_from}"
        yield "LATER", more, ""
    if found.stays:
        yield "STAY", f"{found.stays:,} machines: no cheaper offering is surely enough for them", ""
    if found.committed:
        yield "COMMITTED", f"{found.committed:,} machines: until when is unknown, so they do not move", ""
    if found.untold:
        known = sum((one.cost.amount for one in found.untold if one.cost), Decimal(0))
        of = f" of {money_words(Money(known, found.currency))} a month" if known else ""
        yield "CANNOT TELL", f"{sum(one.machines for one in found.untold):,} machines{of}", ""
    yield "EACH NEEDS", need_words(found), ""
    if found.measurements:
        yield "MEASURE", _measure(found), ""
    for at, text in enumerate((*found.cautions, *found.notes)):
        yield "MIND" if not at else "", text, "yellow"


def _saving(found: FleetAnswer, moves: Sequence[Move]) -> str:
    if not moves:
        return "nothing that is sure"
    parts = [f"{money_words(found.saving)} a month ({_share(found, found.saving)}) by {_machines(moves)}"]
    if found.bounds is not None:
        low, high = found.bounds
        parts.append(f"95 % interval {_amount(low.amount)} to {_amount(high.amount)}")
    if found.chance is not None:
        parts.append(f"{chance_words(found.chance)} that it saves anything")
    basis = f", if single values scatter by {found.spread * 100:g} %" if found.spread is not None else ""
    return f"{'; '.join(parts)}{basis}"


def _machines(moves: Sequence[Move]) -> str:
    count = sum(one.machines for one in moves)
    return f"moving {count:,} {'machine' if count == 1 else 'machines'}"


def _share(found: FleetAnswer, part: Money) -> str:
    return f"{part.amount / found.cost.amount * 100:.1f} %" if found.cost.amount else "unknown"


def _measure(found: FleetAnswer) -> str:
    few = found.measurements[:_FEW]
    price = Money(sum((one.price.amount for one in few), Decimal(0)), found.currency)
    pairs = "the pair below" if len(few) == 1 else f"the first {len(few)} pairs below"
    return (
        f"measuring {pairs} settles {few[-1].settled * 100:.0f} % of the {money_words(found.undecided)} a month that "
        f"is undecided, for about {money_words(price)}"
    )


def _moves(console: Console, found: FleetAnswer, moves: Sequence[Move]) -> None:
    names = without_common([str(one.of) for one in moves])
    rows = [
        [name, _to(one.of, one.to) + "*" * one.elsewhere, f"{one.machines:,}", _amount(one.saving.amount),
         percent_words(one.chance), f"×{one.speed:.2f}", str(one.since or "now")]
        for name, one in zip(names, moves, strict=True)
    ]  # fmt: skip
    heads: list[str | Head] = [
        "from", "to", Head("n"), Head(f"{found.currency}/month"), Head("enough"), Head("speed"), Head("when"),
    ]  # fmt: skip
    if not any(one.since for one in moves):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    table(console, heads, rows, title=f"{len(found.moves):,} moves, the largest saving first",
          note="enough: the chance that it is; speed: its measurement against what is needed")  # fmt: skip


def _to(of: OfferKey, to: OfferKey) -> str:
    """The name of an offering, with its place only if that is another one."""
    return to.name if of[:2] == to[:2] else str(to)


def _untold(console: Console, found: FleetAnswer, most: int | None) -> None:
    rows = [[str(one.of), f"{one.machines:,}", _amount(one.cost.amount) if one.cost else "unknown",
             UNTOLD_WORDS[one.why]] for one in found.untold[:most]]  # fmt: skip
    heads: list[str | Head] = ["type", Head("n"), Head(f"{found.currency}/month"), "because"]
    table(console, heads, rows, title="Nothing can be told about")


def _measurements(console: Console, found: FleetAnswer) -> None:
    names = without_common([str(one.of) for one in found.measurements])
    rows = [_measured(name, one) for name, one in zip(names, found.measurements, strict=True)]
    heads: list[str | Head] = ["in use", "instead", Head(f"{found.currency}/month"), Head("enough"), Head("launches"),
                               Head("price"), Head("settles")]  # fmt: skip
    table(console, heads, rows, title="What to measure, the most worth first",
          note="price: of those launches of both; settles: all undecided money, with those above")  # fmt: skip


def _measured(name: str, one: Measurement) -> list[str]:
    return [name, _to(one.of, one.to), _amount(one.money.amount), percent_words(one.chance), str(one.launches),
            _amount(one.price.amount), f"{one.settled * 100:.0f} %"]  # fmt: skip
