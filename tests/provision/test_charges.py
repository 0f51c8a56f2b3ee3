"""What a machine is charged for beyond its age: that it may not end by itself, and that it was started again."""

from dataclasses import replace
from decimal import Decimal

import pytest
from tests.emulated.ec2_requests import candidate
from tests.provision.conftest import MemoryJournal
from tests.provision.test_budget import BY_SECOND, HOUR, life

from cloudcmp.model.lease import ENDS
from cloudcmp.model.plan import Launch
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, charges, spent
from cloudcmp.units import Money


def test_one_of_which_it_is_not_known_that_it_ends_costs_until_it_is_seen_gone() -> None:
    """Whatever its provider promises of others."""
    terms = {"aws": replace(BY_SECOND, ends=True)}
    found = charges(life("a", Decimal("3.6"), HOUR, until=65 * HOUR, ends=""), 70 * HOUR)
    assert spent(found, terms, "USD") == Money(Decimal("3.6") * 65, "USD")


IMAGES = [
    ({}, True),
    ({"image": "ubuntu-24.04"}, True),
    ({"image": "ami-0123456789abcdef0"}, False),
    ({"image": "my-own"}, False),
    ({"os": "windows"}, False),
    ({"image": "windows-2022"}, False),
    ({"os": "windows", "image": "debian-13"}, False),
]


@pytest.mark.parametrize(("options", "ends"), IMAGES)
@pytest.mark.parametrize("name", ["aws", "ec2"])
def test_the_intent_says_whether_its_machine_is_known_to_end_itself(
    name: str, options: dict[str, str], ends: bool
) -> None:
    """Of another cloud than Amazon's that is known of none."""
    journal, one = MemoryJournal(), candidate(**options)
    ledger = Ledger(journal, "study-a", WallTime())
    ledger.intend(ledger.request_for(one, Launch(0, 0, 0, None, 0.0, 1), HOUR), Ec2Provider(name), one)
    assert (journal.rows[0].detail == ENDS) is (ends and name == "aws")
