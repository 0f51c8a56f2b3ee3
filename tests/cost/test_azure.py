"""Azure's retail prices, page by page."""

import json
from decimal import Decimal

import pytest
from tests.cost.test_aws import HEAD, rows

from cloudcmp.cost.sources import azure
from cloudcmp.cost.sources.base import Unreadable, collected
from cloudcmp.model.price import Item, PriceList, Purchase, Unit

from .served import ANSWERS


def listed(*names: str) -> PriceList:
    """The lists of some pages."""
    told = []
    for name in names or ("azure-1.json", "azure-2.json"):
        with (ANSWERS / name).open("rb") as file:
            told += list(azure.read(file))
    return collected(told, HEAD)


def test_machines_are_told_apart_by_system_and_purchase() -> None:
    found = {
        (row.system, row.purchase, row.term_months): (row.amount, row.upfront)
        for row in rows(listed(), Item.INSTANCE, name="Standard_D2s_v5")
    }
    assert found == {
        ("linux", Purchase.ON_DEMAND, 0): (Decimal("0.115"), 0),
        ("windows", Purchase.ON_DEMAND, 0): (Decimal("0.207"), 0),
        ("linux", Purchase.SPOT, 0): (Decimal("0.0213"), 0),
        ("linux", Purchase.SAVINGS, 12): (Decimal("0.0787"), 0),
        ("linux", Purchase.SAVINGS, 36): (Decimal("0.0528"), 0),
        ("linux", Purchase.RESERVED, 12): (0, 620),
        ("linux", Purchase.RESERVED, 36): (0, 1200),
    }


def test_disks_have_the_size_of_their_name() -> None:
    found = [(row.name, row.unit, row.tier_from, row.tier_until, row.amount) for row in rows(listed(), Item.VOLUME)]
    assert found == [
        ("Premium_LRS", Unit.MONTH, 64, 128, Decimal("19.71")),
        ("Premium_LRS", Unit.MONTH, 128, 256, Decimal("38.02")),
    ]


def test_what_is_free_each_month_is_not_counted_on() -> None:
    found = [(row.tier_from, row.amount) for row in rows(listed(), Item.EGRESS)]
    assert found == [(100, Decimal("0.087")), (10335, Decimal("0.083"))]


def test_doubts_have_their_reason() -> None:
    assert [one.line().partition(", SKU")[0] + ":" + one.line().rpartition(":")[2] for one in listed().doubts] == [
        "azure/westeurope Standard_A0_zero: a price of zero is unknown, not free",
        "azure/westeurope StandardSSD_LRS: it is billed by the operation as well",
    ]


def test_a_page_tells_its_next_one() -> None:
    with (ANSWERS / "azure-1.json").open("rb") as file:
        assert azure.next_of(file) == "NEXT"
    with (ANSWERS / "azure-2.json").open("rb") as file:
        assert azure.next_of(file) == ""


def test_a_page_with_another_number_of_items_than_it_says_is_refused() -> None:
    from io import BytesIO

    page = json.loads((ANSWERS / "azure-2.json").read_text())
    page["Items"].pop()
    with pytest.raises(Unreadable, match="says that it has 8 items, and has 7"):
        list(azure.read(BytesIO(json.dumps(page).encode())))
