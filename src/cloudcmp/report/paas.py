"""Prints the figures of platforms: which answers first, then times, cold starts, scaling, limits and cost."""

from collections.abc import Iterator
from decimal import Decimal

from rich.console import Console

from cloudcmp.cost.platform_bills import RULES
from cloudcmp.model.platform import (
    Centre,
    ColdStart,
    LimitKind,
    PageFigure,
    PlatformFigures,
    ScaleOut,
    Stage,
)
from cloudcmp.report.grids import Grid
from cloudcmp.report.numbers import Scale
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import Money, counted, format_money, format_quantity

_KINDS = {
    LimitKind.TIME: "time of a request",
    LimitKind.MEMORY: "memory",
    LimitKind.ANSWER: "body of an answer",
    LimitKind.UPLOAD: "body of a request",
}
_REASONS = {"status 507": "refused by the handler: the system has no more", "status 413": "refused as too large"}


def show_paas(console: Console, found: PlatformFigures) -> None:
    """Print everything, the answer first."""
    say(console, headline(found), "bold")
    say(console, "")
    for label, text in lines(found):
        labelled(console, label, text)
    for at, text in enumerate((*cautions(found), *found.notes)):
        labelled(console, "MIND" if not at else "", text, "yellow")
    for grid in grids(found):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)


def headline(found: PlatformFigures) -> str:
    """How much was measured."""
    many = len(found.run.platforms)
    ok = sum(not one.reason for one in found.run.requests)
    return f"{counted(many, 'platform')}, {counted(len(found.run.requests), 'request')}, {ok:,} answered"


def lines(found: PlatformFigures) -> Iterator[tuple[str, str]]:
    """Yield the answers: which platform is first on each page, the cold starts, the load."""
    for page in dict.fromkeys(one.page for one in found.pages):
        yield f"/{page.value}", _first([one for one in found.pages if one.page is page], found)
    for cold in found.cold_starts:
        if cold.centre is not None:
            yield "COLD START", f"{_name(found, cold.platform)}: {_cold_words(cold)}"
    for out in found.scale_outs:
        yield "LOAD", f"{_name(found, out.platform)}: {_load_words(out)}"


def _first(some: list[PageFigure], found: PlatformFigures) -> str:
    """The platform whose interval lies below all others; else why none is first."""
    known = sorted(
        ((one.response, one.platform) for one in some if one.response is not None), key=lambda pair: pair[0].median
    )
    if not known:
        return "no answer"
    (best, place), *others = known
    words = f"{_name(found, place)} {_centre_words(best)}"
    if not others:
        return words
    if best.high is None or any(other.low is None for other, _ in others):
        return f"{words}; cannot tell which is first: too few values for an interval"
    if all(other.low is not None and best.high < other.low for other, _ in others):
        among = "" if all(one.of_instances for one, _ in known) else " among the processes seen"
        return f"{words} is first{among}; next is {_name(found, others[0][1])} {_centre_words(others[0][0])}"
    return f"too close to call: {words}, {_name(found, others[0][1])} {_centre_words(others[0][0])}"


def _centre_words(one: Centre) -> str:
    """A median with its interval: `176 ms (171 to 180)`."""
    scale = Scale.of([one.median], "s")
    if one.low is None:
        return f"{scale.quantity(one.median)} (n {one.n})"
    return f"{scale.quantity(one.median)} ({scale.number(one.low)} to {scale.number(one.high)})"


def _cold_words(cold: ColdStart) -> str:
    assert cold.centre is not None
    count = len(cold.values)
    scale = Scale.of(list(cold.values), "s")
    more = f"{scale.quantity(cold.centre.median)} more than warm"
    if cold.centre.low is not None:
        return f"{more} ({scale.number(cold.centre.low)} to {scale.number(cold.centre.high)}, n {count})"
    ends = f"{scale.number(min(cold.values))} to {scale.number(max(cold.values))}"
    return f"{more} in the median of {count}, which is too few for an interval; all seen: {ends}"


def _load_words(out: ScaleOut) -> str:
    if out.settled_s is None:
        return f"no answer to {counted(out.started, 'request')}"
    grew = f"{len(out.points)} {'instance' if len(out.points) == 1 else 'instances'}"
    rates = f"{out.rate_before:.3g} answers/s at first, {out.rate_after:.3g} at the end"
    return f"{grew} had answered {out.settled_s:.2f} s after a step to {out.asked} in flight; {rates}"


def cautions(found: PlatformFigures) -> Iterator[str]:
    """Yield what the figures do not say."""
    pages = [one for one in found.pages if one.response is not None]
    few = [at for at in range(len(found.run.platforms))
           if any(one.platform == at and one.response and not one.response.of_instances for one in pages)]  # fmt: skip
    if few:
        names = ", ".join(_name(found, at) for at in few)
        yield f"{names}: fewer than 6 processes answered, so the intervals say nothing of other processes"
    memory = [_name(found, one.platform) for one in found.pages if one.disk_in_memory]
    if memory:
        yield f"{', '.join(memory)}: the disk task wrote to memory, which is no disk"
    missed = [one for one in found.pages if one.ok < one.started]
    if missed:
        lost = sum(one.started - one.ok for one in missed)
        yield f"{lost} of {sum(one.started for one in found.pages)} requests of the rounds failed; they have no time"
    if found.scale_outs:
        yield "each load is one observation: how much the next one would differ is unknown"
    if any(one.money is not None for one in found.costs):
        rules = ", ".join(dict.fromkeys(f"{one.rule} (typed {RULES[one.rule].dated})" for one in found.costs))
        yield f"costs by {rules}: list prices without free tiers, network traffic, and time before and after requests"


def grids(found: PlatformFigures) -> Iterator[Grid]:
    """Yield the tables, for a terminal or a page; None is unknown."""
    if found.pages:
        yield _pages(found)
    if any(one.centre is not None for one in found.cold_starts):
        yield _cold(found)
    if found.scale_outs:
        yield _loads(found)
    if found.run.limits:
        yield _limits(found)
    if found.costs:
        yield _costs(found)


def _pages(found: PlatformFigures) -> Grid:
    rows = []
    for one in found.pages:
        centre = one.response
        scale = Scale.of([centre.median] if centre else [], "s")
        rows.append((
            one.page.value,
            _name(found, one.platform),
            scale.quantity(centre.median) if centre else None,
            f"{scale.number(centre.low)} to {scale.number(centre.high)}" if centre and centre.low is not None else None,
            scale.quantity(one.task.median) if one.task else None,
            str(centre.n) if centre else None,
            str(centre.instances) if centre else None,
            f"{one.ok}/{one.started}",
        ))  # fmt: skip
    heads = ("page", "platform", Head("median"), Head("95 % interval"), Head("task"), Head("n"), Head("proc."),
             Head("ok"))  # fmt: skip
    note = "task: what the handler took by its own clock; proc.: processes that answered"
    return Grid("Response times of warm requests", heads, tuple(rows), note)


def _cold(found: PlatformFigures) -> Grid:
    rows = []
    for one in found.cold_starts:
        scale = Scale.of(list(one.values), "s")
        centre = one.centre
        rows.append((
            _name(found, one.platform),
            scale.quantity(centre.median) if centre else None,
            f"{scale.number(centre.low)} to {scale.number(centre.high)}" if centre and centre.low is not None else None,
            scale.quantity(max(one.values)) if one.values else None,
            format_quantity(one.warm_s, "s") if one.warm_s is not None else None,
            str(len(one.values)),
        ))  # fmt: skip
    heads = ("platform", Head("median"), Head("95 % interval"), Head("longest"), Head("warm"), Head("n"))
    note = (
        "first request of a new process, less the median of warm ones of its page; both without the handler's own time"
    )
    return Grid("Cold starts: what the first request takes longer", heads, tuple(rows), note)


def _loads(found: PlatformFigures) -> Grid:
    rows = tuple(
        (_name(found, one.platform), str(one.asked), str(len(one.points)),
         None if one.settled_s is None else f"{one.settled_s:.2f} s", f"{one.rate_before:.3g}", f"{one.rate_after:.3g}",
         f"{one.ok}/{one.started}", ", ".join(f"{reason} {count}" for reason, count in one.refusals) or None)
        for one in found.scale_outs
    )  # fmt: skip
    heads = ("platform", Head("in flight"), Head("instances"), Head("last after"), Head("first/s"), Head("end/s"),
             Head("ok"), "failures")  # fmt: skip
    note = "first/s and end/s: answers a second in the first and the last fifth of the load"
    return Grid("From none to all requests at once: /cpu", heads, rows, note)


def _limits(found: PlatformFigures) -> Grid:
    rows = []
    for one in found.run.limits:
        unit = "s" if one.kind is LimitKind.TIME else "B"
        fails = "not met" if one.failed is None else format_quantity(one.failed, unit)
        rows.append((
            _name(found, one.platform), _KINDS[one.kind],
            None if one.worked is None else format_quantity(one.worked, unit), fails,
            _REASONS.get(one.reason, one.reason) or None, str(one.requests),
        ))  # fmt: skip
    heads = ("platform", "limit of", Head("works"), Head("fails"), "how", Head("n"))
    note = "the limit lies between the two; what failed did so twice; not met: up to the bound of the search"
    return Grid("Limits", heads, tuple(rows), note)


def _costs(found: PlatformFigures) -> Grid:
    rows = []
    for one in found.costs:
        ends = None
        if one.money is not None and one.low is not None and one.high is not None:
            low, high = (format_money(Money(Decimal(repr(end)), one.money.currency)) for end in (one.low, one.high))
            ends = f"{low.partition(' ')[0]} to {high.partition(' ')[0]}"
        money = format_money(one.money) if one.money else (f"{one.lack} unknown" if one.lack else None)
        page = one.page.value if one.stage is Stage.ROUNDS else f"{one.page.value}, load"
        rows.append((_name(found, one.platform), page, one.rule, money, ends, str(one.n)))
    heads = ("platform", "page", "rule", Head("per million"), Head("95 % interval"), Head("n"))
    return Grid("What a million requests cost, one at a time and under load", heads, tuple(rows), _cost_note(found))


def _cost_note(found: PlatformFigures) -> str:
    rules = dict.fromkeys(one.rule for one in found.costs)
    return "; ".join(f"{name}: {RULES[name].title}, {RULES[name].source}, typed {RULES[name].dated}" for name in rules)


def _name(found: PlatformFigures, platform: int) -> str:
    return found.run.platforms[platform].name
