"""How a study was cut short, in words: who is no longer measured and why, and what its rule concluded."""

from collections.abc import Mapping
from decimal import Decimal

from cloudcmp.answer.effects import listed
from cloudcmp.model.plan import Plan
from cloudcmp.model.selection import Dropped, DropReason, EndReason, Standing, Stop, StopRule
from cloudcmp.units import Money, format_money


def rule_text(stop: Stop) -> str:
    """Describe when a rule ends a study."""
    size = _percent(stop.tolerance)
    match stop.rule:
        case StopRule.CERTIFY:
            return f"once one is the best, or at most {size} behind it (95 %)"
        case StopRule.RANKING:
            return f"once all pairs that differ by {size} or more are in order (95 %)"
        case StopRule.BUDGET:
            spend = format_money(stop.spend) if stop.spend else "an unknown amount"
            return f"once launches cost more than the loss they can avoid, for a choice over {spend} a year"


def changes(plan: Plan, rounds: int) -> tuple[str, ...]:
    """Describe who is not measured any more, and who is again, after a number of rounds."""
    lines = [
        f"{plan.candidates[one.candidate].id} is not measured further: {_why(plan, one)}"
        for one in plan.dropped
        if one.round == rounds and one.back is None
    ]
    lines += [
        f"{plan.candidates[one.candidate].id} is measured again: the leader has changed"
        for one in plan.dropped
        if one.back == rounds
    ]
    return tuple(lines)


def dropped_lines(plan: Plan) -> tuple[str, ...]:
    """Describe who was not measured in all rounds of a study, and why."""
    return tuple(
        f"{plan.candidates[one.candidate].id} was not measured "
        f"{_rounds(one)}: {_why(plan, one)}"
        for one in plan.dropped
    )  # fmt: skip


def _rounds(one: Dropped) -> str:
    return f"after round {one.round}" if one.back is None else f"in rounds {one.round + 1} to {one.back}"


def _why(plan: Plan, one: Dropped) -> str:
    leader = plan.candidates[one.against].id
    tolerance = _percent(plan.stop.tolerance) if plan.stop else ""
    match one.reason:
        case DropReason.BEHIND:
            return f"it is behind {leader} (95 %)"
        case DropReason.NOT_BETTER:
            return f"it is at most {tolerance} better than {leader} (95 %)"
        case DropReason.RANKED:
            return f"its place is known, down to {tolerance} (95 %)"
        case DropReason.NOT_WORTH_IT:
            return f"its launches cost more than choosing {leader} instead is expected to lose"
        case DropReason.DECIDED:
            return "all its measurements are decided"


def end_lines(plan: Plan) -> tuple[str, ...]:
    """Describe when a study was ended before its last round, or that its rule has not ended it; else empty."""
    ended, stop = plan.ended, plan.stop
    if ended is None:
        return (f"the rule has not ended the study: it stops {rule_text(stop)}",) if stop and plan.checks else ()
    when = f"stopped after {ended.rounds} of {ended.planned} rounds"
    if stop is None:
        return (f"{when}: every interval is tight enough",)
    return (f"{when}, {sum(one.round < ended.rounds for one in plan.launches)} launches",)


def standing_lines(plan: Plan, names: Mapping[str, str]) -> tuple[str, ...]:
    """Describe what the rule of a study concluded of each cell; `names` are readable names of the cells."""
    if plan.stop is None or plan.ended is None:
        return ()
    return tuple(_standing(plan, plan.stop, one, names) for one in plan.ended.standings)


def _standing(plan: Plan, stop: Stop, one: Standing, names: Mapping[str, str]) -> str:
    leader, size = plan.candidates[one.leader].id, _percent(stop.tolerance)
    label = f"{names.get(one.cell, one.cell)}{', work for money' if one.money else ''}"
    match one.reason:
        case EndReason.BEST:
            return f"{label}: {leader} is the best, or at most {size} behind it (95 %)."
        case EndReason.TIE:
            equals = listed([leader, *(plan.candidates[at].id for at in one.equals)])
            return f"{label}: a tie, {equals} are too close to call; {leader} is at most {size} behind the best (95 %)."
        case EndReason.RANKED:
            order = ", ".join(plan.candidates[at].id for at in one.order)
            return f"{label}: best first {order}. Pairs that differ by {size} or more are in this order (95 %)."
        case EndReason.REGRET:
            return f"{label}: {leader} leads. {_loss(stop, one)}, less than launches that would avoid it cost."


def _loss(stop: Stop, one: Standing) -> str:
    if stop.spend is None or one.regret is None:
        return "Choosing it is expected to lose little"
    lost = Money(round(stop.spend.amount * _decimal(one.regret), 2), stop.spend.currency)
    return f"Choosing it is expected to lose {format_money(lost)} of {format_money(stop.spend)}"


def _decimal(share: float) -> Decimal:
    return Decimal(repr(share))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
