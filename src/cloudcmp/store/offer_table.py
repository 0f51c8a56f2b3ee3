"""Tables with one row for each offering: advertised facts, prices and measurements in columns of any names.

Price lists and public comparisons come in this form. A tidy table, with one row for each value, is read elsewhere.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, MACHINES, Market, Numbers, OfferKey, Texts, counted
from cloudcmp.model.price import Purchase
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.store.tidy_agree import number_of
from cloudcmp.store.tidy_columns import distinct_of
from cloudcmp.store.tidy_read import RawTable, read_table
from cloudcmp.units import CURRENCIES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

_PROVIDER = ("provider", "vendor", "vendor_id", "cloud")
_NAME = ("offering", "instance_type", "machine_type", "api_reference", "server_id", "type", "name")
_REGION = ("region", "price_region", "location")
_PURCHASE = ("purchase", "pricing_model", "price_type", "purchase_option", "kind")
_MAY_BE_OTHER = "kind"
"""A column of this name may say something else; it counts if a word in it is a way to buy."""
_PRICE_DAY = ("as_of", "price_date", "observed_at")
_PRICE = re.compile(r"(?:price_)?([a-z]{3})_per_hour", re.ASCII)
_MEMORY = {"memory_gib": 1.0, "memory_mib": 1 / 1024, "memory_amount": 1 / 1024}
_PURCHASES = {"": Purchase.ON_DEMAND, "ondemand": Purchase.ON_DEMAND, "payasyougo": Purchase.ON_DEMAND,
              "spot": Purchase.SPOT, "preemptible": Purchase.SPOT, "reserved": Purchase.RESERVED}  # fmt: skip
_WORD = (
    "v?cpus?|lscpu|v?cores?|threads?|sockets?|clock|mem|memory|ram|storage|disks?|ssd|hdd|nvme|local|size|amount|iops|"
    "network|bandwidth|bw|inbound|outbound|gpus?|accelerators?|count|number|per|base|baseline|turbo|max|min|year|generation|price|"
    "cost|machines|[mg]hz|[kmgt]i?b|[mg]bps|hour|month"
)
_FACT = re.compile(f"(?:{_WORD})(?:_(?:{_WORD}))*")
"""A number whose name is made of these words is advertised; any other one is a measurement, with or without a day."""
_DAY = "_date"
"""The end of the name of a column with the day of the measurements whose names begin alike."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class _Table:
    """The cells of a table as text, by the lower-case name of their column."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    count: int

    def first(self, names: Sequence[str]) -> tuple[str, Sequence[str]] | None:
        """The first of some columns that the table has."""
        return next(((name, self.columns[name]) for name in names if name in self.columns), None)


def is_offer_table(path: Path) -> bool:
    """True if a table has one row for each offering, and not one for each value.

    Raises UserMistake if it is no table.
    """
    names = {name.lower() for name in read_table(path).columns}
    return not {"metric", "value"} <= names and any(name in names for name in _NAME)


def read_offers(path: Path, purchase: Purchase = Purchase.ON_DEMAND) -> Market:
    """Read a table of offerings, with the prices of one way to buy them.

    Columns name the offering (`offering`, `instance_type`, ...), its provider and its region; `price_usd_per_hour` or
    `usd_per_hour` is its price. Every other column is a number, if all its cells are numbers or empty, or a text. The
    days of measurements are in columns such as `stressng_date`; a number is a measurement unless its name is that of a
    fact, such as `memory_gib`. A price of zero is unknown, and so is one that two rows of an offering give differently;
    a number of such rows is in the notes.

    Raises UserMistake if it is no such table.
    """
    table = _cells(path, read_table(path))
    named = table.first(_NAME)
    if named is None:
        what = f"no column names the offering ({', '.join(_NAME)})"
        raise UserMistake.at(str(path), what, "rename that column to offering")
    notes: list[str] = []
    bought, is_priced = _bought(table, purchase)
    kept = _active(table, bought, notes)
    keys = _keys(table, named[1], kept)
    order = _distinct(keys, table, kept, notes)
    used = {named[0], *(found[0] for names in (_PROVIDER, _REGION, _PURCHASE) if (found := table.first(names)))}
    columns = {one.name: one for one in _columns(table, used, order)}
    currency = _price(table, kept, keys, order, columns, notes)
    if not is_priced and columns.pop(COST, None) is not None:
        currency = ""
        notes.append(f"its prices do not say that they are {purchase.value} ones: they count as unknown")
    return Market(tuple(keys[at] for at in order), columns, currency, tuple(f"{path.name}: {one}" for one in notes))


def _cells(path: Path, raw: RawTable) -> _Table:
    columns: list[list[str]] = [[] for _ in raw.columns]
    for block in raw.blocks:
        if block.uneven:
            place, cells = block.row(block.uneven[0]) or (str(path), [])
            what = f"{len(cells)} cells in a row, and {len(raw.columns)} columns"
            raise UserMistake.at(place, what, "write one cell for each column")
        for column, cells in zip(columns, block.columns, strict=True):
            indices, distinct = distinct_of(cells)
            texts = [block.text_of(cell).strip() for cell in distinct]
            column += [texts[at] for at in indices.tolist()]
    names = [name.lower() for name in raw.columns]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise UserMistake.at(str(path), f"two columns are {twice[0]!r} but for upper case", "remove or rename one")
    if not columns or not columns[0]:
        raise UserMistake.at(str(path), "the table has no rows", "write one row for each offering")
    return _Table(path, dict(zip(names, columns, strict=True)), len(columns[0]))


def _each(of: Callable[[Any], T], cells: Iterable[Any]) -> list[T]:
    """The result of each cell, computed once for equal ones."""
    return list(map(cache(of), cells))


def _clean(text: str) -> str:
    return one_line(text, _LONGEST)


def _bought(table: _Table, purchase: Purchase) -> tuple[list[int], bool]:
    """The rows of one way to buy, and whether their prices are those of it: without a word they are of on-demand.

    Raises UserMistake for a word that is no known way to buy.
    """
    found = table.first(_PURCHASE)
    words = {} if found is None else {cell: _purchase(cell) for cell in dict.fromkeys(found[1])}
    if found is None or (found[0] == _MAY_BE_OTHER and not any(way for cell, way in words.items() if cell)):
        return list(range(table.count)), purchase is Purchase.ON_DEMAND
    if strange := [cell for cell, way in words.items() if way is None]:
        what = f"{strange[0]!r} in the column {found[0]!r} is no known way to buy"
        raise UserMistake.at(str(table.path), what, "write on-demand, spot or reserved")
    return [at for at, cell in enumerate(found[1]) if words[cell] is purchase], True


def _purchase(text: str) -> Purchase | None:
    """The way to buy in a cell such as `OnDemand`, `reserved-3y` or `Preemptible`; None for any other text."""
    letters = "".join(filter(str.isalpha, text.casefold()))
    return Purchase.RESERVED if letters.startswith("reserved") else _PURCHASES.get(letters)


def _active(table: _Table, rows: list[int], notes: list[str]) -> list[int]:
    """The rows of offerings that are still sold, as far as the table says."""
    status = table.columns.get("status")
    if status is None:
        return rows
    sold = [at for at in rows if status[at].lower() != "inactive"]
    if len(sold) < len(rows):
        notes.append(f"{len(rows) - len(sold)} offerings are inactive and left out")
    return sold


def _keys(table: _Table, names: Sequence[str], kept: Sequence[int]) -> dict[int, OfferKey]:
    """The offering of each row that is kept and has a name."""
    empty = [""] * table.count
    columns = (*((table.first(some) or ("", empty))[1] for some in (_PROVIDER, _REGION)), names)
    whole = list(map(OfferKey, *(_each(_clean, column) for column in columns)))
    if MACHINES in table.columns:
        machines = _each(_number, table.columns[MACHINES])
        whole = [
            key._replace(name=counted(key.name, _whole(number))) for key, number in zip(whole, machines, strict=True)
        ]
    return {at: whole[at] for at in kept if names[at]}


def _whole(number: float) -> int:
    """A number of machines; 1 for what is none."""
    return int(number) if number >= 1 and number == int(number) else 1


def _distinct(keys: Mapping[int, OfferKey], table: _Table, kept: Sequence[int], notes: list[str]) -> list[int]:
    """The first row of each offering; further ones count only for their price."""
    first: dict[OfferKey, int] = {}
    for at, key in keys.items():
        first.setdefault(key, at)
    if len(keys) < len(kept):
        notes.append(f"{len(kept) - len(keys)} rows without an offering are left out")
    if len(first) < len(keys):
        notes.append(f"{len(keys) - len(first)} rows repeat an offering in a region; its first row counts")
    if not first:
        raise UserMistake.at(str(table.path), "no row names an offering that is sold so", "check --purchase")
    return list(first.values())


def _columns(table: _Table, used: set[str], order: Sequence[int]) -> Iterator[Numbers | Texts]:
    """The columns besides those that name the offering, its price and days."""
    days = {name.removesuffix(_DAY): _days(cells, order) for name, cells in table.columns.items() if _is_day(name)}
    for name, cells in table.columns.items():
        if name in used or _is_day(name) or name in _PRICE_DAY or _currency(name):
            continue
        given = [cells[at] for at in order]
        distinct = set(given) - {""}
        if not distinct:
            continue
        if any(math.isnan(_number(cell)) for cell in distinct):
            yield Texts(name, tuple(_each(_clean, given)), table.path.name)
            continue
        values = _each(_number, given)
        stem = max((one for one in days if name.startswith(one)), key=len, default=None)
        yield _numbers(name, values, days.get(stem) if stem else None, table.path.name)


def _numbers(name: str, values: Sequence[float], day: "NDArray[np.float64] | None", source: str) -> Numbers:
    import numpy as np

    column = np.array(values, np.float64)
    column[~np.isfinite(column)] = np.nan
    if name in _MEMORY:
        return Numbers("memory_gib", column * _MEMORY[name], "GiB", source=source)
    is_measured = day is not None or not _FACT.fullmatch(name)
    return Numbers(name, column, day=day, source=source, is_measured=is_measured)


def _number(text: str) -> float:
    """The number in a cell; NaN for any other text."""
    number = number_of(text)
    return math.nan if number is None else number


def _is_day(name: str) -> bool:
    return name.endswith(_DAY) and name != "price_date"


def _days(cells: Sequence[str], order: Sequence[int]) -> "NDArray[np.float64]":
    """The day in each cell that begins with one (ISO 8601), as an ordinal; NaN without."""
    import numpy as np

    return np.array(_each(_ordinal, (cells[at] for at in order)), np.float64)


def _ordinal(text: str) -> float:
    try:
        return float(date.fromisoformat(text[:10]).toordinal())
    except ValueError:
        return math.nan


def _currency(name: str) -> str:
    """The currency of a price's column; empty if it is none."""
    found = _PRICE.fullmatch(name)
    return found[1].upper() if found and found[1].upper() in CURRENCIES else ""


def _price(
    table: _Table, kept: Sequence[int], keys: Mapping[int, OfferKey], order: Sequence[int],
    columns: dict[str, Numbers | Texts], notes: list[str],
) -> str:  # fmt: skip
    """Add the column of prices, and return its currency; empty if the table has no price."""
    import numpy as np

    priced = [name for name in table.columns if _currency(name)]
    if not priced:
        return ""
    if len(priced) > 1:
        raise UserMistake.at(str(table.path), f"two columns of prices, {priced[0]} and {priced[1]}", "remove one")
    cells = table.columns[priced[0]]
    amounts: dict[OfferKey, set[float]] = {}
    for at, amount in zip(kept, _each(_number, (cells[at] for at in kept)), strict=True):
        if at in keys and cells[at]:
            amounts.setdefault(keys[at], set()).add(amount)
    zero = sum(not all(one > 0 for one in some) for some in amounts.values())
    differ = sum(len(some) > 1 for some in amounts.values())
    values = [_only(amounts.get(keys[at], set())) for at in order]
    if zero:
        notes.append(f"{zero} prices are zero or no number: they count as unknown, not as free")
    if differ:
        notes.append(f"{differ} offerings have two prices in a region: theirs count as unknown")
    dated = table.first(_PRICE_DAY)
    day = _days(dated[1], order) if dated else None
    columns[COST] = Numbers(COST, np.array(values, np.float64), "1/h", day=day, source=table.path.name)
    return _currency(priced[0])


def _only(amounts: set[float]) -> float:
    """The price of an offering; NaN if it is unknown or in doubt."""
    if len(amounts) != 1:
        return math.nan
    (amount,) = amounts
    return amount if 0 < amount < math.inf else math.nan
