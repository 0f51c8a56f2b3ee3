"""Prices of egress from the price book, as tiers of GB."""

import hashlib
import time
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.app.region_prices import BOOK, egress_prices
from cloudcmp.errors import UserMistake
from cloudcmp.model.price import How, Item, PriceList, PriceRow, Unit
from cloudcmp.model.wide_area import Site
from cloudcmp.store.prices import PriceBook


@pytest.fixture(autouse=True)
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty price book."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


SITES = (Site("aws", "eu-west-1"), Site("aws", "us-east-1"))


def tier(region: str, amount: str, begin: str, end: str | None, unit: Unit = Unit.GIB) -> PriceRow:
    return PriceRow("aws", region, Item.EGRESS, "egress", Decimal(amount), "USD", unit, tier_from=Decimal(begin),
                    tier_until=Decimal(end) if end else None, to="internet", sku=f"{region}-out")  # fmt: skip


def test_tiers_of_the_book_are_converted_to_gb() -> None:
    rows = (tier("eu-west-1", "0.09", "0", "10240"), tier("eu-west-1", "0.085", "10240", None))
    digest = hashlib.sha256(b"egress").hexdigest()
    with PriceBook() as book:
        book.put(PriceList("aws", "a list", How.GIVEN, time.time(), "USD", digest, rows))
    found = egress_prices(BOOK, SITES)
    first, second = found.of("aws", "eu-west-1")
    assert first.per_gb == pytest.approx(0.09 * 1e9 / 2**30)
    assert (first.from_gb, second.from_gb) == (0.0, pytest.approx(10240 * 2**30 / 1e9))
    assert found.of("aws", "us-east-1") == ()
    assert found.currency == "USD"


def test_a_tier_that_is_listed_at_zero_counts_at_the_next_price_and_is_named() -> None:
    rows = (tier("eu-west-1", "0", "0", "100"), tier("eu-west-1", "0.09", "100", None))
    with PriceBook() as book:
        book.put(PriceList("aws", "a list", How.GIVEN, time.time(), "USD", hashlib.sha256(b"x").hexdigest(), rows))
    found = egress_prices(BOOK, SITES)
    assert [one.per_gb for one in found.of("aws", "eu-west-1")] == [pytest.approx(0.09 * 1e9 / 2**30)]
    assert "counted at the price of the next tier" in found.notes[1]


def test_an_empty_book_is_a_mistake_with_what_to_do() -> None:
    with pytest.raises(UserMistake, match="prices: no price of egress; 'cloudcmp fetch"):
        egress_prices(BOOK, SITES)
