"""Checks sentences against their tables: one predicate for each kind of claim, one table of kinds.

A predicate returns the tables' statement, in figures, and whether the sentence is true of them; None if a required
figure is not printed.
"""

import itertools
import math
from collections.abc import Collection

from cloudcmp.analysis.published.cell_claims import BETWEEN
from cloudcmp.analysis.published.cell_claims import KINDS as CELL_KINDS
from cloudcmp.analysis.published.number import (
    Number,
    columns,
    cov_of,
    cov_row,
    figure,
    is_cut,
    label,
    numbers,
    pair_of,
    printed,
    read,
    sessions,
    table_name,
)
from cloudcmp.analysis.published.verdict import ClaimCheck, Finding, Predicate, Verdict
from cloudcmp.published import Claim, Document

_MILLICENTS = 100_000.0
"""Thousandths of a cent in a dollar."""
_COMPARABLE = 2.0
"""The largest ratio of two costs that are called comparable here; the document gives no measure."""


def some_ratio(document: Document, claim: Claim) -> Finding:
    """Some item of the first named provider costs `stated` times as much as some item of the second."""
    ((table, column),) = columns(document, claim.tables[0])
    figures, stated = numbers(document, table, column), figure(claim.stated)
    dear, cheap = ({row: one for row, one in figures.items() if row.split(" ")[0] == name} for name in claim.names)
    ratios = {(a, b): dear[a].value / cheap[b].value for a, b in itertools.product(dear, cheap)}
    a, b = min(ratios, key=lambda pair: abs(ratios[pair] - stated.value))
    if stated.low <= ratios[a, b] <= stated.high:
        return f"{a} costs {ratios[a, b]:.3g} times what {b} does", True
    return f"no two do; the nearest, {a} and {b}, are {ratios[a, b]:.3g} times apart", False


def proportional(document: Document, claim: Claim) -> Finding:
    """The named items have one price for each core."""
    ((table, column),) = columns(document, claim.tables[0])
    ((_, cores),) = columns(document, claim.against[0])
    prices, counts = numbers(document, table, column), numbers(document, table, cores)
    each = {name: prices[name].value / counts[name].value for name in claim.names}
    shown = ", ".join(f"{name.split(' ')[-1]} {one:.4g}" for name, one in each.items())
    return f"{table.unit} for a core: {shown}", all(math.isclose(one, each[claim.names[0]]) for one in each.values())


def comparable(document: Document, claim: Claim) -> Finding:
    """`stated` operations cost about as much as an hour of the provider's cheapest instance, for some operation."""
    (table,) = (document.table(number) for number in claim.tables)
    ((instances, price),) = columns(document, claim.against[0])
    shares = {}
    for name in claim.names:
        hour = min(one.value for row, one in numbers(document, instances, price).items() if row.split(" ")[0] == name)
        for operation in table.figures():
            cost = numbers(document, table, operation)[name].value / _MILLICENTS * float(claim.stated)
            shares[f"{name} {operation}"] = cost / hour
    dearest, cheapest = max(shares, key=lambda one: shares[one]), min(shares, key=lambda one: shares[one])
    shown = f"{claim.stated} operations are {shares[cheapest]:.2%} ({cheapest}) to {shares[dearest]:.1%} ({dearest})"
    holds = any(1.0 / _COMPARABLE <= share <= _COMPARABLE for share in shares.values())
    return f"{shown} of an hour of the provider's cheapest instance", holds


def costs_comparable(document: Document, claim: Claim) -> Finding:
    """In every column the largest figure is at most twice the smallest; the document gives no measure of its own."""
    (table,) = (document.table(number) for number in claim.tables)
    columns_of = {
        column: [one.value for one in numbers(document, table, column).values()] for column in table.figures()
    }
    ratios = {column: max(values) / min(values) for column, values in columns_of.items()}
    shown = ", ".join(f"{column} {ratio:.3g} times" for column, ratio in ratios.items())
    return f"from the smallest to the largest: {shown}", max(ratios.values()) <= _COMPARABLE


def rows(document: Document, claim: Claim) -> Finding:
    """A table has as many rows as stated, of those whose cells include all of the names."""
    (table,) = (document.table(number) for number in claim.tables)
    matching = [row for row in table.rows if all(name in row for name in claim.names)]
    return f"table {table.number} has {len(matching)}", len(matching) == int(claim.stated)


def titled(document: Document, claim: Claim) -> Finding:
    """The title of the named table or figure contains the stated words, in any case of letters."""
    (number,) = claim.names
    titles = {plot.number: plot.title for plot in document.uncovered}
    titles |= {table.number: table.title for table in document.tables}
    return f'the title of {number} is "{titles[number]}"', claim.stated.lower() in titles[number].lower()


def local_hours(document: Document, claim: Claim) -> Finding:
    """The printed hours are the stated local ones (`20-22`), moved by the hours of the time zones in `against`."""
    ((table, column),) = columns(document, claim.tables[0])
    ((_, zones),) = columns(document, claim.against[0])
    local, wrong = [int(hour) for hour in claim.stated.split("-")], []
    offsets, cells = printed(document, table, zones), printed(document, table, column)
    for row, cell in cells.items():
        hours = [(hour - int(offsets[row])) % 24 for hour in local]
        if [int(part.partition(":")[0]) for part in cell.split("-")] != hours:
            wrong.append(f"{row} {offsets[row]}: {hours[0]}:00-{hours[1]}:00, printed {cell}")
    return "; ".join(wrong) or "all hours are", not wrong


SIGNIFICANT_BELOW = 0.05
"""The document's level of statistical significance (6, first page)."""


def check_claim(document: Document, claim: Claim, copies: Collection[tuple[str, str]]) -> ClaimCheck:
    """The verdict on one sentence.

    `copies` are the (table, column) that repeat another: a sentence that is true of such a column follows from the
    other column's figures, not from its own, which are not printed.
    """
    statement, holds = KINDS[claim.kind](document, claim)
    used = {(table.number, column) for name in claim.tables for table, column in columns(document, name)}
    used |= {(number, column) for number, column, _ in (name.split(BETWEEN) for name in claim.cells)}
    copied = sorted({number for number, _ in used.intersection(copies)})
    note = f"rests on table {', '.join(copied)}, which repeats another" if copied else ""
    cells = [name.partition(BETWEEN)[0] for name in claim.cells]
    tables = tuple(dict.fromkeys(name.partition(":")[0] for name in (*claim.tables, *claim.against, *cells)))
    verdict = Verdict.of(None if holds and copied else holds)
    return ClaimCheck(document.name, claim.page, claim.section, claim.quote, tables, statement, verdict, note)


def times(document: Document, claim: Claim) -> Finding:
    """The first named item is `stated` times the second, within the rounding of all three figures."""
    ((table, column),) = columns(document, claim.tables[0])
    figures = numbers(document, table, column)
    ratio, stated = figures[claim.names[0]].over(figures[claim.names[1]]), figure(claim.stated)
    cut = "" if ratio.meets(stated) or not is_cut(ratio, claim.stated) else " (cut off, not rounded)"
    return f"{ratio.value:.5g} times{cut}", ratio.meets(stated)


def highest(document: Document, claim: Claim) -> Finding:
    """The named items are above all others, in every column of the tables."""
    return _extreme(document, claim, largest=True)


def lowest(document: Document, claim: Claim) -> Finding:
    """The named items are below all others, in every column of the tables."""
    return _extreme(document, claim, largest=False)


def lowest_of_all(document: Document, claim: Claim) -> Finding:
    """The smallest figure of all the columns together is the named item's."""
    figures = {
        (name, table.number): number.value
        for reference in claim.tables
        for table, column in columns(document, reference)
        for name, number in numbers(document, table, column).items()
    }
    name, number = min(figures, key=lambda key: figures[key])
    return f"table {number}: {name} {figures[name, number]:g}", (name,) == claim.names


def steadiest(document: Document, claim: Claim) -> Finding:
    """The named item has the smallest coefficient of variation in every table, as printed and from its sessions."""
    return _variation(document, claim, largest=False)


def most_variable(document: Document, claim: Claim) -> Finding:
    """The named item has the largest coefficient of variation in every table, as printed and from its sessions."""
    return _variation(document, claim, largest=True)


def significant(document: Document, claim: Claim) -> Finding:
    """The named pairs, and no others, have p < 0.05 in every row about them and in every column."""
    named = set(claim.names)
    wrong, missing = [], []
    for reference in claim.tables:
        for table, column in columns(document, reference):
            by_pair = _p_values(printed(document, table, column))
            for pair, cells in by_pair.items():
                known = [number.value for number in map(read, cells) if number is not None]
                below = all(p < SIGNIFICANT_BELOW for p in known)
                where = f"table {table.number} {label(document, column)}: {pair}"
                if below != (pair in named):
                    wrong.append(f"{where} up to p = {max(known):.3g}")
                elif below and len(known) < len(cells):
                    missing.append(f"{where} has a cell without a figure")
    if wrong:
        return "; ".join(wrong), False
    return "; ".join(missing) or "p < 0.05 in these rows and no others", None if missing else True


def insignificant(document: Document, claim: Claim) -> Finding:
    """The named pairs have p > 0.05 in every row about them."""
    ((table, column),) = columns(document, claim.tables[0])
    rows = {row: cell for row, cell in printed(document, table, column).items() if pair_of(row, claim.names)}
    holds = all(figure(cell).value > SIGNIFICANT_BELOW for cell in rows.values())
    return "; ".join(f"{row}: p = {cell}" for row, cell in rows.items()), holds


def equal(document: Document, claim: Claim) -> Finding:
    """All platforms have the same figure, in every column."""
    different = []
    for reference in claim.tables:
        ((table, column),) = columns(document, reference)
        cells = printed(document, table, column).values()
        if len({figure(cell).value for cell in cells}) > 1:
            different.append(f"table {table.number}: {', '.join(cells)}")
    return "; ".join(different) or "the same in each table", not different


def near(document: Document, claim: Claim) -> Finding:
    """The measured figures are close to the advertised ones, in the first pair of tables; the others are only shown.

    "Close" has no measure of its own. The document's own yardstick applies: a figure that it calls "much lower than
    advertised" elsewhere is not close, nor is any figure at least as far off (as a ratio). Undecided if it has no such
    claim.
    """
    shares = [
        list(_shares(document, measured, advertised).values())
        for measured, advertised in zip(claim.tables, claim.against, strict=True)
    ]
    everything = [share for some in shares for share in some]
    text = f"{_spread(shares[0])} of it; in tables {', '.join(claim.tables)} together {_spread(everything)}"
    far = [_shares(document, c.tables[0], c.against[0])[c.names[0]] for c in document.claims if c.kind == "much_lower"]
    if not far:
        return text, None
    yardstick = min(abs(math.log(share.value)) for share in far)
    return text, all(abs(math.log(share.value)) < yardstick for share in shares[0])


def much_lower(document: Document, claim: Claim) -> Finding:
    """The measured figure is below the advertised one, within any rounding; does not judge how much lower "much" is."""
    share = _shares(document, claim.tables[0], claim.against[0])[claim.names[0]]
    return f"{share.value:.0%} of it", share.high < 1.0


def achieved(document: Document, claim: Claim) -> Finding:
    """The measured figure reaches the advertised one, to the place to which the advertised one is rounded."""
    share = _shares(document, claim.tables[0], claim.against[0])[claim.names[0]]
    return f"{share.value:.0%} of it", share.high >= 1.0


def at_most(document: Document, claim: Claim) -> Finding:
    """The measured figure does not exceed the stated limit."""
    ((table, column),) = columns(document, claim.tables[0])
    found = numbers(document, table, column)[claim.names[0]]
    holds = found.low <= figure(claim.stated).high
    above = "" if holds else f", above {claim.stated}"
    return f"{table_name(table.number)}: {found.value:.6g} {table.unit}{above}", holds


def per_core(document: Document, claim: Claim) -> Finding:
    """The advertised bandwidth over the number of vCPUs is the stated one per vCPU."""
    ((table, column),) = columns(document, claim.tables[0])
    ((_, cores_column),) = columns(document, claim.against[0])
    name = claim.names[0]
    cores = numbers(document, table, cores_column)[name].value
    each = numbers(document, table, column)[name].times(1.0 / cores)
    text = f"table {table.number}: {each.value / 1000.0:g} Gbps for each of {cores:g}"
    return text, each.meets(figure(claim.stated))


def count(_: Document, claim: Claim) -> Finding:
    """The number of listed items is the stated one."""
    return f"{len(claim.names)} are listed: {', '.join(claim.names)}", len(claim.names) == int(claim.stated)


def present(document: Document, claim: Claim) -> Finding:
    """All named items have a row in every table."""
    tables = [document.table(number) for number in claim.tables]
    absent = [
        name for name in claim.names if not all(any(name.lower() in r.lower() for r in t.names()) for t in tables)
    ]
    return f"no row for {', '.join(absent)}" if absent else "all have a row", not absent


KINDS: dict[str, Predicate] = CELL_KINDS | {
    one.__name__: one
    for one in (
        times, highest, lowest, lowest_of_all, steadiest, most_variable, significant, insignificant, equal, near,
        much_lower, achieved, at_most, per_core, count, present,
        some_ratio, proportional, comparable, costs_comparable, rows, titled, local_hours,
    )
}  # fmt: skip
"""The predicates by the kinds of claims, which are their names."""


def _leads(figures: dict[str, float], names: tuple[str, ...], *, largest: bool) -> bool:
    inside = [figures[name] for name in names]
    outside = [value for name, value in figures.items() if name not in names]
    return bool(min(inside) > max(outside) if largest else max(inside) < min(outside))


def _extreme(document: Document, claim: Claim, *, largest: bool) -> Finding:
    against, shown = [], []
    for reference in claim.tables:
        for table, column in columns(document, reference):
            figures = {name: number.value for name, number in numbers(document, table, column).items()}
            where = f"table {table.number} {label(document, column)}"
            line = _ranking(where, figures, len(claim.names), largest=largest)
            shown.append(line)
            if not _leads(figures, claim.names, largest=largest):
                against.append(line)
    return "; ".join(against or shown[:2]) + (" ..." if not against and len(shown) > 2 else ""), not against


def _ranking(where: str, figures: dict[str, float], leading: int, *, largest: bool) -> str:
    order = sorted(figures, key=lambda name: figures[name], reverse=largest)[: leading + 1]
    return f"{where}: " + ", ".join(f"{name} {figures[name]:.10g}" for name in order)


def _variation(document: Document, claim: Claim, *, largest: bool) -> Finding:
    against, shown = [], []
    for table in map(document.table, claim.tables):
        as_printed = {name: figure(text).value for name, text in cov_row(document, table).items()}
        recomputed = {name: cov_of(x).value * 100.0 for name, x in sessions(document, table).items()}
        for source, figures in (("printed", as_printed), ("recomputed", recomputed)):
            rounded = {name: float(f"{value:.3g}") for name, value in figures.items()}
            line = _ranking(f"table {table.number} {source}", rounded, 1, largest=largest) + " %"
            shown.append(line)
            if not _leads(figures, claim.names, largest=largest):
                against.append(line)
    return "; ".join(against or shown[:1]) + (" ..." if not against and len(shown) > 1 else ""), not against


def _p_values(cells: dict[str, str]) -> dict[str, list[str]]:
    by_pair: dict[str, list[str]] = {}
    for row, cell in cells.items():
        by_pair.setdefault(row.split(" ")[0], []).append(cell)
    return by_pair


def _shares(document: Document, measured: str, advertised: str) -> dict[str, Number]:
    ((table, column),) = columns(document, measured)
    ((offers, offered),) = columns(document, advertised)
    promised = numbers(document, offers, offered)
    return {name: figure.over(promised[name]) for name, figure in numbers(document, table, column).items()}


def _spread(shares: list[Number]) -> str:
    values = [share.value * 100.0 for share in shares]
    return f"{min(values):.0f} to {max(values):.0f} %"
