"""What a platform bills for requests to a handler: published rules of rounding, as data with their date and source."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction

from cloudcmp.errors import UserMistake
from cloudcmp.units import Money, parse_bytes, parse_money

_NS = 10**9
_MIB = 1 << 20
_HOUR_S = 3600


class Unit(StrEnum):
    """What a price is for: GB of 2^30 B for a second, a processor for a second, a request, an instance for an hour."""

    GB_S = "gb-s"
    VCPU_S = "vcpu-s"
    REQUEST = "request"
    HOUR = "hour"


class Metered(StrEnum):
    """Whose time is billed: each request's, an instance's while it has requests, or an instance's as a whole."""

    REQUEST = "request"
    BUSY = "busy"
    INSTANCE = "instance"


@dataclass(frozen=True, slots=True)
class BillingRule:
    """How a platform turns the time of a request into money.

    Time is rounded up to a whole number of `time_step_ns`, and is at least `least_ns`. Memory is rounded up to a whole
    number of `memory_step_bytes` between `least_memory_bytes` and `most_memory_bytes`, and billed by GB of 2^30 B, as
    all platforms here count it. `dated` is the month in which rule and prices were typed.
    """

    name: str
    title: str
    time_step_ns: int
    source: str
    dated: str
    least_ns: int = 0
    memory_step_bytes: int = 1
    least_memory_bytes: int = 0
    most_memory_bytes: int | None = None
    prices: Mapping["Unit", Decimal] = field(default_factory=dict)
    currency: str = "USD"
    metered: Metered = Metered.REQUEST


@dataclass(frozen=True, slots=True)
class PlatformBill:
    """A rule with what the user knows of a platform: the memory and the processors of an instance; None if unknown."""

    rule: BillingRule
    memory_bytes: int | None = None
    cpus: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Billed:
    """What one request counts as: time, time x memory (GB of 2^30 B) and time x processors."""

    time_s: Fraction
    gb_s: Fraction
    vcpu_s: Fraction


RULES: Mapping[str, BillingRule] = {
    rule.name: rule
    for rule in (
        BillingRule(
            "lambda", "AWS Lambda, x86, first tier of us-east-1", _NS // 1000, "aws.amazon.com/lambda/pricing",
            "2026-11", memory_step_bytes=_MIB, least_memory_bytes=128 * _MIB, most_memory_bytes=10240 * _MIB,
            prices={Unit.GB_S: Decimal("0.0000166667"), Unit.REQUEST: Decimal("0.0000002")},
        ),
        BillingRule(
            "cloud-run", "Google Cloud Run, request-based billing, tier 1", _NS // 10, "cloud.google.com/run/pricing",
            "2026-11",
            prices={Unit.GB_S: Decimal("0.0000025"), Unit.VCPU_S: Decimal("0.000024"),
                    Unit.REQUEST: Decimal("0.0000004")}, metered=Metered.BUSY,
        ),
        BillingRule(
            "azure-functions", "Azure Functions, consumption plan", _NS // 1000,
            "azure.microsoft.com/pricing/details/functions", "2026-11", least_ns=_NS // 10,
            memory_step_bytes=128 * _MIB, least_memory_bytes=128 * _MIB, most_memory_bytes=1536 * _MIB,
            prices={Unit.GB_S: Decimal("0.000016"), Unit.REQUEST: Decimal("0.0000002")},
        ),
        BillingRule(
            "app-engine", "Google App Engine, standard environment, F1 that is never idle", 1,
            "cloud.google.com/appengine/pricing", "2026-11", prices={Unit.HOUR: Decimal("0.05")},
            metered=Metered.INSTANCE,
        ),
    )
}  # fmt: skip
"""Published rules and list prices in USD, as the pages named had them when they were last read (App Engine: R).

Without free tiers, discounts, network traffic and taxes; `--bill` replaces any price.
"""


def rounded_ns(rule: BillingRule, time_s: float) -> int:
    """A time as it is billed, ns; whole nanoseconds first, so that 0.1 s is one step of 0.1 s."""
    time_ns = round(time_s * _NS)
    return max(rule.least_ns, -(-time_ns // rule.time_step_ns) * rule.time_step_ns)


def rounded_memory(rule: BillingRule, memory_bytes: int) -> int:
    """A memory size as it is billed, bytes."""
    stepped = -(-memory_bytes // rule.memory_step_bytes) * rule.memory_step_bytes
    least = max(rule.least_memory_bytes, stepped)
    return least if rule.most_memory_bytes is None else min(least, rule.most_memory_bytes)


def billed(bill: PlatformBill, time_s: float) -> Billed:
    """What one request counts as that takes `time_s` seconds of an instance by itself."""
    seconds = Fraction(rounded_ns(bill.rule, time_s), _NS)
    memory = rounded_memory(bill.rule, bill.memory_bytes) if bill.memory_bytes is not None else 0
    return Billed(seconds, seconds * Fraction(memory, 1 << 30), seconds * Fraction(bill.cpus or 0))


def cost_of(bill: PlatformBill, time_s: float) -> Decimal | None:
    """The money for one request by itself, in the rule's currency; None if a number that the rule needs is unknown."""
    if lack_of(bill):
        return None
    rule, one = bill.rule, billed(bill, time_s)
    amounts = {Unit.GB_S: one.gb_s, Unit.VCPU_S: one.vcpu_s, Unit.REQUEST: Fraction(1),
               Unit.HOUR: one.time_s / _HOUR_S}  # fmt: skip
    total = sum((Fraction(price) * amounts[unit] for unit, price in rule.prices.items()), Fraction(0))
    return Decimal(total.numerator) / Decimal(total.denominator)


Stay = tuple[float, float]
"""When a request came to an instance and when it was answered, s, by the clock of the instance."""


def cost_of_load(bill: PlatformBill, instances: Iterable[Sequence[Stay]]) -> Decimal | None:
    """The money for a load of requests on some instances; None if a number that the rule needs is unknown.

    What instances cost before their first request and after their last one is left out.
    """
    if lack_of(bill):
        return None
    rule, total = bill.rule, Decimal(0)
    fee = rule.prices.get(Unit.REQUEST, Decimal(0))
    for stays in instances:
        periods = busy_periods(stays) if rule.metered is not Metered.REQUEST else list(stays)
        if rule.metered is Metered.INSTANCE and periods:
            periods = [(periods[0][0], periods[-1][1])]
        costs = [cost_of(bill, end - begin) for begin, end in periods]
        # `cost_of` counts a period as one request.
        total += sum((one for one in costs if one is not None), Decimal(0)) + fee * (len(stays) - len(periods))
    return total


def busy_periods(stays: Iterable[Stay]) -> list[Stay]:
    """The periods in which an instance had at least one request, in order."""
    periods: list[Stay] = []
    for begin, end in sorted(stays):
        if periods and begin <= periods[-1][1]:
            periods[-1] = (periods[-1][0], max(end, periods[-1][1]))
        else:
            periods.append((begin, end))
    return periods


def lack_of(bill: PlatformBill) -> str:
    """The number that the rule needs and nobody gave; empty if there is none."""
    if Unit.GB_S in bill.rule.prices and bill.memory_bytes is None:
        return "memory"
    return "cpus" if Unit.VCPU_S in bill.rule.prices and bill.cpus is None else ""


def parse_bill(text: str) -> PlatformBill:
    """Read a rule with what is known: `cloud-run,memory=512MiB,cpus=1,vcpu-s=0.00002 USD`.

    Raises UserMistake for an unknown rule or key, a value of no such kind, and prices in several currencies.
    """
    name, *pairs = [part.strip() for part in text.split(",")]
    rule = RULES.get(name)
    if rule is None:
        raise UserMistake.at("--bill", f"there is no rule {name!r}", f"choose one of {', '.join(RULES)}")
    bill = PlatformBill(rule)
    prices: dict[Unit, Money] = {}
    for pair in pairs:
        key, _, value = (part.strip() for part in pair.partition("="))
        try:
            if key == "memory":
                bill = replace(bill, memory_bytes=_memory(value))
            elif key == "cpus":
                bill = replace(bill, cpus=_cpus(value))
            elif key in set(Unit):
                prices[Unit(key)] = parse_money(value)
            else:
                known = ", ".join(["memory", "cpus", *Unit])
                raise UserMistake.at("--bill", f"{name} has no {key!r}", f"choose of {known}")
        except ValueError as error:
            what, _, next_ = str(error).partition("; ")
            raise UserMistake.at("--bill", f"{pair}: {what}", next_ or "write e.g. memory=512MiB, cpus=1") from None
    return replace(bill, rule=_repriced(rule, prices))


def _memory(text: str) -> int:
    size = parse_bytes(text)
    if not size:
        raise ValueError("it is not more than zero")
    return size


def _cpus(text: str) -> Decimal:
    try:
        count = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no number; write e.g. cpus=1") from None
    if not (count.is_finite() and count > 0):
        raise ValueError("it is not more than zero")
    return count


def _repriced(rule: BillingRule, prices: Mapping[Unit, Money]) -> BillingRule:
    if not prices:
        return rule
    currencies = {one.currency for one in prices.values()}
    kept = [unit for unit in rule.prices if unit not in prices]
    if len(currencies) > 1 or (kept and currencies != {rule.currency}):
        of = f"give {', '.join(kept)} as well" if kept else "give all in one"
        raise UserMistake.at("--bill", "its prices are in several currencies", of)
    amounts = dict(rule.prices) | {unit: one.amount for unit, one in prices.items()}
    return replace(rule, prices=amounts, currency=currencies.pop(), title=f"{rule.title}, your prices")
