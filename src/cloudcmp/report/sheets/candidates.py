"""The candidates with their prices, and the design of the study."""

from datetime import UTC, date, datetime

from cloudcmp.cost import describe_terms
from cloudcmp.model.offering import Match, Price
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.safety import Spend
from cloudcmp.model.study import Session
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.money import without_price
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.advertised import kind_words, promise_words
from cloudcmp.report.sheets.sheet import Field, Sheet, captioned, columns, row
from cloudcmp.report.words import metric_words, stands_in
from cloudcmp.units import format_money, format_quantity, format_seconds

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def candidates(study: StudyView) -> Sheet:
    """The candidates with their list price, its source and its age."""
    day = studied_on(study)
    titles = ("candidate", "offering", "class", "vCPUs", "memory", "price an hour", "price from", "what ran")
    rows = [
        row(Field(one.id, _details(one)), f"{one.offering.provider} / {one.offering.region} / {one.offering.name}",
            one.offering.category or UNKNOWN, _amount(one.offering.vcpus), memory(one.offering.memory_gib),
            price_field(one.offering.price, one.count), price_source(one.offering.price, day), _ran(one))
        for one in study.candidates
    ]  # fmt: skip
    note = "" if any(one.offering.price for one in study.candidates) else no_price(study)
    return Sheet(captioned(study.origin, "Candidates"), columns(*titles, numeric=("vCPUs", "memory", "price an hour")),
                 tuple(rows), note)  # fmt: skip


def no_price(study: StudyView) -> str:
    """Return a sentence on missing cost figures; empty if every price is known."""
    if study.candidates and all(one.offering.price is None for one in study.candidates):
        return "No price is known for any candidate: no cost figures."
    missing = without_price(study)
    return f"{missing}; their cost is unknown, not zero." if missing else ""


def studied_on(study: StudyView) -> date | None:
    """The UTC day on which the last trial ended; None if none did."""
    ended = [one.ended_at for one in study.view.attempts if not one.interrupted]
    return datetime.fromtimestamp(max(ended), UTC).date() if ended else None


def _amount(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:g}"


def memory(gib: float | None) -> str:
    """Format an amount of memory."""
    return UNKNOWN if gib is None else f"{gib:.4g} GiB"


def _details(one: Candidate) -> str:
    parts = [f"{one.count} of it" if one.count > 1 else "", f"with {one.volume}" if one.volume else ""]
    if one.asked:
        parts.append(f"requested {_size(one.asked)}" + (f"; differs: {', '.join(one.differs)}" if one.differs else ""))
    return "; ".join(filter(None, parts))


def _size(match: Match) -> str:
    parts = (f"{match.vcpus:g} vCPUs" if match.vcpus else "", f"{match.memory_gib:g} GiB" if match.memory_gib else "",
             match.category or "")  # fmt: skip
    return ", ".join(filter(None, parts)) or "any"


def price_field(price: Price | None, count: int = 1) -> Field:
    """Format an hourly price, with the number of instances if there are several."""
    if price is None:
        return Field("unknown", kind="unsure")
    return Field(f"{price.amount_per_hour.normalize():f} {price.currency}", f"× {count}" if count > 1 else "")


def price_source(price: Price | None, day: date | None) -> str:
    """The source and date of a price, and its age on the day of the study."""
    if price is None:
        return UNKNOWN
    source = ", ".join(filter(None, (price.source, f"SKU {price.sku}" if price.sku else "", price.how)))
    if price.as_of is None:
        return f"{source}, undated"
    dated = f"{source}, {price.as_of.isoformat()}"
    if day is None:
        return dated
    age = (day - price.as_of).days
    return f"{dated} ({age} days old when measured)" if age >= 0 else f"{dated} ({-age} days after measuring)"


def _ran(one: Candidate) -> Field:
    if one.simulated:
        return Field(stands_in(one) or "simulated: planted truth", kind="label")
    return Field(stands_in(one) or one_line(one.runner))


def facts(study: StudyView) -> tuple[tuple[str, str], ...]:
    """Return the design of the study as pairs of names and texts."""
    plan = study.view.plan
    decide = "; ".join(_decider(study, one.cell) for one in plan.decide) or "every measured cell"
    pairs = [
        ("design", _design(plan)),
        ("decided by", decide),
        ("order of aggregation", ", ".join(plan.aggregation)),
        ("sessions", "; ".join(_session(one) for one in plan.sessions)),
        ("budget", format_money(plan.budget) if plan.budget else ""),
        ("spent", spent_line(study.view.spend)),
        ("your terms", describe_terms(plan)),
        ("worst case", format_money(plan.quote.worst_cost) if plan.quote.worst_cost else ""),
        ("planned time", format_seconds(plan.quote.expected_s) if plan.quote.expected_s else ""),
        ("seed", str(plan.seed)),
    ]
    return tuple((name, one_line(text, 600)) for name, text in pairs if text)


def spent_line(spend: Spend | None) -> str:
    """Describe the money spent by our own count, which is not the provider's bill; empty if nothing is billed."""
    if spend is None:
        return ""
    if spend.accrued is None:
        return f"unknown: {spend.note}"
    open_still = spend.committed is not None and spend.committed != spend.accrued
    more = (
        f"; up to {format_money(spend.committed)} with what is still running" if open_still and spend.committed else ""
    )
    return f"{format_money(spend.accrued)} by our own count{more}; the provider's bill is what counts"


def _decider(study: StudyView, text: str) -> str:
    return study.by_cell[text].name if text in study.by_cell else f"all of {one_line(metric_words(text), 120)}"


def _design(plan: Plan) -> str:
    if plan.imported:
        return "an imported table"
    start = datetime.fromtimestamp(plan.start_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    short = "; short form: smallest sizes, one run" if plan.short else ""
    return (f"{plan.rounds} rounds with a fresh launch of each candidate, {_runs(plan)} on each, in random order, "
            f"{len(plan.trials)} trials from {start}{short}")  # fmt: skip


def _runs(plan: Plan) -> str:
    return "1 run" if plan.runs == 1 else f"{plan.runs} runs"


def _session(one: Session) -> str:
    days = ", ".join(_DAYS[day] for day in one.days)
    hours = [f"{at // 3600:02d}:{at % 3600 // 60:02d}" for at in (one.from_s, one.until_s)]
    return f"{one.name}: {days} {hours[0]} to {hours[1]} {one.timezone}"


def advertised(one: Candidate) -> dict[str, str]:
    """Return the advertised facts of an offering, under the names of the facts that machines report."""
    promised = {"vcpus": _amount(one.offering.vcpus), "memory": memory(one.offering.memory_gib)}
    rates = {kind_words(rate): promise_words(rate) for rate in one.offering.promises}
    return promised | rates | {key: _attribute(key, value) for key, value in one.offering.attributes}


def _attribute(key: str, value: str) -> str:
    if key.endswith("_bytes_per_s") and value.replace(".", "", 1).isdigit():
        return format_quantity(float(value), "B/s")
    return value
