"""Renders a bill next to the estimate, as a table and sentences."""

from collections.abc import Iterator

from cloudcmp.cost.billed import BillComparison, ComparedLine, State
from cloudcmp.units import Money, format_money


def table(found: BillComparison) -> tuple[tuple[str, ...], list[tuple[str | None, ...]]]:
    """Return columns and rows of the compared lines; the first column is text. None is unknown."""
    codes = sorted({one.currency for side in found.sides for one in (side.billed, side.estimated) if one})
    unit = f" {codes[0]}" if len(codes) == 1 else ""
    heads = ("for", f"billed{unit}", "estimated", "difference", "ratio")
    return heads, [_row(one, bare=bool(unit)) for one in found.sides]


def _row(one: ComparedLine, *, bare: bool) -> tuple[str | None, ...]:
    owner = " ".join(filter(None, (one.candidate, one.slot and f"{one.slot}/{one.attempt}", one.resource)))
    state = "" if one.state is State.BOTH else f" ({one.state})"
    return (
        f"{one.kind}: {owner or one.what or 'no resource'}{state}",
        _money(one.billed, bare=bare),
        _money(one.estimated, bare=bare),
        _money(one.difference, bare=bare, sign="+"),
        f"{one.ratio:.3f}" if one.ratio is not None else None,
    )


def _money(money: Money | None, *, bare: bool, sign: str = "") -> str | None:
    """An amount with four decimals, as hourly prices have; None if unknown."""
    if money is None:
        return None
    text = f"{money.amount:{sign}.4f}"
    return text if bare else f"{text} {money.currency}"


def summary_lines(found: BillComparison) -> Iterator[str]:
    """Yield one line for each sum, and for each amount that is not usage."""
    for one in found.totals:
        estimate = "unknown" if one.estimated is None else format_money(Money(one.estimated, one.currency))
        ratio = "" if one.ratio is None else f", ratio {one.ratio:.3f}"
        yield f"used: {format_money(Money(one.used, one.currency))} billed, {estimate} estimated{ratio}"
        for kind, amount in one.apart:
            yield f"{kind.value}: {format_money(Money(amount, one.currency))}, not part of the used amount"
    for other in found.foreign:
        money = format_money(Money(other.amount, other.currency))
        lines = f"{other.lines} {'lines' if other.lines > 1 else 'line'}"
        yield f"another study's tag {other.study!r}: {money} on {lines}, not in these sums"
