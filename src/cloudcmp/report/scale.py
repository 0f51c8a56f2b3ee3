"""Prints the answer of a replay: what to run and its money first, then the policies, and what would change it."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.answer.replay.sentences import money_words, policy_words, share_words
from cloudcmp.model.replay import Choice, OwnedBase, PolicyOutcome, Range, ScaleAnswer
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import format_seconds

_TYPES = 8


def show_scale(console: Console, found: ScaleAnswer) -> None:
    """Print what to run, its policies, other machine types, what would change it, and owned machines if asked."""
    say(console, f"least money with at most {found.rules.over * 100:.3g} % of requests over target", "bold")
    say(
        console,
        f"{found.rows:,} rows over {format_seconds(found.seconds)} | mean {found.mean:,.4g}, "
        f"peak {found.peak:,.4g} requests/s",
        "dim",
    )
    say(console, "")
    for label, text, style in _lines(found):
        labelled(console, label, text, style)
    say(console, "")
    _policies(console, found)
    if len(found.choices) > 1:
        say(console, "")
        _machines(console, found)
    say(console, "")
    _variants(console, found)
    if found.owned is not None:
        say(console, "")
        _owned(console, found, found.owned)


def _lines(found: ScaleAnswer) -> Iterator[tuple[str, str, str]]:
    choice = found.best
    best = choice.outcomes[0]
    words = policy_words(best.policy, best.idle, best.most, found.rules.utilisation)
    yield "ANSWER", f"{choice.machine.key}: {words}", "bold"
    hours = f"{best.machine_hours:,.0f} machine hours a month"
    money = hours if best.money is None else f"{_interval(best.money, found.currency)} a month, {hours}"
    yield "", f"{money}; {_shares(best.over)} of requests over target{_count(best)}", ""
    yield "WHY", " ".join(found.reason), ""
    if found.owned is not None:
        yield "OWNED", _owned_words(found, found.owned), ""
    for at, text in enumerate((*found.cautions, *found.notes)):
        yield "MIND" if not at else "", text, "yellow"


def _count(best: PolicyOutcome) -> str:
    return f", {best.requests_over:,.0f} in the trace" if best.requests_over >= 1 else ""


def _interval(one: Range, currency: str) -> str:
    value, number = money_words(one.value, currency), money_words(one.value, "").strip()
    ends = [] if one.bounds is None else [money_words(end, "").strip() for end in (one.bounds.low, one.bounds.high)]
    return value if all(end == number for end in ends) else f"{value} ({' to '.join(ends)})"


def _shares(one: Range) -> str:
    if one.bounds is None or one.bounds.low == one.bounds.high:
        return share_words(one.value)
    return f"{share_words(one.value)} ({share_words(one.bounds.low)} to {share_words(one.bounds.high)})"


def _policies(console: Console, found: ScaleAnswer) -> None:
    choice = found.best
    rows = [
        [one.policy.value, share_words(one.alone.value), one.idle, share_words(one.over.value),
         f"{one.machines:.1f}", f"{one.machine_hours:,.0f}", _money(one)]
        for one in choice.outcomes
    ]  # fmt: skip
    capacity, rules = choice.machine.capacity, found.rules
    notes = [
        f"over: requests beyond {capacity.value:.4g}/s for each machine in service, with the idle machines; alone: "
        "without them",
        f"reactive and scheduled plan with {rules.utilisation * 100:.3g} % of that; a change of load is seen after "
        f"{format_seconds(rules.watch_s)}, and machines go after {format_seconds(rules.cool_down_s)}",
        _drawn_words(found, choice),
        _billing_words(choice),
    ]
    heads: list[str | Head] = [
        "policy", Head("alone"), Head("idle"), Head("over"), Head("machines"), Head("hours/month"),
        Head(f"{found.currency}/month"),
    ]  # fmt: skip
    table(console, heads, rows, title=f"Policies on {choice.machine.key}", note="; ".join(filter(None, notes)))


def _drawn_words(found: ScaleAnswer, choice: Choice) -> str:
    low, middle, high = (format_seconds(one) for one in choice.machine.usable)
    if low == high:
        return f"a launch takes {middle}"
    drawn = f", drawn {found.draws} times (seed {found.seed})" if found.draws > 1 else ""
    return f"launches take {middle} ({low} to {high}: 5 to 95 %; n = {choice.machine.launches}){drawn}"


def _billing_words(choice: Choice) -> str:
    machine = choice.machine
    if not machine.step_s:
        return "billed by the time it runs"
    if machine.minimum_s <= machine.step_s:
        return f"billed for each {format_seconds(machine.step_s)} begun"
    return (
        f"billed for {format_seconds(machine.minimum_s)} at least, then for each {format_seconds(machine.step_s)} begun"
    )


def _money(one: PolicyOutcome) -> str | None:
    return None if one.money is None else money_words(one.money.value, "").strip()


def _machines(console: Console, found: ScaleAnswer) -> None:
    rows = []
    for one in found.choices[:_TYPES]:
        best, machine = one.outcomes[0], one.machine
        rows.append(
            [str(machine.key), policy_words(best.policy, best.idle, best.most, found.rules.utilisation),
             format_seconds(machine.usable[1]), f"{machine.capacity.value:.4g}", _money(best)]
        )  # fmt: skip
    more = len(found.choices) - len(rows)
    table(
        console,
        [
            Head("machine", numeric=False, whole=True),
            "cheapest policy",
            Head("launch"),
            Head("requests/s"),
            Head("a month"),
        ],
        rows,
        title="Machine types, each with its cheapest policy",
        note=f"{more} more are dearer" if more > 0 else "",
    )


def _variants(console: Console, found: ScaleAnswer) -> None:
    rows = [
        [one.what, policy_words(one.policy, one.idle, one.most, one.utilisation),
         None if one.money is None else money_words(one.money, "").strip()]
        for one in found.variants
    ]  # fmt: skip
    title = f"What would change it, on {found.best.machine.key}"
    table(console, ["if", "the cheapest policy", Head(f"{found.currency or 'money'}/month")], rows, title=title)


def _owned_words(found: ScaleAnswer, base: OwnedBase) -> str:
    total = money_words(base.total, found.currency)
    if not base.owned:
        return f"no machine at {money_words(base.cost, found.currency)} a month is worth owning beside these"
    saved = (1 - base.total / base.cloud_only) * 100
    less = f"{saved:.0f} % less than {money_words(base.cloud_only, found.currency)} without owned machines"
    if base.owned == base.most:
        return f"own all {base.owned} machines: {total} a month, {less}"
    above = f"with cloud machines above them ({base.policy.value})"
    return f"own {base.owned} of up to {base.most} machines: {total} a month {above}, {less}"


def _owned(console: Console, found: ScaleAnswer, base: OwnedBase) -> None:
    rows: list[list[object]] = [["this load", base.owned, money_words(base.total, "").strip()]]
    for factor, owned, total in base.at_loads:
        rows.append([f"load {(factor - 1) * 100:+.0f} %", owned, money_words(total, "").strip()])
    rows.append(["no owned machine", 0, money_words(base.cloud_only, "").strip()])
    rows.append(["owned machines only", round(base.owned_only / base.cost), money_words(base.owned_only, "").strip()])
    moves = [
        f"{word} if one costs {'less' if word == 'more' else 'more'} than {money_words(end, found.currency)} a month"
        for word, end in (("more", base.own_below), ("fewer", base.own_above))
        if end is not None
    ]
    carried = "an owned machine carries as much as a cloud one, and is always there"
    title = f"Owned machines at {money_words(base.cost, found.currency)} a month each"
    note = "; ".join([*([f"own {', '.join(moves)}"] if moves else []), carried])
    table(console, ["", Head("owned"), Head(f"{found.currency or UNKNOWN}/month")], rows, title=title, note=note)
