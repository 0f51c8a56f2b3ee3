"""Worked examples of providers' own pages, billed again."""

from datetime import date
from decimal import Decimal

import pytest
from tests.cost.rows import SECOND, at, row, tiers, use

from cloudcmp.cost.account_terms import support_due
from cloudcmp.cost.bill import bill
from cloudcmp.cost.rules import sustained
from cloudcmp.model.bill import Bill, Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Item, Unit
from cloudcmp.model.terms import Support, SupportTier
from cloudcmp.units import Money

MONTH_30 = 30 * 24


def total(found: Bill) -> Decimal:
    assert found.total is not None, found.unknown
    return found.total.amount


def test_gp3_for_twelve_hours() -> None:
    """https://aws.eu/ebs/pricing, example 1: 2,000 GB, 10,000 IOPS, 500 MB/s for 43,200 s of a 30-day month."""
    size = bill([use(Item.VOLUME, 43200, 2000 * 10**9)], at(row("0.09394", Unit.GB_MONTH)), month_h=MONTH_30)
    assert total(size) == pytest.approx(Decimal("3.13133"), abs=Decimal("0.000005"))
    beyond = at(row("0.00592", Unit.IOPS_MONTH), included=Decimal(3000))
    iops = bill([use(Item.IOPS, 43200, 10000)], beyond, month_h=MONTH_30)
    assert total(iops) == pytest.approx(Decimal("0.00592") * 7000 / 60)


def test_a_provisioned_iops_volume_for_half_a_month() -> None:
    """1,000 IOPS at 0.10 USD for 15 days of 30: 50 USD (https://aws.amazon.com/ebs/pricing/, io1; text as quoted R)."""
    found = bill([use(Item.IOPS, 15 * 86400, 1000)], at(row("0.10", Unit.IOPS_MONTH)), month_h=MONTH_30)
    assert total(found) == 50


@pytest.mark.parametrize(("seconds", "paid"), [(30, 60), (60, 60), (61, 61), (90.5, 91)])
def test_compute_engine_bills_a_minute_at_least_and_then_each_second(seconds: float, paid: int) -> None:
    """https://cloud.google.com/compute/vm-instance-pricing: 30 s are billed as a minute."""
    assert total(bill([use(seconds=seconds)], at(row("3.6")))) == Decimal(paid) / 1000


def test_hours_begun() -> None:
    """16 machines for 20 min, one for 15 and one for 70: 16 + 1 + 2 hours (http://omerio.com/, by the hour)."""
    uses = [use(seconds=1200, count=16), use(seconds=900), use(seconds=4200)]
    assert total(bill(uses, at(row("1"), Billing()))) == 19


@pytest.mark.parametrize(
    ("spend", "due"), [("85000", "6150"), ("500", "100"), ("1000", "100"), ("10000", "1000"), ("300000", "15900")]
)
def test_business_support(spend: str, due: str) -> None:
    """https://aws.amazon.com/premiumsupport/pricing/: 85,000 USD of use cost 6,150 USD of support."""
    shares = (("10000", "0.10"), ("80000", "0.07"), ("250000", "0.05"), (None, "0.03"))
    steps = tuple(SupportTier(Decimal(share), None if end is None else Decimal(end)) for end, share in shares)
    plan = Support("aws", Money(Decimal(100), "USD"), steps)
    assert support_due(plan, Decimal(spend)) == Decimal(due)


def test_enterprise_support() -> None:
    """The same page: 1.2 million USD of use cost 70,500 USD of support."""
    shares = (("150000", "0.10"), ("500000", "0.07"), ("1000000", "0.05"), (None, "0.03"))
    steps = tuple(SupportTier(Decimal(share), None if end is None else Decimal(end)) for end, share in shares)
    assert support_due(Support("aws", Money(Decimal(15000), "USD"), steps), Decimal(1_200_000)) == 70500


@pytest.mark.parametrize(("share", "paid"), [("0.25", "0.25"), ("0.5", "0.45"), ("0.75", "0.60"), ("1", "0.70")])
def test_sustained_use(share: str, paid: str) -> None:
    """https://cloud.google.com/compute/docs/sustained-use-discounts: 10, 20, 30 % off half to all of a month."""
    one = Use("gcp", "eu", Item.INSTANCE, "n1-standard-1", periods_s=(Decimal(share) * 730 * 3600,))
    found = bill([one], at(row("0.0475"), SECOND, monthly=sustained(one)))
    assert total(found) == pytest.approx(Decimal("0.0475") * 730 * Decimal(paid), rel=Decimal("1e-9"))


EGRESS = tiers(("0", "1"), ("0.114", "10000"), ("0.098", "50000"), ("0.094", "150000"), ("0.092", None))


def test_egress_of_two_services_shares_the_tiers() -> None:
    """1 GB of each of two services costs 0.114 USD (https://chengqing.dev/en/2020/01/23/aws-data-transfer/)."""
    found = bill([use(Item.EGRESS, size=10**9), use(Item.EGRESS, size=10**9)], at(EGRESS))
    assert total(found) == Decimal("0.114")
    assert [one.quantity for one in found.lines] == [1, 1]


def test_egress_beyond_the_free_part() -> None:
    """107.33 GB with 100 GB free at 0.09 USD: 0.66 USD (https://repost.aws/questions/QUAT1NfOeZSAK5z8KXXO9jgA/)."""
    found = bill([use(Item.EGRESS, size="107330000000")], at(tiers(("0", "100"), ("0.09", "10100"), ("0.085", None))))
    assert round(total(found), 2) == Decimal("0.66")


def test_ten_addresses_for_a_month() -> None:
    """0.005 USD an hour for each public IPv4 address (https://aws.amazon.com/vpc/pricing/): 36 USD for 10 x 720 h."""
    assert total(bill([use(Item.ADDRESS, 720 * 3600, count=10)], at(row("0.005")))) == 36


def test_cpu_hours_of_app_engine() -> None:
    """CloudCmp (IMC 2010), section 3: C3 bills the cycles of a 1.2 GHz core, and not the time that instances are there.

    Half an hour of a 2.4 GHz core is an hour of it; 0.10 USD an hour (R).
    """
    cycles = Use("aws", "eu", Item.VCPU, "x", size=Decimal(2), periods_s=(Decimal(1800),))
    assert total(bill([cycles], at(row("0.10"), Billing(0.0, 0.0)))) == Decimal("0.10")


def test_requests_capacity_and_snapshots() -> None:
    asked = bill([use(Item.REQUEST, size=25_000)], at(row("5", Unit.MILLION)))  # 0.005 USD for 1,000
    assert total(asked) == Decimal("0.125")
    units = bill([use(Item.CAPACITY, 5400, 100)], at(row("0.00013"), Billing()))
    assert total(units) == 100 * 2 * Decimal("0.00013")
    kept = bill([use(Item.SNAPSHOT, 365 * 3600, 10 * 2**30)], at(row("0.05", Unit.GIB_MONTH)))
    assert total(kept) == Decimal("0.25")


def test_a_month_of_dedicated_machines_pays_the_fee_once_an_hour() -> None:
    """2 USD an hour for each region with one (https://aws.amazon.com/ec2/pricing/dedicated-instances/)."""
    fee = bill([use(Item.FEE, 90 * 60)], at(row("2"), Billing()))
    assert total(fee) == 4


def test_a_price_that_is_too_old_names_its_line() -> None:
    rates = at(row("0.10"), source="a list", dated=date(2026, 1, 1))
    found = bill([use(seconds=3600)], rates, on=date(2026, 2, 1))
    assert found.total is None
    assert found.unknown == ("instance x, aws/eu: its price is of 2026-01-01, more than 30 days old",)
    assert bill([use(seconds=3600)], rates, on=date(2026, 1, 31)).total == Money(Decimal("0.10"), "USD")
