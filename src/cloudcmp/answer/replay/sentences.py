"""The answer of a replay in words: what to run, what it saves, and what to keep in mind."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.model.replay import Lack, Load, MachineType, Policy, ScaleAnswer
from cloudcmp.units import format_seconds

_WEEK_S = 7 * 86400.0
_FEW = 20
_NAMED = 3
_LACKS = {
    Lack.CAPACITY: "how many requests it serves is unknown",
    Lack.SINGLE: "only several machines at once were measured",
}


def with_sentences(found: ScaleAnswer, load: Load) -> ScaleAnswer:
    """Return the answer with its words: `reason` and `cautions`."""
    return replace(found, reason=tuple(_reason(found)), cautions=tuple(_cautions(found, load)))


def policy_words(policy: Policy, idle: int, most: int, utilisation: float) -> str:
    """What a policy does, with its idle machines: `reactive at 70 % with 2 idle machines`."""
    if policy in {Policy.PEAK, Policy.MEAN}:
        return f"{most} machine{'s' * (most > 1)} all the time"
    base = f"{policy.value} at {utilisation * 100:.3g} %"
    return f"{base} with {idle} idle machine{'s' * (idle > 1)}" if idle else base


def money_words(value: float, currency: str) -> str:
    """Money of a month for people."""
    return f"{value:,.0f} {currency}" if value >= 100 else f"{value:.3g} {currency}"


def _reason(found: ScaleAnswer) -> Iterator[str]:
    outcomes = found.best.outcomes
    best = outcomes[0]
    peak = next(one for one in outcomes if one.policy is Policy.PEAK)
    if best is peak:
        yield "No policy that follows the load is cheaper than machines for its peak."
        return
    if best.money is not None and peak.money is not None:
        saved, price = 1 - best.money.value / peak.money.value, money_words(peak.money.value, found.currency)
        yield f"Machines for the peak, {peak.most} all the time, cost {price} a month: it saves {saved * 100:.0f} %."
    else:
        saved = 1 - best.machine_hours / peak.machine_hours
        yield f"It takes {saved * 100:.0f} % fewer machine hours than {peak.most} machines for the peak."
    if best.idle:
        yield f"Without idle machines {share_words(best.alone.value)} of requests would be over target."


def share_words(share: float) -> str:
    """A share of requests for people; what is almost nothing stays more than nothing."""
    percent = share * 100
    if percent == 0:
        return "0 %"
    return f"{percent:.2g} %" if percent >= 0.0001 else "under 0.0001 %"


def _cautions(found: ScaleAnswer, load: Load) -> Iterator[str]:
    machine = found.best.machine
    if found.simulated:
        yield "numbers are SIMULATED: planted values, not measured"
    if machine.price is None:
        yield "no price of it is known: policies are ordered by machine hours"
    if load.seconds < _WEEK_S:
        yield f"the trace has {format_seconds(load.seconds)}: a month is taken to be like it"
    if load.uneven:
        yield f"{load.uneven} steps of the trace are longer than the usual one: the load before is taken to hold"
    if all(one.policy is not Policy.SCHEDULED for one in found.best.outcomes):
        yield "a schedule needs more than a day of load, so it was not tried"
    yield from _of_launches(machine, found)
    yield from _of_capacity(machine)
    for key, lack in found.left_out[:_NAMED]:
        yield f"{key} is left out: {_LACKS[lack]}"
    if (more := len(found.left_out) - _NAMED) > 0:
        yield f"{more} more are left out"
    yield "the application's own start, discounts for long use and commitments are not counted"


def _of_launches(machine: MachineType, found: ScaleAnswer) -> Iterator[str]:
    low, _, high = machine.usable
    if machine.launches == 1 and low == high:
        yield f"every launch takes {format_seconds(high)}: how much launch times scatter is not counted"
    elif machine.launches < _FEW:
        yield f"launch times rest on {machine.launches} launches: rare slow ones are probably missing"
    if machine.failed:
        yield f"{machine.failed} of {machine.launches} launches failed: such a one is given up and asked for again"
    if machine.paid_from_request and found.launch_time == "drawn":
        yield "when its provider calls it running was not measured: it is paid from its request"


def _of_capacity(machine: MachineType) -> Iterator[str]:
    if machine.capacity.bounds is None:
        yield "how sure its capacity is, is unknown: it is given, or a single value"
