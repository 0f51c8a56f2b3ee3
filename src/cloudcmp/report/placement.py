"""Prints the best set of regions: the answer first, then its regions, other sets, money, and what it rests on."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console

from cloudcmp.answer.placement.sentences import (
    certainty_words,
    goal_words,
    proof_words,
    share_words,
    undecided,
    value_words,
)
from cloudcmp.model.placement import GoalKind, RegionsAnswer, RegionSet
from cloudcmp.report.grids import Grid
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import counted, format_quantity

_FRONT = 8
_LEFT = 5


def show_regions(console: Console, found: RegionsAnswer, *, every: bool = False) -> None:
    """Print the answer; `every` adds the whole front and all regions that are left out."""
    say(console, headline(found), "bold")
    say(console, basis(found), "dim")
    say(console, "")
    for label, text, style in lines(found):
        labelled(console, label, text, style)
    for grid in grids(found, None if every else _FRONT):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)
    if found.left_out:
        say(console, "")
        shown = found.left_out if every else found.left_out[:_LEFT]
        text = "; ".join(f"{site}: {why}" for site, why in shown)
        more = len(found.left_out) - len(shown)
        labelled(console, "LEFT OUT", text + (f"; and {more} more, see --all" if more else ""), "dim")


def headline(found: RegionsAnswer) -> str:
    """What is asked: `3 regions with the least mean round trip of people`."""
    many = len(found.best.regions)
    return f"{counted(many, 'region')} with the least {goal_words(found.goal)}"


def basis(found: RegionsAnswer) -> str:
    """How many people, places and regions: one line."""
    places, regions = (counted(many, word) for many, word in ((found.groups, "place"), (found.sites, "region")))
    return f"{_people(found.people)} people in {places} | {regions} can be chosen"


def lines(found: RegionsAnswer) -> Iterator[tuple[str, str, str]]:
    """The labelled lines of the answer and what to mind: label, text, style."""
    yield from answer(found)
    for at, text in enumerate((*found.cautions, *found.notes)):
        yield "MIND" if not at else "", text, "yellow"


def answer(found: RegionsAnswer) -> Iterator[tuple[str, str, str]]:
    """The labelled lines of the answer alone: label, text, style."""
    best = found.best
    yield "LIKELY BEST" if undecided(found) else "BEST", str(best), "bold"
    of = "of " if found.goal.kind is GoalKind.BEYOND else ""
    yield "", f"{value_words(found.goal, best.value)} {of}{goal_words(found.goal)}; {_figures(found, best)}", ""
    if best.money is not None:
        yield "", f"{money_words(best.money)} {found.currency} a month for {_people(found.users)} users", ""
    if (behind := next((one for one in found.delivered if len(one.regions) == len(best.regions)), None)) is not None:
        yield "DELIVERY", _behind_words(found, behind), ""
    yield "PROOF", proof_words(found.goal, best), ""
    yield "HOW SURE", certainty_words(found), ""


def _behind_words(found: RegionsAnswer, one: RegionSet) -> str:
    """What as many regions give behind a delivery network, and whether that is better or cheaper than without it."""
    best = found.best
    parts = [f"{one}: {value_words(found.goal, one.value)}"]
    if one.money is not None:
        parts.append(f"{money_words(one.money)} {found.currency} a month")
    told = ["better" if one.value < best.value else "not better"]
    if one.money is not None and best.money is not None:
        told.append("cheaper" if one.money < best.money else "not cheaper")
    return f"{', '.join(parts)}; {' and '.join(told)} than without it, if its hits and distance hold"


def _figures(found: RegionsAnswer, one: RegionSet) -> str:
    parts = [f"median {format_quantity(one.p50_s, 's')}", f"95 % within {format_quantity(one.p95_s, 's')}"]
    if found.goal.kind is not GoalKind.MEAN:
        parts.insert(0, f"mean {format_quantity(one.mean_s, 's')}")
    return ", ".join([*parts, f"{share_words(one.within)} within {format_quantity(found.limit_s, 's')}"])


def grids(found: RegionsAnswer, most: int | None = None) -> Iterator[Grid]:
    """The tables: regions of the best set, providers, numbers of regions, delivery, and the front of money."""
    yield _regions(found)
    if len(found.by_provider) > 1:
        yield _sets("The best set of each provider", found, found.by_provider, named=True)
    if len(found.by_count) > 1:
        note = f"of {found.best.providers}" if found.by_provider else ""
        yield _sets("Fewer and more regions", found, found.by_count, named=False, note=note)
    if found.delivered:
        note = "the mean of hits and misses; misses go on from the edge to the nearest region"
        yield _sets(f"Behind {found.delivered[0].delivery}", found, found.delivered, named=False, note=note)
    if len(found.front) > 1:
        yield _front(found, most)


def _grid(title: str, heads: Iterable[str | Head], rows: Iterable[Iterable[str | None]], note: str = "") -> Grid:
    return Grid(title, tuple(heads), tuple(tuple(row) for row in rows), note)


def _regions(found: RegionsAnswer) -> Grid:
    gb = any(one.gb is not None for one in found.best.regions)
    heads: list[str | Head] = [Head("region", numeric=False, whole=True), Head("people"), Head("mean")]
    heads += [Head("GB/month")] * gb
    rows = [
        [str(one.site), share_words(one.share), None if one.mean_s is None else format_quantity(one.mean_s, "s"),
         *([f"{one.gb:,.0f}"] if one.gb is not None else [])]
        for one in found.best.regions
    ]  # fmt: skip
    return _grid("Whom each region serves", heads, rows)


def _sets(title: str, found: RegionsAnswer, sets: Sequence[RegionSet], *, named: bool, note: str = "") -> Grid:
    money = any(one.money is not None for one in sets)
    heads: list[str | Head] = ["provider" if named else Head("sites"), "regions", Head(_value_head(found))]
    heads += [Head(f"within {format_quantity(found.limit_s, 's')}")]
    heads += [Head(f"{found.currency}/month")] * money
    rows = []
    for one in sets:
        regions = ", ".join(region.site.region for region in one.regions) if _single(one) else str(one)
        mark = "" if one.proven else "*"
        cells = [one.providers if named else str(len(one.regions)), regions,
                 value_words(found.goal, one.value) + mark, share_words(one.within)]  # fmt: skip
        rows.append([*cells, *([None if one.money is None else money_words(one.money)] if money else [])])
    unproven = any(not one.proven for one in sets)
    notes = [note, "*: not proven to be the best" if unproven else ""]
    return _grid(title, heads, rows, "; ".join(filter(None, notes)))


def _single(one: RegionSet) -> bool:
    return len({region.site.provider for region in one.regions}) == 1


def _value_head(found: RegionsAnswer) -> str:
    if found.goal.kind is GoalKind.MEAN:
        return "mean"
    if found.goal.kind is GoalKind.BEYOND:
        return "beyond"
    return "worst" if found.goal.at == 1 else f"p{found.goal.at * 100:g}"


def _front(found: RegionsAnswer, most: int | None) -> Grid:
    shown = thinned(found.front, most)
    rows = [
        [str(one), value_words(found.goal, one.value), share_words(one.within), money_words(one.money or 0.0)]
        for one in shown
    ]
    within = f"within {format_quantity(found.limit_s, 's')}"
    heads: list[str | Head] = ["regions", *map(Head, (_value_head(found), within, f"{found.currency}/month"))]
    sets = counted(found.tried, "set")
    how = f"of all {sets}" if found.whole else f"of the {sets} that weights of money select"
    left = len(found.front) - len(shown)
    note = f"{how}; {left} between these, see --all" if left else how
    return _grid("None is both cheaper and better: time against money", heads, rows, note)


def thinned(front: Sequence[RegionSet], most: int | None) -> Sequence[RegionSet]:
    """At most `most` sets of a front, the ends always, evenly between."""
    if most is None or len(front) <= most:
        return front
    return [front[round(at * (len(front) - 1) / (most - 1))] for at in range(most)]


def money_words(money: float) -> str:
    """An amount of money with thousands: `12,340`, `12.30`."""
    return f"{money:,.0f}" if money >= 100 else f"{money:,.2f}"


def _people(count: float) -> str:
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count:,.0f}"
