"""Sentences about prices, sizes and places: what is sold, and what the text says of it again.

A price is exact as it is printed, unlike a figure that was measured; what a sentence states is rounded as written.
"""

import itertools
import math
from collections.abc import Callable

from cloudcmp.analysis.published.number import Number, columns, numbers, printed, read
from cloudcmp.published import Claim, Document

Finding = tuple[str, bool | None]
_MILLICENTS = 100_000.0
"""Thousandths of a cent in a dollar."""
_COMPARABLE = 2.0
"""Two costs are called comparable here where neither is more than twice the other; the document gives no measure."""


def some_ratio(document: Document, claim: Claim) -> Finding:
    """Some thing of the first named provider costs `stated` times what some thing of the second does."""
    ((table, column),) = columns(document, claim.tables[0])
    figures, stated = numbers(document, table, column), _figure(claim.stated)
    dear, cheap = ({row: one for row, one in figures.items() if row.split(" ")[0] == name} for name in claim.names)
    ratios = {(a, b): dear[a].value / cheap[b].value for a, b in itertools.product(dear, cheap)}
    a, b = min(ratios, key=lambda pair: abs(ratios[pair] - stated.value))
    if stated.low <= ratios[a, b] <= stated.high:
        return f"{a} costs {ratios[a, b]:.3g} times what {b} does", True
    return f"no two do; the nearest, {a} and {b}, are {ratios[a, b]:.3g} times apart", False


def proportional(document: Document, claim: Claim) -> Finding:
    """The named have one price for each core."""
    ((table, column),) = columns(document, claim.tables[0])
    ((_, cores),) = columns(document, claim.against[0])
    prices, counts = numbers(document, table, column), numbers(document, table, cores)
    each = {name: prices[name].value / counts[name].value for name in claim.names}
    shown = ", ".join(f"{name.split(' ')[-1]} {one:.4g}" for name, one in each.items())
    return f"{table.unit} for a core: {shown}", all(math.isclose(one, each[claim.names[0]]) for one in each.values())


def comparable(document: Document, claim: Claim) -> Finding:
    """`stated` operations cost about what the cheapest instance of the provider does in an hour, for some operation."""
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


def rows(document: Document, claim: Claim) -> Finding:
    """A table has as many rows as stated, or as many of the named provider."""
    (table,) = (document.table(number) for number in claim.tables)
    found = [row for row in table.rows if not claim.names or row[0] in claim.names]
    return f"table {table.number} has {len(found)}", len(found) == int(claim.stated)


def row_ratio(document: Document, claim: Claim) -> Finding:
    """In the named row the second thing named is `stated` times the third."""
    row, dear, cheap = claim.names
    table = document.table(claim.tables[0])
    ratio, stated = _figure(table.column(dear)[row]).value / _figure(table.column(cheap)[row]).value, claim.stated
    return f"{ratio:.4g} times", _figure(stated).low <= ratio <= _figure(stated).high


def said_again(document: Document, claim: Claim) -> Finding:
    """What the text says of a cell is what the table prints, within the coarser rounding of the two."""
    row, column = claim.names
    table = document.table(claim.tables[0])
    cell = printed(document, table, column)[row]
    return f"table {table.number} prints {cell}", _figure(cell).meets(_figure(claim.stated))


def _figure(text: str) -> Number:
    """A figure, also with what is said in brackets after it."""
    number = read(text.partition(" (")[0].replace(",", ""))
    if number is None:
        raise ValueError(f"{text!r} is not a figure")
    return number


OFFERED: dict[str, Callable[[Document, Claim], Finding]] = {
    "some_ratio": some_ratio,
    "proportional": proportional,
    "comparable": comparable,
    "rows": rows,
    "row_ratio": row_ratio,
    "said_again": said_again,
}
