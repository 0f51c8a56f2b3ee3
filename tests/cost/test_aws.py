"""Amazon's offer files: the rows that a study can rent, and no others."""

import csv
import io
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cost.rows import collected

from cloudcmp.cost.rules import directions
from cloudcmp.cost.sources import aws
from cloudcmp.cost.sources.fields import Unreadable
from cloudcmp.model.bill import Use
from cloudcmp.model.price import Item, PriceList, PriceRow, Purchase, Unit

ANSWERS = Path(__file__).parent / "answers"
HEAD = PriceList("aws", "test", "recorded", 0.0, "", "", ())


def listed(name: str = "aws.csv") -> PriceList:
    """The list of an answer."""
    with (ANSWERS / name).open("rb") as file:
        return collected(aws.read(file), HEAD)


def rows(found: PriceList, item: Item, **like: object) -> list[PriceRow]:
    """The rows of a list that are like this."""
    return [
        row for row in found.rows if row.item is item and all(getattr(row, key) == value for key, value in like.items())
    ]


def test_machines_are_told_apart_by_system_and_tenancy() -> None:
    found = listed()
    large = {
        (row.system, row.tenancy): row.amount
        for row in rows(found, Item.INSTANCE, name="m7i.large", purchase=Purchase.ON_DEMAND)
    }
    assert large == {
        ("linux", "shared"): Decimal("0.121"),
        ("linux", "dedicated"): Decimal("0.1281"),
        ("windows", "shared"): Decimal("0.213"),
        ("rhel", "shared"): Decimal("0.1498"),
    }
    assert found.published == date(2026, 11, 20)
    assert (found.currency, found.regions) == ("USD", ("eu-central-1",))


def test_what_is_in_no_study_is_left_out() -> None:
    skus = {row.sku for row in listed().rows}
    left_out = {"LNXSQLSTD0000001", "WINBYOL000000001", "LNXUNUSED0000001", "LNXHOST000000001", "LNXLOCALZONE0001"}
    assert not skus & left_out


def test_a_price_of_zero_is_a_doubt() -> None:
    (doubt,) = listed().doubts
    assert doubt.line() == "aws/eu-central-1 m7i.zero, SKU LNXZERO000000001: a price of zero is unknown, not free"


def test_commitments_are_put_together_of_their_parts() -> None:
    found = {row.plan: (row.amount, row.upfront) for row in rows(listed(), Item.INSTANCE, purchase=Purchase.RESERVED)}
    assert found == {
        "standard no upfront": (Decimal("0.0801"), Decimal(0)),
        "standard partial upfront": (Decimal("0.0381"), Decimal(334)),
        "standard all upfront": (Decimal(0), Decimal(654)),
    }


def test_a_commitment_without_its_fee_is_a_doubt() -> None:
    text = (ANSWERS / "aws.csv").read_text()
    cut = "\n".join(line for line in text.splitlines() if '"Quantity","334"' not in line)
    found = collected(aws.read(io.BytesIO(cut.encode())), HEAD)
    assert not [row for row in found.rows if row.plan == "standard partial upfront"]
    assert [one.why for one in found.doubts if one.purchase is Purchase.RESERVED] == [
        "its upfront payment is missing or unexpected for 'Partial Upfront'"
    ]


def test_volumes_have_their_rates_in_tiers() -> None:
    found = listed()
    (gp3,) = rows(found, Item.VOLUME, name="gp3")
    assert (gp3.unit, gp3.amount) == (Unit.GIB_MONTH, Decimal("0.0952"))
    assert [(row.tier_from, row.tier_until) for row in rows(found, Item.IOPS, name="gp3")] == [(3000, None)]
    assert [(row.tier_from, row.tier_until) for row in rows(found, Item.IOPS, name="io2")] == [
        (0, 32000), (32000, 64000), (64000, None)
    ]  # fmt: skip
    (throughput,) = rows(found, Item.THROUGHPUT)
    # 48.7424 for a GiB/s is 0.0476 for a MiB/s, and a MiB is 1.048576 MB.
    assert throughput.amount * Decimal("1.048576") == pytest.approx(Decimal("0.0476"))
    assert throughput.tier_from == Decimal("131.072")


def test_traffic_has_tiers_and_a_destination() -> None:
    found = [(row.tier_from, row.tier_until, row.amount, row.to) for row in rows(listed(), Item.EGRESS)]
    assert found[0] == (0, 10240, Decimal("0.09"), "internet")
    assert found[-1] == (153600, None, Decimal("0.05"), "internet")


def test_an_address_is_billed_by_the_hour() -> None:
    (row,) = rows(listed(), Item.ADDRESS)
    assert (row.name, row.amount, row.unit) == ("ipv4", Decimal("0.005"), Unit.HOUR)


def test_types_have_their_size_and_kind() -> None:
    found = {one.name: (one.vcpus, one.memory_gib, one.category) for one in listed().sold}
    assert found["m7i.xlarge"] == (4.0, 16.0, "general")
    assert found["x2idn.16xlarge"] == (64.0, 1024.0, "memory")


def test_both_forms_tell_the_same() -> None:
    def told(found: PriceList) -> list[str]:
        return sorted(map(repr, found.rows))

    assert told(listed("aws.json")) == told(listed("aws.csv"))
    assert set(listed("aws.json").sold) == set(listed("aws.csv").sold)


SAVINGS = """FormatVersion,v1.0
Disclaimer,Written by hand
Publication Date,2026-11-11T18:44:47Z
Version,20261111184447
OfferCode,AmazonComputeSavingsPlan
SKU,RateCode,Unit,EffectiveDate,DiscountedRate,Currency,DiscountedSKU,DiscountedServiceCode,DiscountedUsageType,\
DiscountedOperation,PurchaseOption,LeaseContractLength,LeaseContractLengthUnit,ServiceCode,UsageType,Operation,\
Description,Instance Family,Location,Location Type,Granularity,Product Family,DiscountedRegionCode,\
DiscountedInstanceType
A,A.B,Hrs,2026-06-05T18:51:13Z,0.0425,USD,B,AmazonEC2,EUC1-BoxUsage:m7i.large,RunInstances,No Upfront,3,year,\
ComputeSavingsPlans,x,,by hand,m7i,EU (Frankfurt),AWS Region,hourly,ComputeSavingsPlans,eu-central-1,m7i.large
"""


def test_savings_plans_have_a_list_of_their_own() -> None:
    (row,) = collected(aws.read(io.BytesIO(SAVINGS.encode())), HEAD).rows
    assert (row.name, row.amount, row.purchase, row.term_months) == (
        "m7i.large",
        Decimal("0.0425"),
        Purchase.SAVINGS,
        36,
    )
    assert row.plan == "computesavingsplans no upfront"


@pytest.mark.parametrize("lines", [0, 1, 5])
def test_a_list_without_its_head_is_refused(lines: int) -> None:
    text = "".join((ANSWERS / "aws.csv").read_text().splitlines(keepends=True)[:lines])
    with pytest.raises(Unreadable):
        list(aws.read(io.BytesIO(text.encode())))


def _changed(**like: str) -> PriceList:
    """The list with one row more, an address that is made into something else."""
    lines = (ANSWERS / "aws.csv").read_text().splitlines()
    head = next(csv.reader([lines[5]]))
    known = next(row for row in csv.reader(lines[6:]) if "PublicIPv4:InUseAddress" in ",".join(row))
    table = io.StringIO()
    names = {**dict.fromkeys(head, ""), **dict(zip(head, known, strict=True)), **like}
    csv.writer(table).writerows([list(names), list(names.values())])
    return collected(aws.read(io.BytesIO(("\n".join(lines[:5]) + "\n" + table.getvalue()).encode())), HEAD)


def test_traffic_between_zones_is_counted_on_both_sides() -> None:
    found = _changed(**{
        "Product Family": "Data Transfer", "Transfer Type": "IntraRegion", "From Region Code": "eu-central-1",
        "usageType": "EUC1-DataTransfer-Regional-Bytes", "Unit": "GB", "PricePerUnit": "0.01",
    })  # fmt: skip
    (row,) = found.rows
    assert (row.item, row.to, row.amount) == (Item.EGRESS, "region", Decimal("0.01"))
    assert directions(Use("aws", row.region, row.item, row.name, to=row.to)) == 2


@pytest.mark.parametrize(
    "row",
    [
        {"PricePerUnit": "0.0000000000"},  # what an account has free
        {"From Region Code": ""},  # of all regions together
        {"From Location Type": "AWS Local Zone"},
    ],
)
def test_traffic_that_is_free_or_of_no_region_says_nothing_of_a_region_s(row: dict[str, str]) -> None:
    sent = {"Product Family": "Data Transfer", "Transfer Type": "AWS Outbound", "From Region Code": "eu-central-1",
            "usageType": "EUC1-DataTransfer-Out-Bytes", "Unit": "GB", "PricePerUnit": "0.09"}  # fmt: skip
    assert len(_changed(**sent).rows) == 1
    found = _changed(**sent | row)
    assert (found.rows, found.doubts) == ((), ())


@pytest.mark.parametrize(
    ("name", "family", "category"),
    [
        ("t4g.small", "General purpose", "burstable"),
        ("t2.micro", "General purpose", "burstable"),
        ("trn1.2xlarge", "Machine Learning ASIC Instances", "accelerated"),
    ],
)
def test_burstable_types_are_those_of_the_family_t(name: str, family: str, category: str) -> None:
    found = _changed(**{
        "Product Family": "Compute Instance", "Instance Type": name, "Instance Family": family, "vCPU": "8",
        "Memory": "32 GiB", "Tenancy": "Shared", "Operating System": "Linux", "usageType": f"EUC1-BoxUsage:{name}",
        "CapacityStatus": "Used", "Pre Installed S/W": "NA", "License Model": "No License required",
    })  # fmt: skip
    assert [(one.name, one.category) for one in found.sold] == [(name, category)]
