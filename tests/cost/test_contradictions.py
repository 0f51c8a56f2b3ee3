"""Lists that contradict themselves: a line that says two things of what it prices tells no price."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cost.fates import CLEAN, TODAY, broken, fate
from tests.cost.poisons import Poison, json_with, swap

_ROW = '"LNXSHARED0000001","JRTCKXETXF"'


def amazon(old: str, new: str) -> Poison:
    """Another text in the row of the machine that is asked for."""

    def poison(content: bytes) -> bytes:
        line = next(one for one in content.decode().splitlines(keepends=True) if _ROW in one)
        assert old in line
        return content.replace(line.encode(), line.replace(old, new).encode())

    return poison


def azure(**fields: object) -> Poison:
    """Other values in the first item."""
    return json_with(lambda page: page["Items"][0].update(fields))


def google(change: Callable[[Any], None]) -> Poison:
    """The first SKU, changed."""
    return json_with(lambda page: change(page["skus"][0]))


def ours(column: str, value: str) -> Poison:
    """One more column in a list of one's own, with a value for the first machine."""

    def poison(content: bytes) -> bytes:
        head, first, second = content.decode().splitlines()
        return f"{head},{column}\n{first},{value}\n{second},\n".encode()

    return poison


def _begins_at(sku: Any) -> None:
    sku["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["startUsageAmount"] = 100


CONTRADICTIONS: dict[tuple[str, str], Poison] = {
    ("aws", "Linux by its name, Windows by what is billed"): amazon('"RunInstances"', '"RunInstances:0002"'),
    ("aws", "Linux by its name, SQL Server by what is billed"): amazon('"RunInstances"', '"RunInstances:0004"'),
    ("aws", "another type is billed"): amazon("BoxUsage:m7i.large", "BoxUsage:m7i.xlarge"),
    ("aws", "a shared machine billed as a dedicated one"): amazon("EUC1-BoxUsage", "EUC1-DedicatedUsage"),
    ("aws", "a price up to so many hours"): amazon('"0","Inf","Hrs"', '"0","744","Hrs"'),
    ("aws", "unused capacity"): amazon('"Used"', '"UnusedCapacityReservation"'),
    ("aws", "a price of a thousand hours"): amazon('"Hrs"', '"1000 Hrs"'),
    ("aws", "the columns of unit and amount changed"): swap('"Unit","PricePerUnit"', '"PricePerUnit","Unit"', 1),
    ("aws", "digits of another script"): amazon("0.1210000000", "٠.١٢"),
    ("aws", "an underscore"): amazon("0.1210000000", "0_1.21"),
    ("azure", "Windows by its SKU alone"): azure(skuName="Standard_D2s_v5 Windows"),
    ("azure", "of no product, Windows or Linux"): azure(productName=None),
    ("azure", "with Red Hat's licence"): azure(productName="Virtual Machines DSv5 Series Red Hat"),
    ("azure", "with SUSE's licence"): azure(productName="Virtual Machines DSv5 Series SUSE"),
    ("azure", "spot in small letters"): azure(meterName="D2s v5 spot"),
    ("azure", "low priority in small letters"): azure(meterName="D2s v5 low priority"),
    ("azure", "by the hour, and of a term"): azure(reservationTerm="1 Year"),
    ("azure", "a page in another currency"): json_with(lambda page: page.update(BillingCurrency="EUR")),
    ("azure", "a price of a month"): azure(unitOfMeasure="1/Month"),
    ("gcp", "spot by its words, on demand by its kind"): google(
        lambda sku: sku.update(description="Spot Preemptible N2 Instance Core running in Frankfurt")
    ),
    ("gcp", "a commitment by its words, on demand by its kind"): google(
        lambda sku: sku.update(description="Commitment v1: N2 Cpu in Frankfurt for 1 Year")
    ),
    ("gcp", "a price from a hundred hours on"): google(_begins_at),
    ("csv", "half a month of a term"): ours("term_months", "0.5"),
    ("csv", "a hundred hours at least"): ours("least", "100"),
    ("csv", "a price up to no hour"): ours("tier_until", "0"),
    ("csv", "as much again at the beginning"): ours("upfront", "500"),
}


@pytest.mark.parametrize(("kind", "name"), CONTRADICTIONS, ids=lambda one: one.replace(" ", "_"))
def test_p13_a_list_that_contradicts_itself_tells_no_price(kind: str, name: str) -> None:
    first, *rest = CLEAN[kind]()
    one = fate(kind, [CONTRADICTIONS[kind, name](first), *rest])
    assert one.price is None, one.price
    assert broken(kind, one) == ""


def test_google_s_commitments_are_for_as_long_as_they_say() -> None:
    from cloudcmp.cost.sources import gcp
    from cloudcmp.model.price import Doubt, PriceRow

    page = json.loads(CLEAN["gcp"]()[0])
    sku = next(one for one in page["skus"] if one["description"].startswith("Commitment v1: N2 Cpu"))

    def told(usage: str) -> list[Any]:
        import io

        sku["category"]["usageType"] = usage
        return list(gcp.read(io.BytesIO(json.dumps({"skus": [sku]}).encode())))

    (row,) = told("Commit1Yr")
    assert isinstance(row, PriceRow)
    assert (row.term_months, row.starts is None or row.starts <= TODAY) == (12, True)
    (doubt,) = told("Commit3Yr")
    assert isinstance(doubt, Doubt)
    assert doubt.region == "europe-west3"  # those of other regions are what they are
    assert "is not what 'Commitment v1: N2 Cpu in Frankfurt for 1 Year' says" in doubt.why


@pytest.mark.parametrize(
    "said", [{"tier_until": 0}, {"purchase": False}, {"item": []}, {"tenancy": 0}, {"system": {}}, {"starts": False}],
    ids=str,
)  # fmt: skip
def test_what_is_nothing_in_json_is_not_what_is_usual(said: dict[str, object]) -> None:
    row = {"provider": "ours", "region": "hall", "name": "small", "amount": "0.02", "currency": "EUR", "unit": "h"}
    document = {"schema": "cloudcmp.prices/1", "as_of": "2026-11-20", "prices": [row]}
    assert fate("csv", [json.dumps(document).encode()]).price is not None
    document["prices"] = [row | said]
    assert fate("csv", [json.dumps(document).encode()]).price is None
