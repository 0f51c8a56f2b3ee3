"""A spot machine's price moves: what the budget counts is the most that is ever paid."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from tests.emulated.ec2_requests import STUDY, candidate, provider, request
from tests.provision.conftest import MemoryJournal

from cloudcmp.errors import Refused
from cloudcmp.model.lease import FIREWALL, LeaseEvent
from cloudcmp.model.offering import Price, Volume
from cloudcmp.model.plan import Launch
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Ledger, Part
from cloudcmp.provision.lifecycle import acquire

SPOT = "InstanceMarketOptions.SpotOptions.MaxPrice"


def test_p12_a_spot_machine_never_costs_more_than_is_counted(cloud):
    """From the study's price to the call: volume and address have prices of their own, which are no part of it."""
    priced = candidate(market="spot")
    priced = replace(priced, offering=replace(priced.offering, price=Price(Decimal("0.0031"), "USD", "study")))
    priced = replace(priced, volume=Volume("gp3", 2**30, price=Price(Decimal("0.001"), "USD", "study")))
    priced = replace(priced, beside=provider().billing.beside)
    journal, launch = MemoryJournal(), Launch(0, 0, 0, None, 0.0, 1)

    async def walk():
        driver, ledger = provider(), Ledger(journal, STUDY, WallTime())
        group = await driver.create(request(FIREWALL, "token-f"))
        part = Part(options=(("firewall", group),))
        await acquire(ledger, driver, priced, launch, 600.0, part=part)

    asyncio.run(walk())
    (call,) = cloud.calls("RunInstances")
    assert call.params[SPOT] == "0.0031"
    (intent,) = [row for row in journal.rows if row.event is LeaseEvent.INTENT]
    assert intent.price_per_hour == Decimal("0.0091")


def test_a_small_price_is_told_in_plain_digits(cloud):
    price = Price(Decimal("5E-4"), "USD", "study")
    asyncio.run(provider().create(request(options={"market": "spot"}, price=price)))
    assert cloud.calls("RunInstances")[0].params[SPOT] == "0.0005"


def test_on_demand_has_no_such_limit(cloud):
    asyncio.run(provider().create(request(price=Price(Decimal("0.1"), "USD", "study"))))
    assert not [key for key in cloud.calls("RunInstances")[0].params if key.startswith("InstanceMarketOptions")]


def test_a_spot_price_that_cannot_be_held_is_refused(cloud):
    price = Price(Decimal("0.1"), "EUR", "study")
    with pytest.raises(Refused, match="in EUR"):
        asyncio.run(provider().create(request(options={"market": "spot"}, price=price)))
    assert cloud.calls("RunInstances") == []
