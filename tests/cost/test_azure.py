"""Azure's retail prices, page by page."""

import json
from datetime import date
from decimal import Decimal
from io import BytesIO

import pytest
from tests.cost.rows import collected
from tests.cost.test_aws import HEAD, rows

from cloudcmp.cost.sources import azure
from cloudcmp.cost.sources.fields import Unreadable
from cloudcmp.cost.sources.readers import entries_of
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
    cut = json.loads((ANSWERS / "azure-2.json").read_text())
    cut["Items"].pop()
    with pytest.raises(Unreadable, match="its count is 8, but it has 7 items"):
        list(azure.read(BytesIO(json.dumps(cut).encode())))


def machine(**like: object) -> dict[str, object]:
    """An item of a page."""
    return {
        "currencyCode": "USD", "tierMinimumUnits": 0, "retailPrice": 10, "armRegionName": "westeurope", "skuId": "p/1",
        "effectiveStartDate": "2026-01-01T00:00:00Z", "meterName": "D2s v5", "skuName": "D2s v5",
        "productName": "Virtual Machines Dsv5 Series", "serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour",
        "type": "Consumption", "armSkuName": "Standard_D2s_v5", **like,
    }  # fmt: skip


def page(*items: dict[str, object]) -> BytesIO:
    """A page of items, the last one."""
    return BytesIO(json.dumps({"Items": items, "Count": len(items), "NextPageLink": None}).encode())


@pytest.mark.parametrize(
    ("like", "sold"),
    [
        ({"meterName": "D2s v5 - Expired"}, False),
        ({"skuName": "D2s v5 - Expired"}, False),
        ({"effectiveEndDate": "2026-11-21T23:59:59Z"}, False),
        ({"effectiveEndDate": "2026-11-22T23:59:59Z"}, True),
        ({"effectiveEndDate": None}, True),
    ],
)
def test_what_has_expired_is_left_out(like: dict[str, object], sold: bool) -> None:
    found = collected(azure.read(page(machine(**like)), date(2026, 11, 22)), HEAD)
    assert (len(found.rows), len(found.doubts)) == (int(sold), 0)


def test_an_end_that_is_no_date_is_a_doubt() -> None:
    plan = [{"retailPrice": 7, "term": "1 Year"}]
    for item in (machine(savingsPlan=plan), machine(type="Reservation", reservationTerm="1 Year")):
        found = collected(azure.read(page({**item, "effectiveEndDate": "soon"})), HEAD)
        assert not found.rows
        assert {one.why for one in found.doubts} == {"'soon' is no date"}


@pytest.mark.parametrize(("unit", "hours"), [("1 Hour", 1), ("10 Hours", 10), ("100 Hours", 100)])
def test_a_savings_plan_is_by_the_unit_of_its_item(unit: str, hours: int) -> None:
    item = machine(unitOfMeasure=unit, savingsPlan=[{"retailPrice": 7, "term": "1 Year"}])
    found = collected(azure.read(page(item)), HEAD)
    assert {row.purchase: row.amount * hours for row in found.rows} == {Purchase.ON_DEMAND: 10, Purchase.SAVINGS: 7}


def test_a_tier_of_traffic_ends_where_the_next_one_begins_over_all_pages() -> None:
    with (ANSWERS / "azure-1.json").open("rb") as one, (ANSWERS / "azure-2.json").open("rb") as other:
        found = rows(collected(entries_of("azure", [one, other]), HEAD), Item.EGRESS)
    assert [(row.tier_from, row.tier_until) for row in found] == [(100, 10335), (10335, None)]


def test_tiers_of_another_sku_or_region_end_by_themselves() -> None:
    traffic = {"serviceName": "Bandwidth", "meterName": "Standard Data Transfer Out", "unitOfMeasure": "1 GB"}
    told = [("b/1", "westeurope", 100), ("b/2", "westeurope", 500), ("b/1", "eastus", 700), ("b/1", "westeurope", 900)]
    items = [machine(**traffic, skuId=sku, armRegionName=region, tierMinimumUnits=begin) for sku, region, begin in told]
    found = rows(collected(entries_of("azure", [page(*items)]), HEAD), Item.EGRESS)
    assert [row.tier_until for row in found] == [900, None, None, None]
