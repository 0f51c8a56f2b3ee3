"""Reads what providers take for a GB that leaves a region, from a CSV file."""

import csv
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import PriceTier
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.units import CURRENCIES, are, counted

INTERNET = "internet"
_SOURCES, _TARGETS = ("src", "from", "region"), ("dst", "dest", "to")
_PRICES = ("usd_per_gb", "per_gb", "cost", "price")
_EXAMPLE = "provider,region,usd_per_gb"
_USD = "USD"
_FREE = "free"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class EgressPrices:
    """The price of a GB to the internet by provider and region; an empty provider holds for all that have the region.

    `between` has the price from a region to another one, each as provider and region. A price that a table does not
    have, or has as zero, is unknown.
    """

    internet: Mapping[tuple[str, str], tuple[PriceTier, ...]]
    between: Mapping[tuple[tuple[str, str], tuple[str, str]], float]
    currency: str
    source: str
    notes: tuple[str, ...] = ()

    def of(self, provider: str, region: str) -> tuple[PriceTier, ...]:
        """The tiers of a region to the internet; empty if unknown."""
        return self.internet.get((provider, region)) or self.internet.get(("", region)) or ()


def read_egress_prices(path: Path) -> EgressPrices:
    """Read a table of prices: `provider, region, usd_per_gb`, or `src, dst, cost` with src `aws:us-east-1`.

    `to` (or `dst`, `dest`) is `internet`, which is also meant without that column, or a region. If no row of a region
    goes to the internet, the median price to other providers stands for it, because that traffic goes over the
    internet; the notes say so. `from_gb` begins a tier, in GB a month. `currency` is USD without such a column. A price
    of zero is unknown, and so are all prices of a region with such a tier; `free` says that a tier costs nothing.

    Raises UserMistake for an unreadable file, for a row without a region or with a price below zero, for two prices of
    one tier, and for tiers that do not begin at 0.
    """
    where = str(path)
    table = _Table(where)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table.read(csv.DictReader(file))
    except OSError as error:
        raise UserMistake.at(where, (error.strerror or str(error)).lower(), "name a CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise UserMistake.at(where, "is no CSV text in UTF-8", f"begin with {_EXAMPLE!r}") from None
    found = table.prices(path.name)
    if not found.internet:
        raise UserMistake.at(where, "no price above zero to the internet", f"write {_EXAMPLE!r} and a row a region")
    return found


class _Table:
    def __init__(self, where: str) -> None:
        self._where = where
        self._tiers: dict[tuple[str, str], dict[float, float]] = {}
        self._between: dict[tuple[tuple[str, str], tuple[str, str]], float] = {}
        self._unknown: set[tuple[str, str]] = set()
        self._currencies: set[str] = set()
        self._zeros = 0

    def read(self, rows: "csv.DictReader[str]") -> None:
        heads = {one.strip().lower(): one for one in rows.fieldnames or () if one}
        price = next((heads[one] for one in _PRICES if one in heads), None)
        source = next((heads[one] for one in _SOURCES if one in heads), None)
        target = next((heads[one] for one in _TARGETS if one in heads), None)
        if price is None or source is None:
            missing = "region" if source is None else "usd_per_gb"
            raise UserMistake.at(f"{self._where}:1", f"no column {missing!r}", f"begin with {_EXAMPLE!r}")
        for row in rows:
            place = f"{self._where}:{rows.line_num}"
            origin = _place(row.get(heads.get("provider", "")), row[source])
            if not origin[1]:
                raise UserMistake.at(place, "a price of no region", "write the region's name")
            self._currencies.add((row.get(heads.get("currency", "")) or _USD).strip().upper())
            self._add(place, origin, (row[target] or "") if target else INTERNET, row[price] or "",
                      row.get(heads.get("from_gb", "")) or "0")  # fmt: skip

    def _add(self, place: str, origin: tuple[str, str], to: str, price: str, begin: str) -> None:
        free = price.strip().lower() == _FREE
        amount = 0.0 if free else _number(place, price)
        known = free or bool(amount)
        self._zeros += not known
        if to.strip().lower() != INTERNET:
            if amount:
                self._between[origin, _place("", to)] = amount
            return
        if not known or amount is None:
            self._unknown.add(origin)
            return
        tiers, first = self._tiers.setdefault(origin, {}), _number(place, begin) or 0.0
        if tiers.setdefault(first, amount) != amount:
            what = f"{origin[1]} has two prices from {first:g} GB on, {tiers[first]:g} and {amount:g}"
            raise UserMistake.at(place, what, "write one of them")

    def prices(self, source: str) -> EgressPrices:
        """What was read; raises UserMistake for several currencies."""
        currencies = sorted(self._currencies)
        if len(currencies) > 1 or not set(currencies) <= CURRENCIES:
            what = f"prices in {one_line(' and '.join(currencies), 60)}"
            raise UserMistake.at(self._where, what, "write all in one currency, such as USD")
        notes = [f"{source}: {counted(self._zeros, 'price')} of zero {are(self._zeros)} unknown"] if self._zeros else []
        late = next(
            (region for region, tiers in self._tiers.items() if min(tiers) and region not in self._unknown), None
        )
        if late is not None:
            raise UserMistake.at(
                self._where, f"the tiers of {late[1]} begin at {min(self._tiers[late]):g} GB",
                "add one with from_gb 0; write free if it costs nothing",
            )  # fmt: skip
        known = {region: _tiers(tiers) for region, tiers in self._tiers.items() if region not in self._unknown}
        partly = sorted(region for _, region in self._unknown & self._tiers.keys())
        if partly:
            more = ", ..." if len(partly) > _NAMED else ""
            notes.append(
                f"{source}: a tier of {', '.join(partly[:_NAMED])}{more} has no price, so what leaves there is "
                "unknown; write free if it costs nothing"
            )
        away: dict[tuple[str, str], list[float]] = {}
        for (origin, to), amount in self._between.items():
            if origin not in known and origin not in self._unknown and to[0] and origin[0] != to[0]:
                away.setdefault(origin, []).append(amount)
        if away:
            notes.append(f"{source}: no prices to the internet; the usual price to other providers stands for it")
        known |= {region: (PriceTier(0.0, statistics.median(some)),) for region, some in away.items()}
        return EgressPrices(known, self._between, currencies[0] if currencies else _USD, source, tuple(notes))


def _place(provider: str | None, text: str | None) -> tuple[str, str]:
    """Provider and region of `aws:us-east-1`, or of two columns; a zone of Google's becomes its region."""
    name = one_line((text or "").strip(), 60)
    owner, colon, region = name.partition(":")
    cloud, region = (owner, region) if colon else ((provider or "").strip(), name)
    if cloud == "gcp" and len(region) > 2 and region[-2] == "-" and region[-1].isalpha():
        region = region[:-2]
    return cloud.lower(), region


def _number(place: str, text: str) -> float | None:
    """A number of at least zero; None for an empty text."""
    shown = one_line(text.strip(), 40)
    if not shown:
        return None
    try:
        value = float(shown)
    except ValueError:
        raise UserMistake.at(place, f"{shown!r} is no price of a GB", "write a number, such as 0.09") from None
    if not math.isfinite(value) or value < 0:
        raise UserMistake.at(place, f"a price of {shown}", "write a number above zero, or leave it empty: unknown")
    return value


def _tiers(found: Mapping[float, float]) -> tuple[PriceTier, ...]:
    return tuple(PriceTier(begin, amount) for begin, amount in sorted(found.items()))
