"""Requests, capacity and storage of services in the lists of Amazon, Azure and Google."""

import io
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import service_lists as lists

from cloudcmp.cost.sources.fields import InvalidValue, Unreadable
from cloudcmp.cost.sources.readers import entries_of
from cloudcmp.cost.sources.tiers import MILLION, ONE, TEN_THOUSAND, TIB, Measure, tiered
from cloudcmp.model.price import Doubt, Item, PriceRow, Unit

Price = tuple[Item, str, str, Decimal, Unit, Decimal, Decimal | None]


def read(kind: str, *files: bytes) -> tuple[list[PriceRow], list[Doubt]]:
    """The prices and the doubts of a list."""
    found = list(entries_of(kind, [io.BytesIO(one) for one in files]))
    return [one for one in found if isinstance(one, PriceRow)], [one for one in found if isinstance(one, Doubt)]


def prices(rows: Iterable[PriceRow]) -> set[Price]:
    return {
        (one.item, one.name, one.region, one.amount.normalize(), one.unit, one.tier_from.normalize(), one.tier_until)
        for one in rows
    }


def price(item: Item, name: str, region: str, amount: str, unit: Unit, begin: str = "0", end: str = "") -> Price:
    until = Decimal(end) if end else None
    return item, name, region, Decimal(amount).normalize(), unit, Decimal(begin).normalize(), until


AMAZON = {
    price(Item.REQUEST, "S3 Requests-Tier1", "eu-central-1", "5.4", Unit.MILLION),
    price(Item.REQUEST, "S3 Requests-Tier2", "eu-central-1", "0.43", Unit.MILLION),
    price(Item.STORAGE, "S3 Standard", "eu-central-1", "0.0245", Unit.GIB_MONTH, "0", "51200"),
    price(Item.STORAGE, "S3 Standard", "eu-central-1", "0.0235", Unit.GIB_MONTH, "51200"),
    price(Item.REQUEST, "DynamoDB WriteRequestUnits", "eu-central-1", "0.7625", Unit.MILLION),
    price(Item.REQUEST, "DynamoDB ReadRequestUnits", "eu-central-1", "0.1525", Unit.MILLION),
    price(Item.CAPACITY, "DynamoDB WriteCapacityUnit-Hrs", "eu-central-1", "0.000793", Unit.HOUR),
    price(Item.STORAGE, "DynamoDB Standard", "eu-central-1", "0.306", Unit.GIB_MONTH),
    price(Item.REQUEST, "SQS Standard", "eu-central-1", "0.4", Unit.MILLION, "0", "100000"),
    price(Item.REQUEST, "SQS Standard", "eu-central-1", "0.3", Unit.MILLION, "100000"),
}


def test_amazon_has_the_standard_classes_and_nothing_else() -> None:
    rows, doubts = read("aws", *map(lists.amazon, lists.AMAZON))
    assert (prices(rows), doubts) == (AMAZON, [])


def test_amazons_json_says_the_same() -> None:
    rows, doubts = read("aws", *map(lists.amazon_json, lists.AMAZON))
    assert (prices(rows), doubts) == (AMAZON, [])


def test_azure_has_hot_blobs_tables_queues_and_request_units() -> None:
    rows, doubts = read("azure", lists.azure())
    blob, tables, queues = "Block Blob Hot LRS", "Tables LRS", "Queues LRS"
    expected = {
        price(Item.REQUEST, f"{blob} Write Operations", "westeurope", "5.4", Unit.MILLION),
        price(Item.REQUEST, f"{blob} Read Operations", "westeurope", "0.43", Unit.MILLION),
        price(Item.REQUEST, f"{blob} List and Create Container Operations", "westeurope", "5.4", Unit.MILLION),
        price(Item.STORAGE, f"{blob} Data Stored", "westeurope", "0.0196", Unit.GB_MONTH, "0", "51200"),
        price(Item.STORAGE, f"{blob} Data Stored", "westeurope", "0.0188", Unit.GB_MONTH, "51200"),
        *(
            price(Item.REQUEST, f"{tables} {one} Operations", "westeurope", "0.036", Unit.MILLION)
            for one in ("Batch Write", "Delete", "Read", "Scan", "Write")
        ),
        *(price(Item.REQUEST, f"{queues} Class {n} Operations", "westeurope", "0.4", Unit.MILLION) for n in (1, 2)),
        price(Item.REQUEST, "Cosmos DB serverless RUs", "westeurope", "0.285", Unit.MILLION),
    }
    assert (prices(rows), doubts) == (expected, [])


def test_azures_tiers_may_be_on_two_pages() -> None:
    first = json.loads(lists.azure(lists.AZURE[:6]))
    first["NextPageLink"] = "https://prices.azure.com/next"
    rows, _ = read("azure", json.dumps(first).encode(), lists.azure(lists.AZURE[6:]))
    stored = sorted((one.tier_from, one.tier_until) for one in rows if one.item is Item.STORAGE)
    assert stored == [(0, 51200), (51200, None)]


def test_google_has_operations_documents_nodes_and_messages() -> None:
    rows, doubts = [], []
    for service in lists.GOOGLE:
        more, unsure = read("gcp", lists.google(service))
        rows += more
        doubts += unsure
    frankfurt = "europe-west3"
    assert prices(rows) == {
        price(Item.REQUEST, "Cloud Storage Standard Class A", "", "5", Unit.MILLION),
        price(Item.REQUEST, "Cloud Storage Standard Class B", "", "0.4", Unit.MILLION),
        price(Item.STORAGE, "Cloud Storage Standard", frankfurt, "0.023", Unit.GIB_MONTH),
        price(Item.EGRESS, "Cloud Storage Download Worldwide", "", "0.12", Unit.GIB, "0", "1024"),
        price(Item.EGRESS, "Cloud Storage Download Worldwide", "", "0.11", Unit.GIB, "1024", "10240"),
        price(Item.EGRESS, "Cloud Storage Download Worldwide", "", "0.08", Unit.GIB, "10240"),
        price(Item.REQUEST, "Firestore Read Ops", frankfurt, "0.38", Unit.MILLION),
        price(Item.REQUEST, "Firestore Read Ops", "europe-west1", "0.33", Unit.MILLION),
        price(Item.REQUEST, "Firestore Entity Writes", frankfurt, "1.15", Unit.MILLION),
        price(Item.REQUEST, "Firestore Entity Deletes", frankfurt, "0.13", Unit.MILLION),
        price(Item.CAPACITY, "Bigtable Node", frankfurt, "0.78", Unit.HOUR),
        price(Item.STORAGE, "Bigtable SSD Storage", frankfurt, "0.2", Unit.GIB_MONTH),
        price(Item.REQUEST, "Pub/Sub Message Delivery Basic", "", "0.0390625", Unit.GIB),
    }
    assert [one.line() for one in doubts] == [
        "gcp/all regions Cloud Firestore Read Ops Atlantis, SKU FSRX: its region is not known"
    ]


def test_a_price_in_an_unknown_place_leaves_those_of_other_places_known() -> None:
    _, (doubt,) = read("gcp", lists.google("EE2C-7FAC-5E08"))
    assert doubt.name not in {"", "Firestore Read Ops"}


Change = Callable[[dict[str, Any]], None]


def _amazon(**fields: str) -> tuple[list[PriceRow], list[Doubt]]:
    row = lists.amazon_row("AmazonS3", "S3PUT", "EUC1-Requests-Tier1", "Requests", "0.0000054")
    named = {key.replace("_", " "): value for key, value in fields.items()}
    return read("aws", lists.amazon("AmazonS3", [{**row, **named}, *lists.S3[1:2]]))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"PricePerUnit": "0.0000000000"}, "a price of zero is unknown, not free"),
        ({"PricePerUnit": "-0.1"}, "below zero"),
        ({"PricePerUnit": "free"}, "'free' is no number"),
        ({"PricePerUnit": ""}, "'' is no number"),
        ({"PricePerUnit": "1e20"}, "implausible"),
        ({"Unit": "1000 Requests"}, "its unit '1000 Requests' is not one"),
        ({"Currency": "dollars"}, "is no currency"),
        ({"Region_Code": ""}, "its region is missing"),
        ({"EffectiveDate": "soon"}, "'soon' is no date"),
        ({"StartingRange": "5"}, "its price holds from 5 on only"),
        ({"StartingRange": "-5"}, "is no quantity"),
        ({"StartingRange": "NaN"}, "is no number"),
    ],
)
def test_amazons_bad_rows_are_one_doubt_each_and_leave_the_others(fields: dict[str, str], why: str) -> None:
    rows, (doubt,) = _amazon(**fields)
    assert [one.name for one in rows] == ["S3 Requests-Tier2"]
    assert (doubt.name, doubt.item) == ("S3 Requests-Tier1", Item.REQUEST)
    assert why in doubt.line()
    assert len(doubt.line().splitlines()) == 1


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"retailPrice": 0.0}, "a price of zero is unknown, not free"),
        ({"retailPrice": -1}, "below zero"),
        ({"retailPrice": "0.05"}, ""),
        ({"retailPrice": None}, "is no number"),
        ({"retailPrice": [0.05]}, "is no number"),
        ({"unitOfMeasure": "100K"}, "its unit '100K' is not one"),
        ({"unitOfMeasure": None}, "its unit"),
        ({"armRegionName": ""}, "armRegionName is missing"),
        ({"effectiveStartDate": "2026-13-01"}, "is no date"),
        ({"effectiveEndDate": "never"}, "is no date"),
        ({"tierMinimumUnits": 10}, "its price holds from 0.1 on only"),
        ({"tierMinimumUnits": "many"}, "is no number"),
        ({"skuId": "a\nb\x1b[31m", "retailPrice": 0}, "SKU a"),
    ],
)
def test_azures_bad_items_are_one_doubt_each_and_leave_the_others(fields: dict[str, Any], why: str) -> None:
    rows, doubts = read("azure", lists.azure([{**lists.AZURE[0], **fields}, lists.AZURE[1]]))
    names = ["Block Blob Hot LRS Read Operations", "Block Blob Hot LRS Write Operations"]
    assert sorted(one.name for one in rows) == (names if not why else names[:1])
    assert [why in one.line() and len(one.line().splitlines()) == 1 for one in doubts] == ([True] if why else [])


def _rates(change: Change) -> Change:
    return lambda sku: change(sku["pricingInfo"][0]["pricingExpression"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_rates(lambda one: one["tieredRates"][0]["unitPrice"].update(nanos=0)), "a price of zero is unknown"),
        (_rates(lambda one: one["tieredRates"][0]["unitPrice"].update(nanos=-5)), "below zero"),
        (_rates(lambda one: one["tieredRates"][0].update(startUsageAmount=3)), "holds from 3 on only"),
        (_rates(lambda one: one.update(tieredRates=[])), "it has no rates"),
        (_rates(lambda one: one.update(tieredRates=[5])), "a rate has no price"),
        (_rates(lambda one: one.update(usageUnit="h")), "its unit 'h' is not one"),
        (_rates(lambda one: one["tieredRates"].append({"unitPrice": {"currencyCode": "EUR", "units": "1"}})),
         "in 2 currencies"),
        (lambda sku: sku.update(pricingInfo=[]), "it has no price, or more than one"),
        (lambda sku: sku.update(skuId=""), "skuId is missing"),
        (lambda sku: sku["pricingInfo"][0].update(effectiveTime="today"), "is no date"),
        (lambda sku: sku.update(serviceRegions=[]), "its region is not known"),
        (lambda sku: sku.update(serviceRegions="global"), "its region is not known"),
        (lambda sku: sku.update(serviceRegions=[None]), "its region is not known"),
    ],
)  # fmt: skip
def test_googles_bad_skus_are_one_doubt_each_and_leave_the_others(change: Change, why: str) -> None:
    skus = json.loads(json.dumps(lists.GOOGLE["EE2C-7FAC-5E08"]))[0:3:2]
    change(skus[0])
    rows, (doubt,) = read("gcp", lists.google("EE2C-7FAC-5E08", skus))
    assert [(one.name, one.region) for one in rows] == [("Firestore Read Ops", "europe-west1")]
    assert why in doubt.line()
    assert len(doubt.line().splitlines()) == 1


def test_two_prices_of_one_tier_are_no_price() -> None:
    twice = [lists.S3[0], {**lists.S3[0], "PricePerUnit": "0.0000064"}]
    rows, (doubt,) = read("aws", lists.amazon("AmazonS3", twice))
    assert (rows, doubt.why) == ([], "it has two prices from 0 on")


def test_tiers_in_two_currencies_are_no_price() -> None:
    mixed = [lists.S3[4], {**lists.S3[5], "Currency": "EUR"}]
    rows, (doubt,) = read("aws", lists.amazon("AmazonS3", mixed))
    assert (rows, doubt.why) == ([], "its tiers have 2 values of Currency")


@pytest.mark.parametrize("part", [0.2, 0.6, 0.95])
def test_a_list_that_is_cut_short_is_refused_as_a_whole(part: float) -> None:
    for kind, whole in (
        ("aws", lists.amazon("AmazonS3")),
        ("azure", lists.azure()),
        ("gcp", lists.google("EE2C-7FAC-5E08")),
    ):
        with pytest.raises(Unreadable):
            read(kind, whole[: int(len(whole) * part)])


_ROW = PriceRow("aws", "eu", Item.REQUEST, "S3", Decimal(0), "USD", Unit.MILLION)
_amounts = st.decimals("0.000000000001", "1000000", places=12)


@given(_amounts, st.sampled_from([ONE, TEN_THOUSAND, MILLION, TIB, Measure(Unit.HOUR)]))
def test_a_converted_price_is_exact(amount: Decimal, measure: Measure) -> None:
    (row,) = tiered(_ROW, [(Decimal(0), amount)], measure)
    assert row.amount / measure.in_one == amount
    assert row.unit is measure.unit


@given(st.lists(st.tuples(st.integers(1, 10**15), _amounts), min_size=1, max_size=5, unique_by=lambda one: one[0]),
       _amounts, st.sampled_from([ONE, TEN_THOUSAND, TIB]))  # fmt: skip
def test_tiers_follow_each_other_without_gaps(
    later: list[tuple[int, Decimal]], first: Decimal, measure: Measure
) -> None:
    listed = [(Decimal(0), first), *((Decimal(begin), amount) for begin, amount in later)]
    rows = list(tiered(_ROW, reversed(listed), measure))
    assert [row.tier_from for row in rows] == [measure.quantity(begin) for begin, _ in sorted(listed)]
    assert [row.tier_until for row in rows] == [*(row.tier_from for row in rows[1:]), None]
    assert [row.amount for row in rows] == [measure.amount(amount) for _, amount in sorted(listed)]


@given(_amounts, st.integers(1, 10**12))
def test_a_free_allowance_is_not_counted_on(amount: Decimal, until: int) -> None:
    (row,) = tiered(_ROW, [(Decimal(0), Decimal(0)), (Decimal(until), amount)], ONE)
    assert (row.tier_from, row.tier_until, row.amount) == (0, None, amount * 10**6)


@pytest.mark.parametrize(
    "tiers", [[], [(0, 0)], [(0, 1), (5, 0)], [(0, 0), (5, 0)], [(5, 1)], [(0, 1), (0, 2)], [(0, -1)]]
)
def test_tiers_that_price_nothing_are_refused(tiers: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidValue):
        list(tiered(_ROW, [(Decimal(begin), Decimal(amount)) for begin, amount in tiers], ONE))
