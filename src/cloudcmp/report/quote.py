"""Prints what a plan takes, and its safeguards against leftovers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Console

from cloudcmp.answer.selection import rule_text
from cloudcmp.cost import describe_terms
from cloudcmp.model.bill import BillLine
from cloudcmp.model.plan import Plan, hourly_cost
from cloudcmp.model.safety import SAFEGUARDS, Safeguard
from cloudcmp.report import numbers
from cloudcmp.report.table import Head, say, table
from cloudcmp.units import Money, format_money, format_quantity, format_seconds


def show_plan(console: Console, plan: Plan) -> None:
    """Print what a plan takes: candidates, trials, time, money, and the detectable difference."""
    quote = plan.quote
    say(console, f"{plan.name}: {plan.question}", "bold")
    if plan.candidates and all(one.simulated for one in plan.candidates):
        say(console, "SIMULATED: prices and values are planted; nothing is created, nothing is billed", "bold yellow")
    rows = []
    for one in plan.candidates:
        cost, price = hourly_cost(one), one.offering.price
        money = "unknown" if cost is None or price is None else f"{cost.normalize():f} {price.currency}"
        ran = one.runner if one.runner == one.offering.provider else f"{one.runner} instead"
        rows.append((one.id, f"{one.offering.vcpus:g}" if one.offering.vcpus else numbers.UNKNOWN, money, ran,
                     ", ".join(one.differs)))  # fmt: skip
    heads = ("candidate", Head("vCPUs"), Head("price an hour"), "runs on", "differs from the request")
    whole = any(row[-1] for row in rows)
    table(console, heads if whole else heads[:-1], rows if whole else [row[:-1] for row in rows])
    runs = "1 run" if plan.runs == 1 else f"{plan.runs} runs"
    most = "at most " if plan.checks else ""
    facts = [
        ("rounds", f"{most}{plan.rounds}, each with a fresh launch of every candidate, {runs} on each"),
        *([("stops", _stops(plan))] if plan.checks else []),
        *([("launches", _to_decide(plan))] if quote.to_decide else []),
        ("trials", f"{quote.trials} on {len(plan.launches)} launches"),
        ("expected time", format_seconds(quote.expected_s)),
        ("expected cost", format_money(quote.expected_cost) if quote.expected_cost else "unknown: a price is missing"),
        *([("with your terms", _own(plan))] if plan.terms else []),
        ("worst case", format_money(quote.worst_cost) if quote.worst_cost else "unknown: a price is missing"),
        ("budget", format_money(plan.budget) if plan.budget else "none given"),
        ("detectable", _detectable(quote.detectable, quote.assumed_cov)),
    ]
    console.print()
    table(console, ("what it takes", ""), facts)
    show_lines(console, (*quote.lines, *quote.own))
    for note in quote.notes:
        say(console, f"note: {note}")


def _stops(plan: Plan) -> str:
    if plan.stop is not None:
        return f"{rule_text(plan.stop)}, from round {plan.checks[0]} on"
    after = " or ".join(map(str, plan.checks)) or "no"
    return f"after {after} rounds if every interval is within {100 * (plan.until or 0.0):g} %"


def _to_decide(plan: Plan) -> str:
    parts, cost = [], plan.quote.expected_cost
    for at, one in enumerate(plan.quote.to_decide):
        open_ = f", {100 * (1 - one.decided):.0f} % undecided" if one.decided < 0.995 else ""
        most = f"{'nine in ten at most ' if at == 0 else ''}{one.most}"
        share = cost and Money(cost.amount * one.median / len(plan.launches), cost.currency)
        money = f", {format_money(share)}" if share else ""
        parts.append(f"{one.median}{money} ({most}{open_}) if the best is {100 * one.ahead:g} % ahead")
    return f"about {'; '.join(parts)}"


def _own(plan: Plan) -> str:
    return describe_terms(plan).removeprefix("with your terms: ")


def show_lines(console: Console, lines: Sequence[BillLine]) -> None:
    """Print the lines of an expected cost; those of the same item at the same price are one."""
    if not lines:
        return
    rows = [
        (one.item.partition(", ")[0], f"{one.quantity:.6g} {one.unit}" if one.quantity is not None else "",
         f"{one.price.normalize():f}" if one.price is not None else "",
         format_money(one.amount) if one.amount else f"unknown: {one.why}", one.about)
        for one in _added(lines)
    ]  # fmt: skip
    console.print()
    table(console, ("expected cost of", Head("quantity"), Head("price"), Head("amount"), "for"), rows)


def _added(lines: Sequence[BillLine]) -> list[BillLine]:
    """Lines with a quantity and an amount, added where all else is equal, in the order of the first of them."""
    added: dict[tuple[object, ...], BillLine] = {}
    for one in lines:
        if one.quantity is None or one.amount is None:
            added[(len(added), one)] = one
            continue
        key = (one.item, one.unit, one.price, one.why, one.about, one.amount.currency)
        had = added.get(key)
        if had is None or had.quantity is None or had.amount is None:
            added[key] = one
        else:
            amount = replace(had.amount, amount=had.amount.amount + one.amount.amount)
            added[key] = replace(had, quantity=had.quantity + one.quantity, amount=amount)
    return list(added.values())


def _detectable(found: Sequence[tuple[str, float]], cov: float) -> str:
    if not found:
        return "nothing: fewer than two candidates or too few rounds"
    sizes = sorted({ratio for _, ratio in found})
    span = f"{sizes[0] * 100:.1f} %" if len(sizes) == 1 else f"{sizes[0] * 100:.1f} % to {sizes[-1] * 100:.1f} %"
    return f"{span} with 80 % power, if launches vary by {format_quantity(cov, 'ratio')}"


def show_safeguards(console: Console, safeguards: Mapping[str, Sequence[Safeguard]]) -> None:
    """Print the safeguards of each provider, once for those that have the same, in the order in which they act."""
    if not safeguards:
        return
    alike: dict[tuple[Safeguard, ...], list[str]] = {}
    for provider, some in safeguards.items():
        alike.setdefault(tuple(in_order(some)), []).append(provider)
    console.print()
    say(console, "Against leftovers: what ends a resource, and what stays billed when only this is left", "bold")
    for some, providers in alike.items():
        rows = [(one.name, one.holds, one.how) for one in some]
        table(console, ("barrier", "holds", "how"), rows, title=", ".join(providers))


def in_order(safeguards: Sequence[Safeguard]) -> list[Safeguard]:
    """Safeguards from the first that acts to the last."""
    return sorted(safeguards, key=lambda one: SAFEGUARDS.index(one.name) if one.name in SAFEGUARDS else len(SAFEGUARDS))
