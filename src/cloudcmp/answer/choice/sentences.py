"""A recommendation in words: the reason in two sentences, how sure it is, and what would change it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from cloudcmp.answer.choice.known_spread import spread_words
from cloudcmp.answer.effects import chance_words
from cloudcmp.model.market import COST
from cloudcmp.model.recommendation import Addition, Distance, Margin, NoChoice, Pick, Recommendation
from cloudcmp.units import format_quantity

OLD_DAYS = 365
_NOTHING = 2


def with_sentences(found: Recommendation, today: date, labels: Mapping[str, str]) -> Recommendation:
    """Return the recommendation with its words: `reason`, `certainty`, `steadiness`, `age`, `changes`, `cautions`.

    `labels` are the names of columns for people; others keep their own.
    """
    found = _labelled(found, labels)
    return replace(
        found,
        used=tuple(replace(one, label=labels.get(one.name, one.name)) for one in found.used),
        reason=_reason(found),
        certainty=_certainty(found),
        steadiness=tuple(spread_words(one, labels) for one in found.spreads),
        age=_age(found.choice, today),
        changes=tuple(_change(one, labels) for one in found.margins),
        cautions=tuple(_cautions(found, today)),
    )


def _labelled(found: Recommendation, labels: Mapping[str, str]) -> Recommendation:
    """The recommendation with readable names in the texts of its needs."""

    def named(text: str) -> str:
        for name, label in labels.items():
            text = text.replace(name, label)
        return text

    return replace(
        found,
        needs=tuple(map(named, found.needs)),
        counts=tuple(replace(one, need=named(one.need)) for one in found.counts),
        doubtful=tuple(replace(one, need=named(one.need)) for one in found.doubtful),
        misses=tuple(replace(one, need=named(one.need)) for one in found.misses),
        margins=tuple(replace(one, because=named(one.because)) for one in found.margins),
    )


def number_words(value: float | None, unit: str, currency: str = "") -> str:
    """A value of a column for people; a price of an hour names its period if there is a currency."""
    if value is None:
        return "unknown"
    if unit == "1/h":
        return f"{value:.3g} {currency}/h" if currency else f"{value:.3g}"
    if unit in {"", "1"}:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return format_quantity(value, unit)


def how_many(count: int, noun: str) -> str:
    """`1 offering`, `2,832 offerings`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def objective_words(found: Recommendation) -> str:
    """`least cost`, `most speed`."""
    return f"{'most' if found.most else 'least'} {found.objective}"


def _reason(found: Recommendation) -> tuple[str, ...]:
    choice = found.choice
    if choice is None:
        return (_NONE[found.no_choice] if found.no_choice else "",)
    count = found.meeting - found.single
    with_launches = " with several launches" if found.single else ""
    meeting = f"of {how_many(count, 'offering')}{with_launches}{' that meet every need' if found.needs else ''}"
    first = f"It has the {objective_words(found)} {meeting}."
    if found.meeting <= 1:
        whole = "that meets every need" if found.needs else f"of {found.offered:,} whose {found.objective} is known"
        first = f"It is the only offering {whole}." if found.needs or found.offered > 1 else "It is the only offering."
    return tuple(filter(None, (first, _second(found))))


_NONE = {
    NoChoice.NONE_MEETS: "No offering meets every need.",
    NoChoice.NONE_KNOWN: "No offering has all the facts and measurements that the question names.",
    NoChoice.NOT_SURE: "Some offerings may meet every need, but none surely enough: more launches would tell.",
    NoChoice.BURSTABLE_ONLY: "Only burstable or shared offerings meet every need: full speed lasts as long as their "
    "credits, or as the neighbours let it. --allow-burstable accepts them.",
}


def _second(found: Recommendation) -> str:
    if found.distance is None or len(found.picks) < 2:
        return "No other offering meets every need surely enough." if found.meeting > 1 else ""
    other = found.picks[1]
    first = f"The runner-up, {other.key}, is {_behind(found.distance)}"
    if found.other_family is None or found.other_distance is None:
        return f"{first}."
    return f"{first}; the best of another family, {found.other_family.key}, {_behind(found.other_distance)}."


def _behind(distance: Distance) -> str:
    percent = (distance.ratio - 1) * 100
    words = "as good" if percent < 0.05 else f"{percent:.1f} % behind"
    if distance.bounds is None or distance.bounds.high - distance.bounds.low < 1e-9:
        return words
    low, high = ((one - 1) * 100 for one in (distance.bounds.low, distance.bounds.high))
    return f"{words} (95 % interval {low:.1f} to {high:.1f} %)"


def _certainty(found: Recommendation) -> str:
    choice = found.choice
    if choice is None:
        return ""
    if found.several is not None and found.several.of:
        return _ADDED[found.several.addition]
    if choice.best is None:
        return (
            "unknown: each measured value is a single one, and how much such values scatter is not known; "
            "--spread '5 %' assumes it"
        )
    among = f"undecided against {how_many(found.single, 'offering')} with a single launch; of the others: "
    parts = [f"{among if found.single else ''}{chance_words(choice.best)} that it is the best"]
    if choice.near_best is not None and choice.best < 0.95:
        parts.append(f"{chance_words(choice.near_best)} that it is within 3 % of the best")
    if found.needs and choice.meets is not None and any(one.is_measured for one in found.used):
        parts.append(f"{chance_words(choice.meets)} that it meets every need")
    basis = f", if single values scatter by {found.spread * 100:g} %" if found.spread is not None else ""
    return f"{'; '.join(parts)}{basis}"


_ADDED = {
    Addition.ASSUMED: "unknown: n machines are taken to do n times the work of one, and nothing was measured "
    "with several",
    Addition.MEASURED: "unknown: the work of several machines follows from measured groups by Amdahl's law, without a "
    "known error",
}


def _change(one: Margin, labels: Mapping[str, str]) -> str:
    percent = (one.ratio - 1) * 100
    name = "price" if one.name == COST else labels.get(one.name, one.name)
    if abs(percent) < 0.05:
        return f"the slightest change of its {name}: {one.because}"
    word = "higher" if percent > 0 else "lower"
    return f"its {name} {abs(percent):.1f} % {word}: {one.because}"


def _cautions(found: Recommendation, today: date) -> list[str]:
    cautions = []
    if found.simulated:
        cautions.append("numbers are SIMULATED: planted values, not measured")
    if found.several is not None and found.several.of and found.several.addition is Addition.ASSUMED:
        cautions.append("totals suppose that the work divides: nothing was measured with several machines")
    if found.choice is not None:
        cautions += _of_choice(found.choice, today, simulated=found.simulated)
        nothing = [used.label for used, value in zip(found.used, found.choice.values, strict=True)
                   if used.is_measured and value == 0]  # fmt: skip
        cautions += [f"{one} was 0 in every launch: how rare it is, is not known" for one in nothing[:_NOTHING]]
        cautions += found.marks
    if found.untold is not None:
        cautions.append(f"{found.untold.key} would be chosen, but has a single launch, which tells no chance beside "
                        "those with several: measure it again")  # fmt: skip
    if found.flagged is not None:
        measured = any(one.is_measured for one in found.used)
        why = "its speed was measured while credits lasted" if measured else "full speed lasts only while credits do"
        cautions.append(f"{found.flagged.key} would be chosen, but is burstable or shared: {why}; --allow-burstable "
                        "accepts it")  # fmt: skip
    for used in found.used:
        if used.against:
            cautions.append(f"of {used.label} the objective asks for what is known to be worse")
    for one in found.counts[len(found.needs) :]:
        if found.choice is not None and one.miss:
            cautions.append(
                f"{one.need} is zero or less for {how_many(one.miss, 'offering')}, which cannot be ranked by it"
            )
    for miss in found.doubtful:
        doubt = "too close to call" if miss.chance is None else f"the chance is {chance_words(miss.chance)}"
        cautions.append(f"{miss.pick.key} would be better if it met {miss.need}: {doubt}; more launches would tell")
    return cautions


def _of_choice(choice: Pick, today: date, *, simulated: bool) -> list[str]:
    cautions = []
    if choice.burstable:
        cautions.append("it is burstable or shared: full speed lasts as long as credits, or as the neighbours let it")
    if choice.burstable is None and not simulated:
        cautions.append("whether it is burstable or shared is unknown")
    if choice.elsewhere:
        cautions.append("it was measured in another region, or in one that the source does not name")
    if choice.day is not None and (today - choice.day).days > OLD_DAYS:
        cautions.append("its oldest measurement is more than a year old: measure it again before a long commitment")
    return cautions


def _age(choice: Pick | None, today: date) -> str:
    if choice is None:
        return ""
    parts = []
    if choice.day is not None:
        parts.append(f"its oldest measurement is of {choice.day}, {(today - choice.day).days} days ago")
    if choice.price_day is not None:
        parts.append(f"its price is of {choice.price_day}, {(today - choice.price_day).days} days ago")
    return "; ".join(parts)
