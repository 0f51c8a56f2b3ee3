"""Prints the answer about a fleet: what it saves first, then the moves, what is unknown, and what to measure."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import Any

from rich.console import Console

from cloudcmp.answer.effects import chance_words
from cloudcmp.answer.fleet.sentences import UNTOLD_WORDS, amount_words, money_words, need_words
from cloudcmp.model.fleet import FEW, FleetAnswer, Move
from cloudcmp.model.market import OfferKey
from cloudcmp.report.grids import Grid
from cloudcmp.report.recommendation import percent_words
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import Money

_SHOWN = 10


def show_fleet(console: Console, found: FleetAnswer, *, every: bool = False) -> None:
    """Print the answer; `every` shows all moves and all unknown types, not only those with most money."""
    say(console, headline(found), "bold")
    say(console, "")
    for label, text, style in lines(found):
        labelled(console, label, text, style)
    for at, text in enumerate((*found.cautions, *found.notes)):
        labelled(console, "MIND" if not at else "", text, "yellow")
    for grid in grids(found, None if every else _SHOWN):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)
    if not every and max(len(found.moves), len(found.untold)) > _SHOWN:
        labelled(console, "MORE", "--all shows every move, --json the fate of every machine", "dim")


def fleet_document(found: FleetAnswer) -> dict[str, Any]:
    """The document of `recommend --fleet`."""
    return {one.name: getattr(found, one.name) for one in fields(found)}


def headline(found: FleetAnswer) -> str:
    """What the machines cost, without those of unknown price, which are named."""
    unknown = sum(one.count for one in found.answers if one.cost is None)
    known = found.machines - unknown
    cost = f"{_count(known)} {'costs' if known == 1 else 'cost'} {money_words(found.cost)} a month"
    if not unknown:
        return cost
    return f"{cost}; what {unknown:,} more cost is unknown" if known else f"what {_count(unknown)} cost is unknown"


def lines(found: FleetAnswer) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of the answer: label, text and style."""
    now = [one for one in found.moves if one.since is None]
    yield "SAVES", _saving(found, [one for one in now if one.chance is not None]), "bold"
    singles = [one for one in now if one.chance is None]
    if singles:
        spread = "" if found.spread is not None else "; --spread '5 %' assumes how much they scatter"
        more = " more" if found.bounds is not None else ""
        what = f"{money_words(found.single)} a month ({_share(found, found.single)}){more} by {_machines(singles)}"
        yield "MAY SAVE", f"{what}, if single values are believed: how sure they are is unknown{spread}", "bold"
    if found.later_from is not None:
        more = f"{money_words(found.later)} a month more when commitments end, the first on {found.later_from}"
        yield "LATER", more, ""
    if found.stays:
        yield "STAY", f"{_count(found.stays)}: no cheaper offering is surely enough for them", ""
    if found.committed:
        yield "COMMITTED", f"{_count(found.committed)}: until when is unknown, so they do not move", ""
    if found.untold:
        known = sum((one.cost.amount for one in found.untold if one.cost), Decimal(0))
        of = f" of {money_words(Money(known, found.currency))} a month" if known else ""
        yield "CANNOT TELL", f"{_count(sum(one.machines for one in found.untold))}{of}", ""
    yield "EACH NEEDS", need_words(found), ""
    if found.measurements:
        yield "MEASURE", _measure(found), ""


def _saving(found: FleetAnswer, moves: Sequence[Move]) -> str:
    if not moves:
        return "nothing that is sure"
    parts = [f"{money_words(found.saving)} a month ({_share(found, found.saving)}) by {_machines(moves)}"]
    if found.bounds is not None:
        low, high = found.bounds
        parts.append(f"95 % interval {amount_words(low.amount)} to {amount_words(high.amount)}")
    if found.chance is not None:
        parts.append(f"{chance_words(found.chance)} that it saves anything")
    basis = f", if single values scatter by {found.spread * 100:g} %" if found.spread is not None else ""
    return f"{'; '.join(parts)}{basis}"


def _machines(moves: Sequence[Move]) -> str:
    return f"moving {_count(sum(one.machines for one in moves))}"


def _count(machines: int) -> str:
    return f"{machines:,} {'machine' if machines == 1 else 'machines'}"


def _share(found: FleetAnswer, part: Money) -> str:
    return f"{part.amount / found.cost.amount * 100:.1f} %" if found.cost.amount else "unknown"


def _measure(found: FleetAnswer) -> str:
    few = found.measurements[:FEW]
    price = Money(sum((one.price.amount for one in few), Decimal(0)), found.currency)
    pairs = "the pair below" if len(few) == 1 else f"the first {len(few)} pairs below"
    return (
        f"measuring {pairs} settles {few[-1].settled * 100:.0f} % of the {money_words(found.undecided)} a month that "
        f"is undecided, for about {money_words(price)}"
    )


def grids(found: FleetAnswer, most: int | None = None) -> Iterator[Grid]:
    """Yield the tables of an answer: moves now and later, what is unknown, what to measure; `most` rows of each."""
    for later in (False, True):
        if moves := [one for one in found.moves if (one.since is not None) == later]:
            yield _moves(found, moves, most, later=later)
    if found.untold:
        yield _untold(found, most)
    if found.measurements:
        yield _measurements(found)


def _moves(found: FleetAnswer, moves: Sequence[Move], most: int | None, *, later: bool) -> Grid:
    named = _Names([one.of for one in moves[:most]])
    rows = tuple(
        (named.of(one.of), _to(one.of, one.to) + "*" * one.elsewhere, f"{one.machines:,}",
         amount_words(one.saving.amount), _chance(one.chance), str(one.since) if later else f"×{one.speed:.2f}")
        for one in moves[:most]
    )  # fmt: skip
    what = "when commitments end" if later else "now"
    speed = "" if later else "; speed: its measurement against what is needed"
    return Grid(
        f"{len(moves):,} {'move' if len(moves) == 1 else 'moves'} {what}, in {found.currency} a month",
        ("from", "to", Head("n"), Head("saves"), Head("enough"), Head("when" if later else "speed")),
        rows,
        f"enough: the chance that it is{speed}",
    )


def _chance(chance: float | None) -> str | None:
    """A chance as a percentage; None, a dash in a table, if it is unknown."""
    return None if chance is None else percent_words(chance)


class _Names:
    """Names of offerings, with their places only if a provider has several regions among them."""

    def __init__(self, keys: Sequence[OfferKey]) -> None:
        places = {key[:2] for key in keys}
        self._whole = len(places) > len({provider for provider, _ in places})

    def of(self, key: OfferKey) -> str:
        """The name of an offering."""
        return f"{key.name} in {key.region}" if self._whole and key.region else key.name


def _to(of: OfferKey, to: OfferKey) -> str:
    """The name of an offering, with its place only if that is another one."""
    return to.name if of[:2] == to[:2] else str(to)


def _untold(found: FleetAnswer, most: int | None) -> Grid:
    rows = tuple(
        (str(one.of), f"{one.machines:,}", amount_words(one.cost.amount) if one.cost else None, UNTOLD_WORDS[one.why])
        for one in found.untold[:most]
    )
    title = f"Nothing can be told about, in {found.currency} a month"
    return Grid(title, ("type", Head("n"), Head("costs"), "because"), rows)


def _measurements(found: FleetAnswer) -> Grid:
    named = _Names([one.of for one in found.measurements])
    rows = tuple(
        (named.of(one.of), _to(one.of, one.to), amount_words(one.money.amount), _chance(one.chance), str(one.launches),
         amount_words(one.price.amount), f"{one.settled * 100:.0f} %")
        for one in found.measurements
    )  # fmt: skip
    return Grid(
        f"What to measure, the most worth first, in {found.currency} a month",
        ("in use", "instead", Head("saves"), Head("enough"), Head("n"), Head("price"), Head("settles")),
        rows,
        "n: launches of each; price: of all; settles: undecided money, with those above",
    )
