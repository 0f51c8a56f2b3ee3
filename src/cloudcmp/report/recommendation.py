"""Prints a recommendation: the choice first, then how sure it is, what would change it, and the others."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from cloudcmp.answer.choice.sentences import how_many, number_words, objective_words
from cloudcmp.model.market import COST, Market, Numbers, Texts
from cloudcmp.model.recommendation import Count, Front, Miss, Pick, Recommendation
from cloudcmp.report.small_and_large import show_against
from cloudcmp.report.table import Head, labelled, say, table

_SHOWN = 5
_LONGEST_HEAD = 18
_BROAD = 3
"""Columns of values that fit beside names and prices at 80 columns."""


def show_recommendation(console: Console, found: Recommendation, *, every: bool = False) -> None:
    """Print a recommendation; `every` adds the fronts, the sizes of the family, and what each need excludes."""
    needs = f", with {', '.join(found.needs)}" if found.needs else ""
    say(console, f"{objective_words(found)}{needs}", "bold")
    meet = (
        "1 meets every need by its values"
        if found.meeting == 1
        else f"{found.meeting:,} meet every need by their values"
    )
    say(console, f"{how_many(found.offered, 'offering')} | {meet}", "dim")
    say(console, "")
    for label, text, style in _lines(found):
        labelled(console, label, text, style)
    if found.picks:
        say(console, "")
        _picks(console, found)
    if found.several is not None and found.several.against:
        say(console, "")
        show_against(console, found.several, found.used)
    if found.misses:
        say(console, "")
        _misses(console, found)
    if every:
        _rest(console, found)
    else:
        labelled(console, "MORE", "--all shows the price front, other sizes, and what each need excludes", "dim")


def _lines(found: Recommendation) -> Iterator[tuple[str, str, str]]:
    choice = found.choice
    if choice is None:
        yield "NONE", " ".join(found.reason), "bold"
        excluding = [one for one in found.counts if one.miss or one.unknown]
        for one in sorted(excluding, key=lambda one: -(one.miss + one.unknown))[:3]:
            yield "", count_words(one), ""
    else:
        yield "RECOMMENDED", str(choice.key), "bold"
        yield "", "; ".join(_values(found, choice)), ""
        yield "", " ".join(found.reason), ""
        yield "HOW SURE", found.certainty, ""
        for at, text in enumerate(found.steadiness):
            yield "HOW STEADY" if not at else "", text, ""
        if found.age:
            yield "HOW OLD", found.age, ""
    for at, text in enumerate(found.changes):
        yield "CHANGES IF" if not at else "", text, ""
    for at, text in enumerate((*found.cautions, *found.notes)):
        yield "MIND" if not at else "", text, "yellow"


def count_words(one: Count) -> str:
    """What a need excludes: `vcpus >= 8: 120 miss it, unknown for 3; 12 meet everything else`."""
    words = f"{one.need}: {one.miss:,} miss it, unknown for {one.unknown:,}; {one.alone:,} meet everything else"
    return f"{words}; known are {', '.join(one.known)}" if one.known else words


def _values(found: Recommendation, pick: Pick) -> Iterator[str]:
    for used, value in zip(found.used, pick.values, strict=True):
        yield f"{used.label} {number_words(value, used.unit, found.currency)}"


def _picks(console: Console, found: Recommendation) -> None:
    """Print the best offerings, each with the columns that decide, and how far it is behind."""
    shown = found.picks[:_SHOWN]
    kept = [at for at, used in enumerate(found.used) if used.is_measured or used.unit == "1/h"][:_BROAD]
    sure = any(one.best is not None for one in shown)
    titles, notes = _titles(found, kept)
    heads = [Head("offering", numeric=False), *map(Head, titles), Head("behind")]
    heads += [Head("best")] * sure
    rows = []
    for one in shown:
        values = (number_words(one.values[at], found.used[at].unit) for at in kept)
        rows.append([str(one.key), *values, behind_words(found, one)] + [percent_words(one.best)] * sure)
    notes += ["behind: by the objective"] + ["best: the chance that it is the best"] * sure
    table(console, heads, rows, title="The best, each in its best region", note="; ".join(notes))


def _titles(found: Recommendation, kept: Sequence[int]) -> tuple[list[str], list[str]]:
    """The heads of columns, and what those stand for that are too long."""
    titles: list[str] = []
    notes: list[str] = []
    for at in kept:
        used = found.used[at]
        title = f"{found.currency}/h" if used.unit == "1/h" else used.label
        if len(title) > _LONGEST_HEAD:
            letter = "abc"[len(notes)]
            notes.append(f"{letter}: {title}")
            title = letter
        titles.append(title)
    return titles, notes


def behind_words(found: Recommendation, one: Pick) -> str:
    """How far an offering's objective is behind the first one's: `4.3 %`."""
    best = found.picks[0].objective
    ratio = best / one.objective if found.most else one.objective / best
    return f"{(ratio - 1) * 100:.1f} %"


def percent_words(value: float | None) -> str:
    """A chance as a percentage; `unknown` without one."""
    return "unknown" if value is None else f"{value * 100:.0f} %"


def _misses(console: Console, found: Recommendation) -> None:
    rows = [[str(one.pick.key), one.need, _miss(found, one), better_words(found, one.pick)] for one in found.misses]
    heads: list[str | Head] = [Head("offering", numeric=False, whole=True), "misses", Head("with"), Head("better by")]
    table(console, heads, rows, title="Better, but for one need")


def _miss(found: Recommendation, one: Miss) -> str:
    return number_words(one.value, next(used.unit for used in found.used if used.name == one.column), found.currency)


def better_words(found: Recommendation, one: Pick) -> str | None:
    """How much better an offering's objective is than the first one's; None without a first one."""
    if not found.picks:
        return None
    best = found.picks[0].objective
    ratio = one.objective / best if found.most else best / one.objective
    return f"{(ratio - 1) * 100:.1f} %"


def _rest(console: Console, found: Recommendation) -> None:
    for front in found.fronts:
        say(console, "")
        _front(console, found, front)
    if found.ladder:
        say(console, "")
        rows = [[str(one.key), f"{one.cost:.2f}", f"{one.work:.2f}"] for one in found.ladder]
        table(console, ["offering", Head("price"), Head("speed")], rows, title="Other sizes, against the choice",
              note=_step_words(found))  # fmt: skip
    say(console, "")
    rows = [[one.need, f"{one.miss:,}", f"{one.unknown:,}", f"{one.alone:,}"] for one in found.counts]
    table(console, ["need", Head("miss it"), Head("unknown"), Head("it alone")], rows, title="What each need excludes",
          note="it alone: offerings that meet everything else")  # fmt: skip


def _step_words(found: Recommendation) -> str:
    """What the next larger size gives for its price."""
    step = next((one for one in found.ladder if one.cost > 1), None)
    if step is None:
        return ""
    gain, cost = (
        f"{abs(ratio - 1) * 100:.0f} % {'more' if ratio >= 1 else 'less'}" for ratio in (step.work, step.cost)
    )
    return f"the next larger one, {step.key.name}, gives {gain} speed for {cost} money"


def _front(console: Console, found: Recommendation, front: Front) -> None:
    names = [used.name for used in found.used]
    cost, of = found.used[names.index(COST)], found.used[names.index(front.of)]
    kept = [names.index(COST), names.index(front.of)]
    titles, notes = _titles(found, kept)
    rows = [[str(one.key), number_words(one.values[kept[0]], cost.unit), number_words(one.values[kept[1]], of.unit)]
            for one in front.picks]  # fmt: skip
    title = f"None is both cheaper and better: price against {of.label}"
    table(console, ["offering", *map(Head, titles)], rows, title=title, note="; ".join(notes))


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column that needs and objectives can name: its kind, for how many offerings it is known, and an example."""

    name: str
    kind: str
    known: int
    example: str


def columns_of(market: Market) -> tuple[ColumnView, ...]:
    """Return the columns of a market by name."""
    return tuple(_column(one) for _, one in sorted(market.columns.items()))


def show_columns(console: Console, market: Market) -> None:
    """Print the columns that needs and objectives can name."""
    rows = [[one.name, one.kind, one.known, one.example] for one in columns_of(market)]
    heads: list[str | Head] = [Head("column", numeric=False, whole=True), "kind", Head("known for"), "such as"]
    note = "measured: a single value of a table has no chance without --spread"
    table(console, heads, rows, title=f"{len(market.keys):,} offerings", note=note)


def _column(one: Numbers | Texts) -> ColumnView:
    if isinstance(one, Texts):
        texts = [text for text in one.value if text]
        return ColumnView(one.name, "text", len(texts), texts[0] if texts else "")
    values = [value for value in one.value.tolist() if math.isfinite(value)]
    example = number_words(values[0], one.unit) if values else ""
    return ColumnView(one.name, "measured" if one.is_measured else "number", len(values), example)
