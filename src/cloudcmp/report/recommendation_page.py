"""Renders a recommendation as one HTML file: the choice first, then what would change it, then the rest, folded."""

from collections.abc import Iterator, Sequence

from cloudcmp import __version__
from cloudcmp.answer.choice.sentences import number_words, objective_words
from cloudcmp.answer.effects import chance_words
from cloudcmp.model.market import COST
from cloudcmp.model.recommendation import Front, Pick, Recommendation
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.charts import front as front_chart
from cloudcmp.report.html import picture_of, styled, template
from cloudcmp.report.recommendation import behind_words, better_words, percent_words
from cloudcmp.report.sheets.sheet import Field, Sheet, columns, row
from cloudcmp.report.small_and_large import sheet_of

_PICKS = 5


def render(found: Recommendation) -> str:
    """Return the page of a recommendation; it runs no script and loads nothing."""
    needs = f", with {', '.join(found.needs)}" if found.needs else ""
    choice = found.choice
    style, digest = styled()
    return template("recommendation.html.j2").render(
        style=style,
        digest=digest,
        version=__version__,
        origin="SIMULATED" if found.simulated else "",
        question=one_line(f"{objective_words(found)}{needs}", 2000),
        counted=f"{found.offered:,} offerings, of which {found.meeting:,} meet every need by their values",
        choice=str(choice.key) if choice else "",
        values="; ".join(_values(found, choice)) if choice else "",
        reason=(*found.reason, *(f"How steady: {line}." for line in found.steadiness)),
        cards=list(_cards(found)),
        changes=found.changes,
        cautions=[*found.cautions, *found.notes],
        picks=_picks(found) if found.picks else None,
        misses=_misses(found) if found.misses else None,
        pictures=[picture_of(front_chart.figure_of(found, one)) for one in found.fronts if one.picks],
        fronts=[_front(found, one) for one in found.fronts if one.picks],
        ladder=_ladder(found) if found.ladder else None,
        against=sheet_of(found.several, found.used) if found.several is not None and found.several.against else None,
        counts=_counts(found),
        confidence=f"{found.confidence * 100:g} %",
    )


def _values(found: Recommendation, pick: Pick) -> Iterator[str]:
    for used, value in zip(found.used, pick.values, strict=True):
        yield one_line(f"{used.label} {number_words(value, used.unit, found.currency)}", 200)


def _cards(found: Recommendation) -> Iterator[tuple[str, str, str]]:
    """The figures of the answer: its price, how sure, the runner-up, how old."""
    choice = found.choice
    if choice is None:
        return
    price = next((value for used, value in zip(found.used, choice.values, strict=True) if used.name == COST), None)
    dated = f"of {choice.price_day}" if choice.price_day else ""
    yield "price", number_words(price, "1/h", found.currency), dated
    if choice.best is None:
        yield "how sure", "unknown", "single values, no spread is known"
    else:
        near = f"within 3 % of the best: {chance_words(choice.near_best or 0.0)}"
        yield "how sure that it is the best", chance_words(choice.best), near
    if len(found.picks) > 1:
        yield "runner-up", str(found.picks[1].key), f"{behind_words(found, found.picks[1])} behind"
    launches = f"{choice.launches} launches" if choice.launches > 1 else "a single value"
    measured = any(one.is_measured for one in found.used)
    yield (
        "oldest measurement",
        str(choice.day) if choice.day else "unknown",
        launches if measured else "nothing measured",
    )


def _picks(found: Recommendation) -> Sheet:
    kept = [at for at, used in enumerate(found.used) if used.is_measured or used.name == COST]
    sure = any(one.best is not None for one in found.picks)
    titles = [f"{found.currency}/h" if found.used[at].name == COST else found.used[at].label for at in kept]
    heads = ["offering", *titles, "behind", *["best"] * sure]
    rows = []
    for one in found.picks[:_PICKS]:
        values = [number_words(one.values[at], found.used[at].unit) for at in kept]
        rows.append(row(_named(one), *values, behind_words(found, one), *[percent_words(one.best)] * sure))
    return Sheet("The best, each in its best region", columns(*heads, numeric=heads[1:]), tuple(rows))


def _named(one: Pick) -> Field:
    marks = ["burstable"] * (one.burstable is True) + ["measured elsewhere"] * one.elsewhere
    return Field(str(one.key), below=", ".join(marks))


def _misses(found: Recommendation) -> Sheet:
    units = {used.name: used.unit for used in found.used}
    heads = ("offering", "misses", "with", "better by")
    rows = [
        row(_named(one.pick), one.need, number_words(one.value, units[one.column], found.currency),
            better_words(found, one.pick) or "")
        for one in found.misses
    ]  # fmt: skip
    return Sheet("They would be better, and miss exactly one need", columns(*heads, numeric=heads[2:]), tuple(rows))


def _front(found: Recommendation, front: Front) -> Sheet:
    names = [used.name for used in found.used]
    cost, of = names.index(COST), names.index(front.of)
    heads = ("offering", f"{found.currency}/h", found.used[of].label)
    rows = [
        row(_named(one), number_words(one.values[cost], "1/h"), number_words(one.values[of], found.used[of].unit))
        for one in front.picks
    ]
    return Sheet(f"None is both cheaper and better in {heads[2]}", columns(*heads, numeric=heads[1:]), tuple(rows))


def _ladder(found: Recommendation) -> Sheet:
    heads = ("offering", "price", "speed")
    rows = [row(str(one.key), f"{one.cost:.2f}", f"{one.work:.2f}") for one in found.ladder]
    return Sheet("As ratios to the recommended one", columns(*heads, numeric=heads[1:]), tuple(rows))


def _counts(found: Recommendation) -> Sheet:
    heads: Sequence[str] = ("need", "miss it", "unknown", "meet everything else")
    rows = [row(one.need, f"{one.miss:,}", f"{one.unknown:,}", f"{one.alone:,}") for one in found.counts]
    return Sheet("Offerings that each need excludes", columns(*heads, numeric=heads[1:]), tuple(rows))
