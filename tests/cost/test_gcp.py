"""Google's catalogue: families by their descriptions, and machines of their parts, with real prices as the witness."""

import csv
import gzip
import io
import json
import os
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from tests.cost.rows import collected
from tests.cost.test_aws import HEAD, rows

from cloudcmp.cost.shapes import shape_of
from cloudcmp.cost.sources import gcp
from cloudcmp.model.price import Item, PriceList, Purchase

from .served import ANSWERS

DATA = Path(os.environ.get("CLOUDCMP_DATA", "nowhere"))


def listed() -> PriceList:
    """The lists of both pages."""
    told = []
    for name in ("gcp-1.json", "gcp-2.json"):
        with (ANSWERS / name).open("rb") as file:
            told += list(gcp.read(file))
    return collected(told, HEAD)


def test_families_are_told_by_their_descriptions() -> None:
    found = {(row.item.value, row.name) for row in listed().rows if row.purchase is Purchase.ON_DEMAND}
    assert found == {
        ("vcpu", "n1"), ("memory", "n1"), ("vcpu", "n1 custom"), ("vcpu", "n2"), ("memory", "n2"),
        ("vcpu", "n2 custom"), ("memory", "n2 custom"), ("memory", "n2 custom extended"), ("vcpu", "n2d"),
        ("memory", "n2d"), ("vcpu", "c2"), ("memory", "c2"), ("vcpu", "e2"), ("memory", "e2"),
        ("volume", "pd-standard"), ("volume", "pd-ssd"), ("address", "ipv4"),
    }  # fmt: skip


def test_amounts_are_units_and_billionths() -> None:
    (core,) = rows(listed(), Item.VCPU, name="n2", purchase=Purchase.ON_DEMAND)
    assert (core.amount, core.region, core.sku) == (Decimal("0.040711"), "europe-west3", "AAAA-0001")
    (committed,) = rows(listed(), Item.VCPU, purchase=Purchase.RESERVED)
    assert (committed.amount, committed.term_months) == (Decimal("0.025648"), 12)


def test_a_zero_is_a_doubt() -> None:
    (doubt,) = listed().doubts
    assert doubt.line() == "gcp/europe-west3 t2d, SKU BBBB-0009: a price of zero is unknown, not free"


@cache
def _real() -> dict[str, dict[str, float]]:
    """Machine types of the real price list, with their memory in GiB and their price an hour in one region.

    Read by its indents: a YAML reader takes the better part of a minute for it.
    """
    path = DATA / "gcp_pricing" / "pricing.yml.gz"
    if not path.is_file():
        pytest.skip("no real prices: CLOUDCMP_DATA names no folder with gcp_pricing")
    found: dict[str, dict[str, float]] = {}
    block = name = region = ""
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        indent, (key, _, value) = len(line) - len(line.lstrip()), line.strip().partition(":")
        if indent == 2:
            block = key
        elif block != "instance":
            continue
        elif indent == 4:
            name = key
        elif indent == 8:
            region = key
        elif indent == 6 and key == "ram":
            found.setdefault(name, {})["ram"] = float(value)
        elif indent == 10 and key == "hour" and region == "us-central1":
            found.setdefault(name, {})["hour"] = float(value)
    return {one: facts for one, facts in found.items() if facts.get("hour")}


def test_real_machines_are_the_sum_of_their_parts() -> None:
    """Two sizes of a family give what a processor and a GiB cost there; all others of it then cost their sum."""
    families: dict[str, list[tuple[str, float, float, float, float]]] = {}
    for name, one in _real().items():
        shape = shape_of(name)
        if shape and not shape.custom and shape.vcpus >= 1 and name != "e2-medium":
            families.setdefault(shape.family, []).append(
                (name, shape.vcpus, shape.memory_gib, float(one["hour"]), float(one.get("ram", shape.memory_gib)))
            )
    tried = 0
    for family, types in families.items():
        assert [name for name, _, gib, _, told in types if abs(gib - told) > 1e-6] == [], family
        first = types[0]
        other = next((one for one in types if abs(one[2] / one[1] - first[2] / first[1]) > 0.5), None)
        if other is None:
            continue
        scale = first[1] * other[2] - other[1] * first[2]
        core = (first[3] * other[2] - other[3] * first[2]) / scale
        gib = (first[1] * other[3] - other[1] * first[3]) / scale
        for name, vcpus, memory, hour, _ in types:
            assert core * vcpus + gib * memory == pytest.approx(hour, rel=2e-4), name
            tried += 1
    assert tried > 100


def test_real_shared_machines_are_parts_of_processors() -> None:
    hours = {name: float(one["hour"]) for name, one in _real().items()}
    two, more = hours["e2-standard-2"], hours["e2-highmem-2"]
    gib = (more - two) / 8
    core = (two - 8 * gib) / 2
    for name in ("e2-micro", "e2-small", "e2-medium"):
        shape = shape_of(name)
        assert shape is not None
        assert core * shape.vcpus + gib * shape.memory_gib == pytest.approx(hours[name], rel=1e-3)


@pytest.mark.parametrize(
    "name", ["n2-custom-2-20480", "a2-highgpu-1g", "c3-standard-4-lssd", "custom-0-1024", "m5.large"]
)
def test_names_that_do_not_tell_their_parts(name: str) -> None:
    assert shape_of(name) is None


def test_the_real_list_has_the_machines_that_are_tried() -> None:
    path = DATA / "vm_prices" / "vm_prices.csv"
    if not path.is_file():
        pytest.skip("no real prices: CLOUDCMP_DATA names no folder with vm_prices")
    with path.open() as file:
        names = {row["instance_type"] for row in csv.DictReader(file) if row["provider"] == "gcp"}
    assert sum(shape_of(name) is not None for name in names) > 150


@pytest.mark.parametrize(
    ("description", "told"),
    [
        ("Commitment v1: Compute optimized Core in Frankfurt for 1 Year", (Item.VCPU, "c2")),
        ("Commitment v1: Compute optimized Ram in Frankfurt for 3 Years", (Item.MEMORY, "c2")),
        ("Commitment v1: Cpu in Frankfurt for 1 Year", (Item.VCPU, "n1")),
        ("Commitment v1: Ram in Frankfurt for 3 Years", (Item.MEMORY, "n1")),
        ("Commitment v1: Local SSD in Frankfurt for 1 Year", (None, "")),
    ],
)
def test_commitments_whose_family_is_a_word_or_none_are_told(description: str, told: tuple[Item | None, str]) -> None:
    years = 3 if "3 Years" in description else 1
    sku = {
        "skuId": "C", "description": description, "category": {"usageType": f"Commit{years}Yr"},
        "serviceRegions": ["europe-west3"],
        "pricingInfo": [{"effectiveTime": "2026-11-20T00:00:00Z", "pricingExpression": {
            "usageUnit": "GiBy.h" if " Ram " in description else "h",
            "tieredRates": [{"unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 20000000}}]}}],
    }  # fmt: skip
    found = collected(gcp.read(io.BytesIO(json.dumps({"skus": [sku]}).encode())), HEAD).rows
    assert [(row.item, row.name, row.term_months) for row in found] == ([(*told, 12 * years)] if told[0] else [])
