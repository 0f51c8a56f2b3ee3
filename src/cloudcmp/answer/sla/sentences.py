"""The answer about service levels in one sentence each, and in one for all."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.answer.sla.nines import MONTH_S
from cloudcmp.answer.sla.requirements import CORRELATED
from cloudcmp.answer.sla.timeline import moment
from cloudcmp.answer.sla.words import (
    bounds_words,
    figure_name,
    good_words,
    money_words,
    share_words,
    target_words,
    time_words,
    value_words,
    window_words,
)
from cloudcmp.model.credits import CreditCase, CreditFinding, CreditPeriod, CreditTable, PeriodCredit
from cloudcmp.model.nines import ArrangementFinding, NinesFinding
from cloudcmp.model.service_level import ClaimFinding, Clusters, Doubt, Quantity, Standing, Window, WindowFinding
from cloudcmp.model.sla import PlannedClaim, SlaAnswer
from cloudcmp.model.utility import LevelAnswer, UtilityAnswer
from cloudcmp.units import Money, counted, format_quantity


def with_sentences(found: SlaAnswer) -> SlaAnswer:
    """Return the answer with a sentence for each part, and one for all: the first part's, or the counts of claims."""
    found = replace(
        found,
        claims=tuple(replace(one, sentence=claim_sentence(one)) for one in found.claims),
        planned=tuple(replace(one, sentence=planned_sentence(one)) for one in found.planned),
        credits=tuple(replace(one, sentence=credit_sentence(one)) for one in found.credits),
        utility=found.utility and replace(found.utility, sentence=utility_sentence(found.utility)),
        levels=found.levels and replace(found.levels, sentence=level_sentence(found.levels)),
        nines=tuple(replace(one, sentence=nines_sentence(one)) for one in found.nines),
    )
    return replace(found, sentence=_headline(found))


def _headline(found: SlaAnswer) -> str:
    if len(found.claims) > 1:
        counts = Counter(one.standing for one in found.claims)
        words = [f"{counts[one]} {_PLURALS[one]}" for one in Standing if counts[one]]
        return f"Of {len(found.claims)} claims: {', '.join(words)}."
    parts = [*found.claims, *found.planned, *found.credits, found.utility, found.levels, *found.nines]
    return next(one.sentence for one in parts if one is not None)


_PLURAL_CLUSTERS = {Clusters.LAUNCH: "launches"}
_OUTAGE_S = 1800.0
_PLURALS = {Standing.MET: "met", Standing.BROKEN: "broken", Standing.CANNOT_TELL: "undecided"}


def claim_sentence(found: ClaimFinding) -> str:
    """What the samples prove of a claim, with the figure that proves it."""
    claim = found.claim
    if not found.n:
        return f"Cannot tell whether '{claim.text}' holds: there is no sample of {found.subject}."
    if found.standing is Standing.CANNOT_TELL:
        return f"Cannot tell yet whether '{claim.text}' holds for {found.subject}: {_doubt(found)}."
    word = "met" if found.standing is Standing.MET else "broken"
    windows = found.windows
    if windows:
        return f"'{claim.text}' is {word} by {found.subject}: {_deciding_window(found)}."
    return f"'{claim.text}' is {word} by {found.subject}: {_proof(found)}; n = {found.n:,} in {clusters_words(found)}."


def clusters_words(found: ClaimFinding) -> str:
    """The clusters of the samples: `31 days`, `6 launches`."""
    plural = _PLURAL_CLUSTERS.get(found.by, f"{found.by.value}s")
    return f"{found.clusters:,} {found.by.value if found.clusters == 1 else plural}"


def _proof(found: ClaimFinding) -> str:
    claim, bounds = found.claim, found.bounds
    assert bounds is not None  # what is proven has bounds
    if claim.share is None:
        low = value_words(claim, found.unit, bounds.low, upper=False)
        high = value_words(claim, found.unit, bounds.high, upper=True)
        return f"the mean is {value_words(claim, found.unit, found.value)} ({low} to {high})"
    if found.standing is Standing.MET:
        return f"at least {share_words(bounds.low, upper=False)} {good_words(claim, found.unit)} ({_seen(found)})"
    return f"at most {share_words(bounds.high, upper=True)} {good_words(claim, found.unit)} ({_seen(found)})"


def _seen(found: ClaimFinding) -> str:
    return f"{value_words(found.claim, found.unit, found.value)} seen, {target_words(found.claim.share or 0)} needed"


def _deciding_window(found: ClaimFinding) -> str:
    claim, unit = found.claim, found.unit
    some = [one for one in found.windows if one.standing is found.standing]
    worst = _worst(found, some)
    least = (found.standing is Standing.MET) == (claim.share is not None or not claim.at_most)
    limit = worst.low if least else worst.high
    what = good_words(claim, unit) if claim.share is not None else f"was the {figure_name(claim)}"
    words = f"{'at least' if least else 'at most'} {value_words(claim, unit, limit, upper=not least)} {what}"
    where = window_words(claim, worst)
    needed = "" if claim.share is None else f", {target_words(claim.share)} needed"
    seen = f"{value_words(claim, unit, worst.value)} seen{needed}; n = {worst.n:,}"
    if found.standing is Standing.BROKEN:
        many = f"; {len(some)} of {counted(len(found.windows), 'window')} broke it" if len(found.windows) > 1 else ""
        return f"{words} in {where} ({seen}){many}"
    every = f" and {'more' if least else 'less'} in {counted(len(some) - 1, 'other window')}" if len(some) > 1 else ""
    return f"{words} in {where} ({seen}){every}"


def _worst(found: ClaimFinding, some: list[WindowFinding]) -> WindowFinding:
    """The window with the worst value."""
    sign = -1.0 if found.claim.share is None and found.claim.at_most else 1.0
    return min(some, key=lambda one: sign * (one.value if one.value is not None else 0.0))


def _doubt(found: ClaimFinding) -> str:
    claim, unit = found.claim, found.unit
    open_ = [one for one in found.windows if one.standing is Standing.CANNOT_TELL]
    one = open_[0] if open_ else None
    prefix = f"in {window_words(claim, one)} " if one is not None else ""
    value, bounds, n = (found.value, found.bounds, found.n) if one is None else (one.value, one.bounds, one.n)
    seen = f"{prefix}{value_words(claim, unit, value)} seen, n = {n:,}"
    if found.doubt is Doubt.ANY_REQUEST:
        at_most = share_words(1.0 - bounds.low, upper=True) if bounds is not None else "an unknown share"
        return f"no sample missed it, but samples prove no {figure_name(claim)}; at most {at_most} miss it; n = {n:,}"
    if found.doubt is Doubt.UNSEEN and one is not None:
        ends = f"{value_words(claim, unit, one.low, upper=False)} if all of that was bad"
        good = "" if one.high is None else f", {value_words(claim, unit, one.high, upper=True)} if it was good"
        return f"nobody looked for {share_words(one.unseen)} of {window_words(claim, one)}: {ends}{good}"
    if found.doubt is Doubt.UNSEEN:
        return f"the samples cover too little of {_one(claim.window)} ({seen})"
    return f"{seen}, {bounds_words(claim, unit, bounds)} are possible; {_more(found)}"


def _one(window: Window | None) -> str:
    return f"a {window}" if window is not None and window.count == 1 else str(window)


def _more(found: ClaimFinding) -> str:
    """What would settle it."""
    requirement = found.requirement
    last = found.windows[-1] if found.windows else None
    if requirement.samples is not None and last is not None and requirement.samples > last.n:
        every = time_words((last.end - last.start) / requirement.samples)
        return f"in {_one(found.claim.window)} like it one sample at least every {every} would settle it"
    if requirement.samples is not None and requirement.samples > found.n:
        return f"about {requirement.samples:,} samples like these settle it"
    if not requirement.needed:
        return "more samples may settle it"
    if not found.misses:
        least = requirement.needed[0].samples
        plural = _PLURAL_CLUSTERS.get(found.by, f"{found.by.value}s")
        return f"no sample missed it, and {least:,} {plural} without a miss prove it{_if_short(found)}"
    return "what was seen is at the limit itself"


def _if_short(found: ClaimFinding) -> str:
    """What no outage in the whole watch proves if outages last half an hour on average."""
    if found.claim.quantity is not Quantity.AVAILABILITY or found.watched_s is None:
        if found.alone is None:
            return ""
        return f"; if samples were independent, at least {share_words(found.alone, upper=False)}"
    halves = found.watched_s / (CORRELATED * _OUTAGE_S)
    low = (1.0 - found.bounds.confidence) ** (1.0 / halves) if found.bounds is not None and halves > 0 else 0.0
    return f"; if outages last 30 min on average, at least {share_words(low, upper=False)}"


def planned_sentence(found: PlannedClaim) -> str:
    """How many samples a claim takes."""
    requirement = found.requirement
    if not requirement.needed:
        why = "how much they scatter is not known" if found.claim.share is None else "no number of samples proves it"
        return f"What '{found.claim.text}' takes cannot be told before: {why}."
    least = requirement.needed[0].samples
    every = "" if requirement.every_s is None else f", so one at least every {time_words(requirement.every_s)}"
    inside = "" if found.claim.window is None else f" in each {found.claim.window}"
    return f"'{found.claim.text}' takes {least:,} independent samples without a miss{inside}{every}."


def credit_sentence(found: CreditFinding) -> str:
    """What a table pays, for the worst of the periods."""
    title = f"For {found.target}, {found.table.title} ({found.table.text_of})"
    worst = max(found.periods, key=lambda one: (one.likely.percent, one.likely.free_hours, one.likely.down_s))
    case = worst.likely
    if not case.percent and not case.free_hours:
        return (
            f"{title} pays nothing: {time_words(case.down_s)} of downtime in {period_words(found, worst)} leave "
            f"{uptime_words(case.uptime_percent, found.table, 6)}, and {found.table.commitment:f} % are promised."
        )
    if case.money is not None and not case.money.amount:
        return (
            f"{title} pays nothing on a bill of {money_words(found.bill or case.money)}: {case.percent:g} % of it for "
            f"{period_words(found, worst)} is not above the least that is paid."
        )
    free = f", and does not charge {counted(case.free_hours, 'hour')}" if case.free_hours else ""
    pays = f"pays {case.percent:g} % of the bill{free}" if case.percent else free.removeprefix(", and ")
    money = "" if case.money is None else f", {money_words(case.money)}"
    until = "" if worst.claim_until is None else f"; claim it until {worst.claim_until}"
    words = (
        f"{title} {pays}{money} for {period_words(found, worst)}: {time_words(case.down_s)} of downtime leave "
        f"{uptime_words(case.uptime_percent, found.table, 6)}{until}"
    )
    if case_words(worst.least) == case_words(case):
        return f"{words}."
    return f"{words}. That is the likely reading: if outages were as short as the samples allow, {_least(worst.least)}."


def _least(case: CreditCase) -> str:
    return f"it pays {case_words(case)}" if case.percent or case.free_hours else "it pays nothing"


def uptime_words(percent: float, table: CreditTable, digits: int) -> str:
    """An uptime in percent, with so many digits, or more if it would be taken for one of another tier."""
    edges = [float(table.commitment), *(float(one.lower) for one in table.tiers)]
    texts = (f"{percent:.{more}g}" for more in range(digits, 17))
    return next(text for text in texts if all((float(text) >= one) is (percent >= one) for one in edges)) + " %"


def period_words(found: CreditFinding, one: PeriodCredit) -> str:
    """A period of credits: `2026-05`, or the year before a day."""
    if found.table.period is CreditPeriod.YEAR:
        return f"the 365 days before {moment(one.end)[:10]}"
    return month_words(one.start)


def month_words(start: float) -> str:
    """The month of a moment (Unix time): `2026-05`."""
    return moment(start)[:7]


def case_words(case: CreditCase) -> str:
    """The credit of a reading: `10 %`, `2 hours`, `10 % + 2 hours`."""
    parts = [f"{case.percent:g} %"] if case.percent or not case.free_hours else []
    return " + ".join([*parts, *([counted(case.free_hours, "hour")] if case.free_hours else [])])


def utility_sentence(found: UtilityAnswer) -> str:
    """The choice, its utility, and how sure it is."""
    within = "" if found.budget is None else f" within {money_words(found.budget)}/h"
    if found.choice is None:
        return f"No offering that was measured meets every need{within}."
    choice = found.choice
    sure = (
        "how sure is unknown" if choice.best is None else f"the best in {choice.best * 100:.0f} % of plausible values"
    )
    interval = "" if choice.bounds is None else f" ({choice.bounds.low:.3f} to {choice.bounds.high:.3f})"
    return f"{choice.key} has most utility{within}: {choice.utility:.3f}{interval}, {sure}."


def level_sentence(found: LevelAnswer) -> str:
    """The service level to ask for."""
    return (
        f"Ask for a response time of {format_quantity(found.response, 's')}, a throughput of {found.throughput:.4g} "
        f"and an availability of {share_words(found.availability)}: a utility of {found.utility:.3f} for "
        f"{found.cost:.4g} of {found.problem.budget:g}."
    )


def nines_sentence(found: NinesFinding) -> str:
    """Which arrangement costs least with the expected loss, and what that rests on."""
    single, *others = found.arrangements
    pays = [one for one in others if one.pays_below is not None]
    lost = single.joints[0]
    between = ""
    if found.bounds is not None:
        least, most = ((1.0 - end) * MONTH_S for end in (found.bounds.high, found.bounds.low))
        between = f" ({time_words(least)} to {time_words(most)})"
    base = (
        f"One zone is down {time_words(lost.down_s)} a month{between}, a loss of "
        f"{money_words(Money(lost.loss, found.loss.currency))}"
    )
    if not pays:
        return f"{base}; no second copy is worth its cost, even if outages are independent."
    return f"{base}; {'; '.join(map(_pays, pays))}{_as_watched(found, pays)}."


def _as_watched(found: NinesFinding, pays: Sequence[ArrangementFinding]) -> str:
    """What the correlation of two watches says of the copies that could pay."""
    if found.measured is None:
        return ""
    do = [one.arrangement.value for one in pays if one.pays_below is not None and found.measured < one.pays_below]
    return f"; those watched are correlated by {found.measured:.2f}, with which {' and '.join(do) or 'none'} would pay"


def _pays(one: ArrangementFinding) -> str:
    assert one.pays_below is not None  # only those that pay are asked
    if one.pays_below >= 1.0:
        return f"{one.arrangement.value} cost no more"
    return f"{one.arrangement.value} pay if the outages of both are correlated by less than {one.pays_below:.2f}"
