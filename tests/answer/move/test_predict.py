"""What a move takes: time, tiers of price, requests, and the break-even with shipped devices."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from cloudcmp.answer.move.predict import MONTH_DAYS, Move, MovePrices, Price, predicted
from cloudcmp.app.move import throughput
from cloudcmp.model.move import MovePart, ShippedDevice, Step, Throughput
from cloudcmp.model.placement import PriceTier

TB, GB, DAY = 1e12, 1e9, 86400.0
LINK = Throughput(100e6, None, 0, 100e6, 100e6, "given")
TIERS = (PriceTier(0.0, 0.09), PriceTier(10_000.0, 0.08))
PRICES = MovePrices(Price((PriceTier(0.0, 0.05),)), Price(free=True), Price(TIERS), Price((PriceTier(0.0, 5e-6),)),
                    Price((PriceTier(0.0, 4e-7),)), "USD")  # fmt: skip
BOX = ShippedDevice("box", "x", 80 * TB, 300.0, 2, 30.0, 9.0, 400e6, 0.03, "USD", "given", "2026")


def part(parts: tuple[MovePart, ...], step: Step) -> MovePart:
    return next(one for one in parts if one.step is step)


def test_each_part_has_its_time_and_every_charge() -> None:
    found = predicted(Move(20 * TB, 100 * GB, 12, 8e6), LINK, LINK, PRICES, (), "y/r", "x/r")
    bring, refresh, leave = (part(found.parts, step) for step in Step)
    assert bring.seconds == pytest.approx(200_000)
    assert bring.money == pytest.approx(20_000 * 0.05 + math.ceil(20 * TB / 8e6) * 5e-6)
    assert refresh.seconds == pytest.approx(1_000)
    assert refresh.money == pytest.approx(100 * MONTH_DAYS * 0.05 + math.ceil(100 * GB * MONTH_DAYS / 8e6) * 5e-6)
    assert leave.money == pytest.approx(10_000 * 0.09 + 10_000 * 0.08 + math.ceil(20 * TB / 8e6) * 4e-7)
    assert found.total == pytest.approx((bring.money or 0) + 12 * (refresh.money or 0) + (leave.money or 0))


def test_a_move_of_months_begins_its_tiers_anew_each_month() -> None:
    slow = Throughput(5e6, None, 0, 5e6, 5e6, "given")
    found = predicted(Move(20 * TB, 0, 12), slow, slow, PRICES, (), "y/r", "x/r")
    leave = part(found.parts, Step.LEAVE)
    assert leave.seconds == pytest.approx(4e6)  # 46 days, so two months of 10 TB
    assert next(one.amount for one in leave.charges if one.what == "out of the region") == pytest.approx(20_000 * 0.09)


def test_an_unknown_price_makes_the_total_unknown_and_none_is_not_unknown() -> None:
    unknown = MovePrices(None, Price(), Price(TIERS), None, None, "USD")
    found = predicted(Move(TB, 0, 12), LINK, LINK, unknown, (), "here", "x/r")
    assert found.total is None
    assert any("price of these is: into the region" in text for text in found.cautions)
    free = MovePrices(None, Price(free=True), Price(TIERS), None, None, "USD")
    assert predicted(Move(TB, 0, 12), LINK, LINK, free, (), "here", "x/r").total == pytest.approx(90)


def test_the_interval_of_the_throughput_is_that_of_the_time() -> None:
    values = [80e6, 100e6, 125e6, 110e6]
    rate = throughput(values, "runs")
    logs = np.log(values)
    low, high = stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs))
    assert rate.bounds is not None
    assert (rate.bounds.low, rate.bounds.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert (rate.n, rate.least, rate.most) == (4, 80e6, 125e6)
    bring = part(predicted(Move(TB, 0, 12), rate, rate, PRICES, (), "y/r", "x/r").parts, Step.BRING)
    assert bring.bounds is not None
    assert bring.bounds.low == pytest.approx(TB / rate.bounds.high)
    assert throughput([5e6], "run").bounds is None


@pytest.mark.parametrize("size", [1 * TB, 79 * TB, 81 * TB, 400 * TB])
def test_devices_break_even_where_both_take_as_long(size: float) -> None:
    found = predicted(Move(size, 0, 12), LINK, LINK, PRICES, (BOX,), "y/r", "x/r")
    inward = next(one for one in found.shipments if one.step is Step.BRING)
    assert inward.count == math.ceil(size / (80 * TB))
    assert inward.seconds == pytest.approx(9 * DAY + size / 400e6)
    assert size / inward.even_rate == pytest.approx(inward.seconds)
    even = inward.even_bytes
    assert even is not None
    assert even / LINK.value == pytest.approx(9 * DAY + even / 400e6)
    assert (inward.seconds < size / LINK.value) == (size > even)


def test_a_link_that_copies_faster_than_a_device_is_always_quicker() -> None:
    fast = Throughput(500e6, None, 0, 500e6, 500e6, "given")
    (inward, _) = predicted(Move(999 * TB, 0, 12), fast, fast, PRICES, (BOX,), "y/r", "x/r").shipments
    assert inward.even_bytes is None


def test_the_money_of_devices_has_days_beyond_those_included() -> None:
    outward = next(
        one for one in predicted(Move(100 * TB, 0, 12), LINK, LINK, PRICES, (BOX,), "y/r", "x/r").shipments
        if one.step is Step.LEAVE
    )  # fmt: skip
    full = math.ceil(80 * TB / 400e6 / DAY - 2) * 30
    assert outward.money == pytest.approx(2 * 300 + full + 100_000 * 0.03)


def test_a_refresh_that_falls_behind_is_said() -> None:
    found = predicted(Move(TB, 10 * TB, 12), LINK, LINK, PRICES, (), "y/r", "x/r")
    assert any("falls behind" in text for text in found.cautions)


@pytest.mark.parametrize("size", [2 * TB, 40 * TB, 300 * TB])
def test_the_size_from_which_devices_are_cheaper_does_not_depend_on_what_is_moved(size: float) -> None:
    tiers = Price((PriceTier(0.0, 0.09), PriceTier(10_240.0, 0.02)))
    prices = replace(PRICES, origin_out=None, region_in=Price(free=True), region_out=tiers)
    found = predicted(Move(size, 0, 12), LINK, LINK, prices, (replace(BOX, out_per_gb=0.01),), "y/r", "x/r")
    outward = next(one for one in found.shipments if one.step is Step.LEAVE)
    assert outward.even_money_bytes == pytest.approx(300 / (0.09 - 0.01) * 1e9, rel=1e-4)
