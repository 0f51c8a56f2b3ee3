"""What an answer about regions rests on, in words: modelled times, what cannot be told apart, proofs, examples."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.model.placement import (
    Certainty,
    CloseSet,
    Delivery,
    Exchange,
    Goal,
    GoalKind,
    RegionsAnswer,
    RegionSet,
    TimeModel,
)
from cloudcmp.units import counted, format_quantity

SURE = 0.95
"""An answer that no exchange improves by more than 3 % in this share of draws is told apart."""
_OPEN = 0.05
_NAMED = 3
_TIE = 0.05


def with_sentences(found: RegionsAnswer, delivery: Delivery | None = None) -> RegionsAnswer:
    """The answer with its cautions in words."""
    return replace(found, cautions=tuple(_cautions(found, delivery)))


def goal_words(goal: Goal) -> str:
    """What is made least: `mean round trip of people`, `round trip of 95 % of people`, ..."""
    if goal.kind is GoalKind.MEAN:
        return "mean round trip of people"
    if goal.kind is GoalKind.BEYOND:
        return f"people beyond {format_quantity(goal.at, 's')}"
    return (
        "round trip of the person farthest away" if goal.at == 1 else f"round trip within which {goal.at * 100:g} % are"
    )


def value_words(goal: Goal, value: float) -> str:
    """A value of the goal: `61.2 ms`, `4.5 %`."""
    return share_words(value) if goal.kind is GoalKind.BEYOND else format_quantity(value, "s")


def share_words(share: float) -> str:
    """A share of people as a percentage with at most one decimal; a small one is not zero."""
    percent = share * 100
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.1f} %" if percent < 99.95 or share >= 1 else "> 99.9 %"


def proof_words(goal: Goal, one: RegionSet) -> str:
    """Whether a set is proven to be the best, or how far it can be from it."""
    if one.proven:
        return "proven: no other set is better by these times"
    if goal.kind is GoalKind.BEYOND:
        return f"not proven: no set leaves fewer than {share_words(one.bound)} beyond"
    gap = (one.value / one.bound - 1) * 100 if one.bound > 0 else None
    least = f"not proven: no set is below {format_quantity(one.bound, 's')}"
    return least if gap is None else f"{least}, {gap:.1f} % less"


def certainty_words(found: RegionsAnswer) -> str:
    """How sure the best set is: how often it holds over draws of modelled times, or what comes close to it."""
    if found.certainty is not None:
        return _draws_words(found.certainty, found.goal)
    if found.model.measured < found.model.groups:
        start = "not known: the error of modelled times is unknown"
    else:
        start = "times are taken as exact, as they were measured: how much they vary is not in it"
    if found.close:
        return f"{start}; cannot tell it from {_count(len(found.close), 'set')} within 3 %"
    return f"{start}; no set with one other region comes within 3 %"


def _draws_words(one: Certainty, goal: Goal) -> str:
    low, high = (value_words(goal, end) for end in (one.value.low, one.value.high))
    return (
        f"in {one.near * 100:.0f} % of {one.draws} draws of the modelled times no exchange of one region gains more "
        f"than 3 %, in {one.unbeaten * 100:.0f} % none gains anything; 95 % of draws give {low} to {high}"
    )


def _cautions(found: RegionsAnswer, delivery: Delivery | None) -> Iterator[str]:
    yield from _undecided(found)
    yield from _close(found)
    yield from _modelled(found.model)
    if found.kind == "simulated":
        yield "SIMULATED: the times between places are planted, not measured"
    if delivery is not None and delivery.example:
        dated = f" of {delivery.as_of}" if delivery.as_of else ""
        yield f"the numbers of {delivery.name} are an example{dated}: hits, distance and prices are your own to measure"
    if found.best.money is None and found.currency:
        yield "what this set costs is unknown: the price of one of its regions is missing"
    short = [one.providers for one in found.by_provider if len(one.regions) < len(found.best.regions)]
    if short:
        yield f"fewer regions than asked for are measured of {', '.join(short)}"


def undecided(found: RegionsAnswer) -> bool:
    """True if modelled times are so far off that another region may be the best one."""
    return found.certainty is not None and found.certainty.near < SURE and bool(found.certainty.rivals)


def _undecided(found: RegionsAnswer) -> Iterator[str]:
    one = found.certainty
    if one is None:
        return
    if undecided(found):
        yield f"cannot tell yet which region is best: {'; '.join(map(exchange_words, one.rivals))}"
        places = dict.fromkeys(name for rival in one.rivals for name, share in rival.measure if share >= _OPEN)
        if places:
            yield f"measurements from {', '.join(places)} would tell most of it"
    ahead = [f"{name} ({share * 100:.0f} %)" for name, share in one.ahead if share > _OPEN]
    if ahead:
        yield f"cannot tell yet which provider is best: ahead in some draws are {', '.join(ahead)}"


def _close(found: RegionsAnswer) -> Iterator[str]:
    """The sets that are about as good, unless the doubt about modelled times has named some already."""
    if not found.close or (found.certainty is not None and found.certainty.near < SURE):
        return
    named = "; ".join(close_words(found, one) for one in found.close[:_NAMED])
    more = f"; and {len(found.close) - _NAMED} more" if len(found.close) > _NAMED else ""
    yield f"practically the same by these times, within 3 %: {named}{more}"


def close_words(found: RegionsAnswer, one: CloseSet) -> str:
    """A set that is about as good: `aws/eu-west-1, aws/us-east-1 26.1 ms (as good)`."""
    best = found.best.value
    gap = (one.value / best - 1) * 100 if best > 0 else 0.0
    how = "as good" if abs(gap) < _TIE else f"{gap:+.1f} %"
    return f"{', '.join(map(str, one.sites))} {value_words(found.goal, one.value)} ({how})"


def _count(many: int, word: str) -> str:
    return f"{many} {word}{'s' * (many != 1)}"


def exchange_words(one: Exchange) -> str:
    """An exchange and how often it helps: `aws/eu-west-1 for aws/eu-west-2 is better in 47 % of draws`."""
    return f"{one.into} for {one.out} is better in {one.better * 100:.0f} % of draws"


def _modelled(model: TimeModel) -> Iterator[str]:
    if model.measured < model.groups:
        how = f"{model.groups - model.measured:,} of {counted(model.groups, 'place')} have modelled round trips"
        if model.distance_km is not None:
            how += f": those of the nearest vantage point (median distance {model.distance_km:,.0f} km)"
        if model.s_per_km is not None:
            how += f", corrected by {model.s_per_km * 1e6:.1f} ms for 1000 km"
        yield how
        off = model.held_out
        if off is None:
            yield "how far these are off is unknown: too few vantage points can be held out"
        else:
            yield (
                f"held-out vantage points ({off.vantages}) are {off.median_error * 100:.0f} % off in the median, nine "
                f"tenths between {off.low:.2f} and {off.high:.2f} times the model"
            )
    if model.filled:
        more = f" and {len(model.filled) - _NAMED} more" if len(model.filled) > _NAMED else ""
        yield f"not measured, and modelled: {', '.join(model.filled[:_NAMED])}{more}"
    if not model.last_mile_s:
        yield "the last mile of people is not in it: add it with --last-mile"
