"""Which rows of a list are a use's rate."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from cloudcmp.cost.bill import bill
from cloudcmp.cost.rates import rates
from cloudcmp.model.bill import Use
from cloudcmp.model.price import Item, PriceList, PriceRow, Purchase, Unit

TODAY = date(2026, 11, 22)
SENT = PriceRow("aws", "eu", Item.EGRESS, "egress", Decimal("0.01"), "USD", Unit.GIB, to="region", sku="A")
GIB_SENT = Use("aws", "eu", Item.EGRESS, "egress", size=Decimal(2**30), to="region")


def total(use: Use, *rows: PriceRow) -> Decimal | str:
    """What a use costs by a list of these rows, or why that is not known."""
    known = PriceList(use.provider, "a list", "fetched", 0.0, "USD", "a" * 64, rows, published=TODAY)
    found = bill([use], rates([known], TODAY))
    return found.total.amount if found.total else found.unknown[0].partition(": ")[2]


def test_rows_that_say_the_same_are_one() -> None:
    assert total(GIB_SENT, SENT, replace(SENT, sku="B")) == Decimal("0.01")
    other = replace(SENT, sku="B", amount=Decimal("0.02"))
    assert total(GIB_SENT, SENT, other) == "it is listed at 2 prices, 0.01 to 0.02"


def test_the_later_price_of_one_sku_ends_the_earlier_one() -> None:
    old = replace(SENT, starts=date(2026, 1, 1))
    now = replace(SENT, starts=date(2026, 6, 1), amount=Decimal("0.012"))
    to_come = replace(SENT, starts=date(2026, 12, 1), amount=Decimal("0.5"))
    assert total(GIB_SENT, old, now, to_come) == Decimal("0.012")


DISKS = tuple(
    PriceRow("azure", "eu", Item.VOLUME, "Premium_LRS", Decimal(amount), "USD", Unit.MONTH, tier_from=Decimal(begin),
             tier_until=Decimal(end) if end else None)
    for amount, begin, end in (("0.6", 0, 4), ("19.71", 4, 128), ("135.17", 128, 1024))
)  # fmt: skip


@pytest.mark.parametrize(
    ("gib", "month"),
    [(4, "0.6"), (5, "19.71"), (128, "19.71"), (1024, "135.17"), (1025, "no disk of its size is listed")],
)
@pytest.mark.parametrize("open_end", [False, True])
def test_a_disk_that_is_sold_whole_is_priced_by_its_size(gib: int, month: str, open_end: bool) -> None:
    """The tiers of such prices are sizes: not how many disks a month has had."""
    rows = (*DISKS[:-1], replace(DISKS[-1], tier_until=None)) if open_end else DISKS
    use = Use("azure", "eu", Item.VOLUME, "Premium_LRS", count=3, size=Decimal(gib * 2**30),
              periods_s=(Decimal(730 * 3600),))  # fmt: skip
    found = total(use, *rows)
    if open_end and gib > 1024:
        assert found == 3 * DISKS[-1].amount
    else:
        assert found == 3 * Decimal(month) if month[0].isdigit() else str(found).startswith(month)


HELD = Use("aws", "eu", Item.INSTANCE, "x", periods_s=(Decimal(3600),))
HOUR = PriceRow("aws", "eu", Item.INSTANCE, "x", Decimal("0.03"), "USD", Unit.HOUR)


def test_an_hour_s_price_that_is_not_all_that_is_paid_is_unknown() -> None:
    reserved = replace(HOUR, purchase=Purchase.RESERVED, term_months=12, upfront=Decimal(334))
    use = replace(HELD, purchase=Purchase.RESERVED, term_months=12)
    assert total(use, reserved) == "334 USD more are paid upfront"
    assert total(use, replace(reserved, upfront=Decimal(0))) == Decimal("0.03")
    assert total(HELD, replace(HOUR, least=Decimal(100))) == "at least 100 h of it are billed"


@pytest.mark.parametrize("size", ["NaN", "Infinity", "-1"])
def test_what_cannot_be_used_costs_nothing_that_is_known(size: str) -> None:
    assert total(replace(GIB_SENT, size=Decimal(size)), SENT) == "its quantity is negative or infinite"
    assert total(replace(HELD, periods_s=(Decimal(size),)), HOUR) == "its duration is negative or infinite"
    assert total(replace(HELD, count=-1), HOUR) == "its quantity is negative or infinite"


def test_a_gp3_volume_brings_125_mib_a_second() -> None:
    flat = PriceRow("aws", "eu", Item.THROUGHPUT, "gp3", Decimal("0.04"), "USD", Unit.MB_PER_S_MONTH)
    use = Use("aws", "eu", Item.THROUGHPUT, "gp3", size=Decimal(125 * 2**20), periods_s=(Decimal(730 * 3600),))
    assert total(use, flat) == 0
