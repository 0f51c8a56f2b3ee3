"""The answer about the wide area in words."""

import math
from collections.abc import Iterator

from cloudcmp.analysis.wide_area.vantage_clusters import SAME_PLACE_KM, without_network
from cloudcmp.answer.reach.look_sentences import look_cautions, look_headline, look_lines
from cloudcmp.catalog.countries import CONTINENT_NAMES
from cloudcmp.model.reach import MissingRegion, ReachPair, WideAreaAnswer
from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.model.wide_area import Continent, Phase, WideArea
from cloudcmp.units import are, counted, format_quantity

_SHOWN = 3


def headline(found: WideAreaAnswer) -> str:
    """Which provider reaches the vantage points best, or that this cannot be told."""
    if not found.looks:
        return _headline(found)
    return look_headline(found.looks, found.area.vantages[0].name, {one.site for one in found.impossible})


def _headline(found: WideAreaAnswer) -> str:
    n = len(found.area.vantages)
    points = "1 vantage point" if n == 1 else f"{n:,} vantage points"
    these = "this vantage point" if n == 1 else f"these {points}"
    providers = found.best_times.providers
    if not providers:
        return f"How {found.area.names[0].provider} maps {points} to its addresses"
    if len(providers) < 2:
        return f"How {providers[0]} reaches {points}: there is nothing to compare"
    if found.decided:
        return f"{found.best[0]} reaches {these} best"
    if len(found.best) < len(providers):
        return f"{' and '.join(found.best)} reach {these} best; which of them, cannot be told yet"
    if all(one.verdict is Verdict.SAME for one in found.pairs):
        return f"{' and '.join(providers)} reach {these} practically the same"
    return f"Cannot tell yet which provider reaches {these} best"


def pair_words(one: ReachPair, *, turned: bool = False) -> str:
    """How much lower or higher the times of a pair's first provider are than those of the second, with the interval.

    `turned` tells it of the second.
    """
    first, second = (one.b, one.a) if turned else (one.a, one.b)
    if one.ratio is None:
        return f"{first} against {second}: unknown"
    ratio = 1 / one.ratio if turned else one.ratio
    bounds = one.ratio_bounds
    if turned and bounds is not None:
        bounds = Bounds(1 / bounds.high, 1 / bounds.low, bounds.confidence)
    interval = "" if bounds is None else f" (95 % interval {change(bounds.low)} to {change(bounds.high)})"
    difference = (
        "" if one.difference_s is None else f", {ms(-one.difference_s if turned else one.difference_s)} on average"
    )
    return f"{first} against {second}: {change(ratio)}{interval}{difference}"


def change(ratio: float) -> str:
    """A ratio of times as a change in percent with its sign; beyond double as a factor, of at most 100."""
    if ratio >= 2:
        return f"{ratio:.1f}x" if ratio < 100 else "over 100x"
    return f"{(ratio - 1) * 100:+.0f} %"


def ms(seconds: float) -> str:
    """A difference of times with its sign, in milliseconds."""
    return f"{seconds * 1e3:+.1f} ms"


def part_words(part: Continent | None) -> str:
    """The name of a continent, or that the place is unknown."""
    return "unknown places" if part is None else CONTINENT_NAMES[part]


def limit_words(found: WideAreaAnswer) -> str:
    """The limit, such as `100 ms`."""
    return format_quantity(found.limit_s, "s")


def lines(found: WideAreaAnswer) -> Iterator[tuple[str, str]]:
    """Yield the lines below the headline: a label and a text."""
    if found.looks:
        yield from look_lines(found.looks)
        return
    yield from _pair_lines(found)
    whole = [one for one in found.reached if one.continent is None]
    if whole:
        told = [f"{one.provider} {format_quantity(one.quantiles[0].value_s, 's')} (n {one.n})" for one in whole
                if one.quantiles]  # fmt: skip
        yield "LOWEST", f"round trip of half of the vantage points, at most: {', '.join(told)}"
    if found.missing:
        yield from _missing_lines(found)
    elif whole:
        yield "FAR", f"nobody is above {limit_words(found)} for any vantage point that answered"
    for name in found.names:
        yield "MAPPING", _mapping_words(found, name.name)


def _missing_lines(found: WideAreaAnswer) -> Iterator[tuple[str, str]]:
    """Where the leader is above the limit, and the first of the others."""
    leader = _leader(found)
    by_provider: dict[str, list[MissingRegion]] = {}
    for one in sorted(found.missing, key=lambda one: one.provider != leader):
        by_provider.setdefault(one.provider, []).append(one)
    for at, (provider, some) in enumerate(list(by_provider.items())[:_SHOWN]):
        yield (
            "" if at else "FAR",
            f"{provider}: {'; '.join(missing_words(one, limit_words(found)) for one in some[:_SHOWN])}",
        )
    if len(by_provider) > _SHOWN:
        more = len(by_provider) - _SHOWN
        yield "", f"{counted(more, 'other provider')} {are(more)} above it somewhere too: see the table"


def _pair_lines(found: WideAreaAnswer) -> Iterator[tuple[str, str]]:
    leader = _leader(found)
    own = sorted((one for one in found.pairs if leader in {one.a, one.b}), key=_closeness)
    label = "BY HOW MUCH" if found.decided else "SO FAR"
    for one in own[:_SHOWN]:
        turned = one.b == leader
        if one.verdict is Verdict.SAME:
            sure = "practically the same"
        elif one.verdict is Verdict.CANNOT_TELL:
            sure = f"cannot tell: {one.reason}"
            if one.needed is not None and one.needed <= 10 * one.effective:
                sure += f"; about {one.needed:,} networks of equal weight would tell, {_here(one)}"
        else:
            sure = f"told apart: alike ones differ as much in {_chance(one.p_adjusted or 0.0)} of cases"
        yield label, f"{pair_words(one, turned=turned)}; {sure}"
        label = ""
    if len(own) > _SHOWN:
        yield "", f"{counted(len(own) - _SHOWN, 'other')} further behind: see the pairs"


def _here(one: ReachPair) -> str:
    """How many clusters there are, and as how many they count if their weights differ."""
    effective = round(one.effective)
    return f"{one.clusters} are here" + (f" and count as {effective}" if effective < one.clusters else "")


def _chance(p: float) -> str:
    """A small chance in percent."""
    return "less than 0.01 %" if p < 1e-4 else f"{p * 100:.2g} %"


def _closeness(one: ReachPair) -> float:
    """How far the ratio of a pair is from 1; an unknown one is the farthest."""
    return math.inf if one.ratio is None else abs(math.log(one.ratio))


def _leader(found: WideAreaAnswer) -> str:
    """The provider that is best, or has the lowest ratios to the others so far."""
    if found.decided:
        return found.best[0]
    wins = dict.fromkeys(found.best_times.providers, 0)
    for one in found.pairs:
        if one.ratio is not None:
            wins[one.a if one.ratio < 1 else one.b] += 1
    return max(wins, key=lambda name: (name in found.best, wins[name]), default="")


def missing_words(one: MissingRegion, limit: str) -> str:
    """Where a provider is above a limit, and whether it lacks a region or its own one is slow there."""
    text = f"{part_words(one.continent)}, {one.over} of {one.n} above {limit}"
    if one.instead:
        place = f"in {one.place}, " if one.place and not one.own else f"in {one.place} " if one.place else ""
        if not one.own:
            text += f" (a region {place}like {one.instead} would help {one.helps})"
        elif one.own_measured:
            text += f" ({one.instead} {place}is in time for {one.helps}, its own {one.own} is slow or gives no reply)"
        else:
            text += f" ({one.instead} {place}is in time for {one.helps}, its own {one.own} was not measured)"
    return text


def _mapping_words(found: WideAreaAnswer, name: str) -> str:
    one = next(each for each in found.names if each.name == name)
    text = f"{one.name} ({one.provider}) has {one.addresses} address{'es' * (one.addresses != 1)}"
    if one.best is not None:
        asked = f"{counted(one.n, 'vantage point')} {are(one.n)}"
        text += f"; {one.best.value * 100:.0f} % of {asked} given a best one"
    if one.excess:
        half, most = (f"{each.value_s * 1e3:.3g} ms" for each in one.excess)
        text += f", half of them are at most {half} above it, 90 % at most {most}"
    if one.anycast:
        told = ", ".join(f"{address} is in {places} places or more" for address, places in one.anycast[:_SHOWN])
        text += f"; anycast: {told}"
    return text


def _clusters(area: WideArea) -> Iterator[str]:
    """What is not known of the networks of vantage points, and so of how far they are independent."""
    placed, places, placeless = without_network(area)
    if placed > places:
        yield (
            f"the network of {placed:,} vantage points is unknown: those within {SAME_PLACE_KM:.0f} km, or of "
            f"a country if nothing else is known, may share their way and count as one: {places:,} in all"
        )
    if placeless > 1:
        yield (
            f"network and place of {placeless:,} vantage points are unknown: each counts as one alone, which is too "
            "sure if they share their way"
        )


def cautions(found: WideAreaAnswer) -> Iterator[str]:
    """Yield what a reader must know beside the figures."""
    area = found.area
    if found.looks:
        yield from look_cautions(found.looks)
        yield from _impossible_words(found)
        return
    if area.kind == "simulated":
        yield "numbers are SIMULATED: planted values, not measured"
    if area.kind == "modelled":
        yield "times are MODELLED from distances, not measured"
    yield from _impossible_words(found)
    own = int(found.best_times.own.any(axis=0).sum())
    if own:
        yield (
            f"{counted(own, 'vantage point')} {'stands' if own == 1 else 'stand'} in a provider's own network: "
            f"{'it counts' if own == 1 else 'they count'} for the other providers only, so "
            "that providers rest on different points, and pairs on the same ones; none has the last mile of a user"
        )
    yield from _clusters(area)
    lost = sum(one.median_s is None for one in area.paths if one.phase is Phase.RTT)
    if lost:
        yield f"{counted(lost, 'path')} gave no reply"
    unknown = sum(one.continent is None for one in area.vantages)
    if unknown:
        yield f"where {counted(unknown, 'vantage point')} {are(unknown)} is unknown: --vantages FILE tells it"
    for one in found.pairs:
        if one.ratio is not None and one.difference_s is not None and (one.ratio < 1) != (one.difference_s < 0):
            yield (
                f"{one.a} and {one.b} change places between ratios and milliseconds: near vantage points weigh as much "
                "as far ones in a ratio, which decides"
            )
    yield from area.notes


def _impossible_words(found: WideAreaAnswer) -> Iterator[str]:
    if found.impossible:
        many, worst = len(found.impossible), found.impossible[0]
        measured = format_quantity(worst.measured_s, "s")
        yield (
            f"{counted(many, 'round trip')} {are(many)} shorter than light in fibre needs between the stated places, "
            f"and {are(many)} left out: {worst.vantage} to {worst.site} in {measured}, where light "
            f"needs {format_quantity(worst.light_s, 's')}, is the worst"
        )
