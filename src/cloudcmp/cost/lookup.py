"""Looks up prices in the price book: one amount, or one line with the reason why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import ROUND_UP, Decimal

from cloudcmp.cost.price_query import (
    NoPrice,
    PriceQuery,
    RowFilter,
    UnknownPrice,
    in_force,
    machine_rows,
    missing_disk_size,
    tier_rows,
    volume_rows,
    without_sku,
)
from cloudcmp.cost.shapes import Shape, shape_of
from cloudcmp.model.offering import Price, Volume
from cloudcmp.model.price import MONTH_HOURS, OLD_BY_NATURE, Doubt, How, Item, PriceListEntry, PriceRow, Purchase, Unit
from cloudcmp.model.price_lists import FETCHED
from cloudcmp.store.prices import PriceBook

FRESH_DAYS = 30
_RATE_ITEMS = frozenset({Item.IOPS, Item.THROUGHPUT, Item.IO})
"""What a volume is billed by, apart from its size."""
_STEP = Decimal("1e-12")
_DIGITS = 24  # more digits mean an infinite fraction


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks up prices in a book, as of one day. An empty `currency` accepts any."""

    book: PriceBook
    today: date
    currency: str = ""

    def machine(self, query: PriceQuery) -> Price | UnknownPrice:
        """Returns the hourly price of a machine.

        Unknown if no list has it, its rows differ, one of its values is invalid or a line about it could not be read. A
        list older than 30 days does not count. A price from a list that is old by nature is for display only.
        """
        return self._price_or_unknown(query.provider, query.region, query.name, lambda: self._machine(query))

    def volume(self, provider: str, region: str, volume: Volume) -> Price | UnknownPrice:
        """Returns the hourly price of a volume: its size, and its rate beyond the included one; without traffic."""
        return self._price_or_unknown(provider, region, str(volume), lambda: self._volume(provider, region, volume))

    def commitments(self, query: PriceQuery) -> list[PriceRow]:
        """Returns the hourly prices of a committed machine: a row for each term and plan with one current price."""
        there = (query.provider, query.region, Item.INSTANCE)
        lists = self.book.lists(*there, query.purchase)
        rows = [row for list_ in lists for row in self.book.rows(list_, *there, query.name)]
        kinds = {(row.term_months, row.plan) for row in rows if row.purchase is query.purchase and row.term_months}
        offers = []
        for months, plan in sorted(kinds):
            try:
                list_, row = self._find_row(*there, query.name, _of_plan(replace(query, term_months=months), plan))
            except NoPrice:
                continue
            if list_.how not in OLD_BY_NATURE and row.unit is Unit.HOUR and row.amount + row.upfront > 0:
                offers.append(row)
        return offers

    def address(self, provider: str, region: str) -> Price | UnknownPrice:
        """Returns the hourly price of a public IPv4 address."""

        def address_price() -> Price:
            list_, row = self._find_row(provider, region, Item.ADDRESS, "ipv4", RowFilter())
            return self._price(list_, row, _hourly_amount(row), row.sku)

        return self._price_or_unknown(provider, region, "ipv4", address_price)

    def _price_or_unknown(
        self, provider: str, region: str, name: str, look: Callable[[], Price]
    ) -> Price | UnknownPrice:
        try:
            return look()
        except NoPrice as no:
            return UnknownPrice(provider, region, name, no.why, no.sku)

    def _machine(self, query: PriceQuery) -> Price:
        shape = shape_of(query.name)
        try:
            list_, row = self._find_row(query.provider, query.region, Item.INSTANCE, query.name, machine_rows(query))
        except NoPrice:
            if self._is_listed(query) or not self.book.lists(query.provider, query.region, Item.VCPU):
                raise
            if shape is None:
                raise NoPrice("its name does not show its billed processors and memory") from None
            return self._price_of_parts(query, shape)
        return self._price(list_, row, _hourly_amount(row), row.sku)

    def _is_listed(self, query: PriceQuery) -> bool:
        """True if a list names the machine; its errors then count, and its price is not composed of parts."""
        wanted = machine_rows(query)
        for list_ in self.book.lists(query.provider, query.region, Item.INSTANCE):
            rows = self.book.rows(list_, query.provider, query.region, Item.INSTANCE, query.name)
            doubts = self.book.doubts(list_, query.provider, query.region, query.name)
            about = (one for one in doubts if one.name == query.name and one.item in {None, Item.INSTANCE})
            if any(map(wanted.row, rows)) or any(map(wanted.doubt, about)):
                return True
        return False

    def _price_of_parts(self, query: PriceQuery, shape: Shape) -> Price:
        """Returns the price of a machine as processors plus memory; systems with a licence have none."""
        if query.system != "linux" or query.tenancy != "shared":
            raise NoPrice(f"no list has the price of {query.system} on {query.tenancy} machines")
        family = f"{shape.family} custom" if shape.custom else shape.family
        parts = [(Item.VCPU, family, shape.vcpus), (Item.MEMORY, family, shape.memory_gib)]
        if shape.extended_gib:
            parts.append((Item.MEMORY, f"{family} extended", shape.extended_gib))
        total, skus = Decimal(0), []
        for item, name, quantity in parts:
            list_, row = self._find_row(query.provider, query.region, item, name, machine_rows(query))
            if row.unit is not (Unit.HOUR if item is Item.VCPU else Unit.GIB_HOUR):
                raise NoPrice(f"{row.unit} is no unit for the {item} of a machine", row.sku)
            _check_complete(row)
            total += row.amount * Decimal(repr(quantity))
            skus.append((list_, row))
        return self._sum(skus, total)

    def _volume(self, provider: str, region: str, volume: Volume) -> Price:
        if volume.size_bytes is None:
            raise NoPrice("its size is unknown")
        gib = Decimal(-(-volume.size_bytes // 2**30))
        list_, row = self._find_row(provider, region, Item.VOLUME, volume.type, volume_rows(gib))
        sizes = _billed_units(row, gib, Decimal(volume.size_bytes))
        _check_complete(row, None if row.unit is Unit.MONTH else sizes)
        month = row.amount * sizes
        parts = [(list_, row)]
        for one in self.book.doubts(list_, provider, region, volume.type):
            if one.name == volume.type and one.item in _RATE_ITEMS:
                raise NoPrice(one.why, one.sku)
        rates = self._rate_rows(provider, region, Item.IOPS, volume.type)
        if self._rate_rows(provider, region, Item.IO, volume.type):
            raise NoPrice("it is billed by the operation as well", row.sku)
        if rates and volume.iops is None and min(one.tier_from for _, one in rates) == 0:
            raise NoPrice("it is billed by its rate, which is not given: write iops", row.sku)
        if volume.iops is not None and not rates and row.unit is not Unit.MONTH:
            raise NoPrice("no list has a price for its rate", row.sku)
        for begin in sorted({one.tier_from for _, one in rates}):
            if volume.iops is not None and volume.iops > begin:
                tier = self._find_row(provider, region, Item.IOPS, volume.type, tier_rows(begin))
                upper = tier[1].tier_until
                quantity = (volume.iops if upper is None else min(Decimal(volume.iops), upper)) - begin
                month += tier[1].amount * quantity
                parts.append(tier)
        return self._sum(parts, month / MONTH_HOURS)

    def _rate_rows(self, provider: str, region: str, item: Item, name: str) -> list[tuple[PriceListEntry, PriceRow]]:
        """Returns the rows of a rate in the first list that has any; raises NoPrice if a line is in doubt."""
        for list_ in self.book.lists(provider, region, item):
            for one in self.book.doubts(list_, provider, region, name):
                if one.name == name and one.item is item:
                    raise NoPrice(one.why, one.sku)
            if rows := self.book.rows(list_, provider, region, item, name):
                return [(list_, row) for row in rows]
        return []

    def _find_row(
        self, provider: str, region: str, item: Item, name: str, wanted: RowFilter
    ) -> tuple[PriceListEntry, PriceRow]:
        """Returns the one row that prices a thing. Only the user's own lists may be incomplete."""
        lists = self.book.lists(provider, region, item, wanted.purchase)
        if not lists:
            raise NoPrice(_no_list(self.book, provider, region, item, wanted.purchase))
        kept: NoPrice | None = None
        for list_ in lists:
            rows = self.book.rows(list_, provider, region, item, name)
            doubts = [one for one in self.book.doubts(list_, provider, region, name) if one.item in {None, item}]
            if (
                list_.how == How.GIVEN
                and not any(map(wanted.row, rows))
                and not any(one.name == name for one in doubts)
            ):
                continue
            try:
                return list_, self._choose_row(list_, rows, doubts, wanted)
            except NoPrice as no:
                kept = no
            break
        raise kept or NoPrice("the price lists at hand do not have it in this region")

    def _choose_row(
        self, list_: PriceListEntry, rows: Sequence[PriceRow], doubts: Sequence[Doubt], wanted: RowFilter
    ) -> PriceRow:
        fitting = [row for row in rows if wanted.row(row)]
        for one in doubts:  # a line without a name does not affect one with a name
            if wanted.doubt(one) and (one.name or not fitting):
                raise NoPrice(one.why, one.sku)
        if not fitting:
            raise NoPrice(_no_row(list_, rows))
        begun = [row for row in fitting if row.starts is None or row.starts <= self.today]
        begun = begun or [row for row in fitting if row.starts and row.starts <= self.today + timedelta(days=1)]
        if not begun:
            first = min(row.starts for row in fitting if row.starts)
            raise NoPrice(f"its price holds from {first} on, after today", fitting[0].sku)
        distinct = list(dict.fromkeys(without_sku(row) for row in in_force(begun)))
        currencies = sorted({row.currency for row in distinct})
        if len(currencies) > 1 and self.currency in currencies:
            distinct = [row for row in distinct if row.currency == self.currency]
        if len(distinct) > 1:
            amounts = ", ".join(
                sorted({f"{one.amount.normalize():f} {one.currency} for a {one.unit}" for one in distinct})
            )
            skus = ", ".join(sorted({row.sku for row in begun if row.sku})[:4])
            raise NoPrice(f"it is listed at {len(distinct)} prices: {amounts}", skus)
        row = next(row for row in in_force(begun) if without_sku(row) == distinct[0])
        if self.currency and row.currency != self.currency:
            raise NoPrice(f"its price is in {row.currency}, not in {self.currency}", row.sku)
        self._check_fresh(list_, row)
        return row

    def _check_fresh(self, list_: PriceListEntry, row: PriceRow) -> None:
        if list_.how in OLD_BY_NATURE:
            return
        if list_.dated is None:
            raise NoPrice("its list has no date", row.sku)
        age_days = (self.today - list_.dated).days
        if age_days > FRESH_DAYS:
            raise NoPrice(
                f"its price is {age_days} days old ({list_.source}, {list_.dated}), more than {FRESH_DAYS}", row.sku
            )
        if age_days < -1:
            raise NoPrice(f"its list is dated {list_.dated}, after today ({list_.source})", row.sku)

    def _sum(self, parts: Sequence[tuple[PriceListEntry, PriceRow]], amount: Decimal) -> Price:
        """Returns the sum of rows as one price: as old as the oldest list, as reliable as the least reliable one."""
        currencies = sorted({row.currency for _, row in parts})
        if len(currencies) > 1:
            raise NoPrice(f"its parts are in {' and '.join(currencies)}", parts[0][1].sku)
        oldest = min((list_ for list_, _ in parts), key=lambda one: (one.dated is not None, one.dated or date.min))
        unsure = next((list_ for list_, _ in parts if list_.how in OLD_BY_NATURE), oldest)
        price = self._price(unsure, parts[0][1], amount, " + ".join(row.sku for _, row in parts if row.sku))
        return replace(price, as_of=oldest.dated)

    def _price(self, list_: PriceListEntry, row: PriceRow, amount: Decimal, sku: str) -> Price:
        short = amount if len(amount.as_tuple().digits) < _DIGITS else amount.quantize(_STEP, ROUND_UP)
        return Price(short.normalize() + 0, row.currency, list_.source, list_.dated, list_.how, sku, list_.sha256[:12])


def _of_plan(query: PriceQuery, plan: str) -> RowFilter:
    """Returns a filter for rows of exactly this plan, also if it is empty."""
    own = machine_rows(query)
    return replace(own, row=lambda row: own.row(row) and row.plan == plan)


def _check_complete(row: PriceRow, quantity: Decimal | None = None) -> None:
    """Raises NoPrice if the amount is not the whole payment, or holds for other quantities only.

    Without a quantity the price must hold for any. A disk of a fixed size (MONTH) was already chosen by its size.
    """
    if row.upfront > 0:
        raise NoPrice(f"{row.upfront.normalize():f} {row.currency} more are paid upfront", row.sku)
    if row.unit is Unit.MONTH and row.item is Item.VOLUME:
        return
    if row.tier_from > 0:
        raise NoPrice(f"its price holds from {row.tier_from} on only", row.sku)
    if row.tier_until is not None and (quantity is None or quantity > row.tier_until):
        raise NoPrice(f"its price holds up to {row.tier_until} only", row.sku)


def _hourly_amount(row: PriceRow) -> Decimal:
    """Returns the price of an hour; raises NoPrice if that is not the whole payment."""
    if row.amount <= 0:
        raise NoPrice("its hourly price is zero", row.sku)
    if row.least > 0:
        raise NoPrice(f"at least {row.least} {row.unit} of it are billed", row.sku)
    _check_complete(row)
    if row.unit is Unit.HOUR:
        return row.amount
    if row.unit is Unit.MONTH:
        return row.amount / MONTH_HOURS
    raise NoPrice(f"{row.unit} is no unit that it is rented by", row.sku)


def _billed_units(row: PriceRow, gib: Decimal, size_bytes: Decimal) -> Decimal:
    """Returns how many units of its price a volume is billed for in a month."""
    if row.unit is Unit.MONTH:
        return Decimal(1)
    hours = MONTH_HOURS if row.unit in {Unit.GIB_HOUR, Unit.GB_HOUR} else 1
    if row.unit in {Unit.GIB_MONTH, Unit.GIB_HOUR}:
        return max(gib, row.least) * hours
    if row.unit in {Unit.GB_MONTH, Unit.GB_HOUR}:
        return max(size_bytes / 10**9, row.least) * hours
    raise NoPrice(f"{row.unit} is no unit of a volume", row.sku)


def _no_row(list_: PriceListEntry, rows: Sequence[PriceRow]) -> str:
    if rows and all(row.item is Item.VOLUME for row in rows) and (why := missing_disk_size(rows)):
        return why
    if rows:
        variants = sorted({" ".join(filter(None, (row.system, row.purchase, row.tenancy))) for row in rows})
        return f"it is listed only as {', '.join(variants[:3])}{' and more' if variants[3:] else ''}"
    if list_.how in {How.GIVEN, *OLD_BY_NATURE}:
        return f"it is not in the list of {list_.dated or 'no date'} ({list_.source})"
    return f"it is not sold in this region by the list of {list_.dated or 'no date'} ({list_.source})"


def _no_list(book: PriceBook, provider: str, region: str, item: Item, purchase: Purchase) -> str:
    if book.lists(provider, region, item):
        return f"no list at hand has {purchase} prices there"
    fetch = f"cloudcmp fetch {provider} --region {region}"
    if provider not in FETCHED:
        fetch = "write price: into the study, or name a list: cloudcmp fetch --from FILE --as csv"
    if book.lists(provider):
        return f"no price list at hand covers it there: {fetch}"
    return f"no price list is at hand: {fetch}"
