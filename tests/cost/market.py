"""A market at random, and what it bills, counted step by step and without the product's arithmetic of money."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from cloudcmp.model.bill import NO_RATE, Rate, Use
from cloudcmp.model.offering import Billing, Offering, Price, Volume
from cloudcmp.model.plan import Plan
from cloudcmp.model.price import Item, PriceRow, Unit
from cloudcmp.model.terms import Support

GIB = 2**30
MOVES_S = 600
"""How long a spot price stays, s."""
TYPES = ("small", "large", "huge")


@dataclass(frozen=True)
class Market:
    """What a cloud sells in one region, and its own rules. `disk` and `root` are for a GiB and month."""

    prices: dict[str, Decimal]
    minimum_s: int
    step_s: int
    address: Decimal
    fee: Decimal
    disk: Decimal
    root: Decimal
    tiers: tuple[tuple[int, int], ...]
    free_path: bool
    spot: tuple[Fraction, ...]
    by_hour: bool
    capped: bool
    told: str

    @property
    def billing(self) -> Billing:
        """How the product is told that it bills."""
        price = lambda amount: Price(amount, "USD", "market", date(2026, 1, 1)) if amount else None  # noqa: E731
        return Billing(
            float(self.minimum_s), float(self.step_s), price(self.address), dedicated=price(self.fee),
            root=Volume("under", 8 * GIB, root=True) if self.root else None, free=("zone",) if self.free_path else (),
            spot_capped=self.capped,
        )  # fmt: skip

    @property
    def ending(self) -> Billing:
        """The same, where machines end by themselves."""
        return replace(self.billing, ends=True)

    def offerings_of(self, provider: str, region: str | None) -> tuple[Offering, ...]:
        """What is sold."""
        return tuple(
            Offering("aws", "eu", name, 2.0**at, 4.0**at, "general", Price(amount, "USD", "market"))
            for at, (name, amount) in enumerate(self.prices.items())
        )

    def rate_of(self, use: Use) -> Rate:
        """The price list that the product looks things up in."""
        if use.item is Item.EGRESS and self.tiers:
            ends = [*(Decimal(start) for start, _ in self.tiers[1:]), None]
            rows = tuple(
                PriceRow("aws", "eu", Item.EGRESS, "egress", Decimal(price) / 1000, "USD", Unit.GB,
                         tier_from=Decimal(start), tier_until=end)
                for (start, price), end in zip(self.tiers, ends, strict=True)
            )  # fmt: skip
            return Rate(rows, source="market")
        month = {"disk": self.disk, "under": self.root}.get(use.name)
        if use.item is Item.VOLUME and month:
            row = PriceRow("aws", "eu", Item.VOLUME, use.name, month, "USD", Unit.GIB_MONTH)
            return Rate((row,), Billing(60.0, 1.0), source="market")
        return NO_RATE

    def paid_s(self, seconds: int) -> int:
        """Seconds that a machine's period is paid for, counted step by step."""
        paid = self.minimum_s
        while paid < seconds:
            paid += self.step_s
        return paid

    def share(self, at_s: int) -> Fraction:
        """What is billed at a time, as a share of what a study says that a spot machine costs: never above a cap."""
        share = self.spot[at_s // MOVES_S % len(self.spot)]
        return min(Fraction(1), share) if self.capped else share

    def taken_s(self, began_s: int, ended_s: int) -> int:
        """When a spot machine ends: where its price rises above its cap it is taken back, and it begins below that."""
        for at in range(began_s // MOVES_S + 1, ended_s // MOVES_S + 1):
            if self.capped and self.spot[at % len(self.spot)] > 1:
                return at * MOVES_S
        return ended_s

    def _spot(self, one: Any, start: int, seconds: int) -> Fraction:
        """What so many paid seconds of a spot machine cost, as shares of an hour at its price; after its end as then.

        Second by second at the price of each, or each hour of its life at the price with which that hour began.
        """
        total, at, end = Fraction(0), start, start + seconds
        while at < end:
            hours = (at - start) // 3600
            until = start + (hours + 1) * 3600 if self.by_hour else (at // MOVES_S + 1) * MOVES_S
            when = start + hours * 3600 if self.by_hour else at
            step = min(until, end) - at
            total += self.share(min(when, one.ended_s - 1)) * step / 3600
            at += step
        return total

    def bill(
        self, lives: Sequence[Any], plan: Plan, phase: int, month_h: int, used_gb: int, *, spot: bool = True
    ) -> Fraction:
        """What is billed for these lives, in a month of so many hours in which so many GB had been sent before.

        Without `spot` prices stay: each machine costs what the study says.
        """
        total, gigabytes = Fraction(0), Fraction(0)
        for one in lives:
            total += self._machine(one, plan, month_h, spot=spot)
            twice = {"region": 2}
            if not (self.free_path and any(path == "zone" for path, _ in one.sent)):
                gigabytes += sum(Fraction(size * twice.get(path, 1), 10**9) for path, size in one.sent)
        total += self._sent(gigabytes, used_gb) if self.tiers else Fraction(0)
        if self.fee:
            own = [one for one in lives if dict(one.candidate.options).get("tenancy") == "dedicated"]
            total += Fraction(self.fee) * len(_clock_hours(own, phase))
        return total + sum((_support(plan_, total) for plan_ in plan.terms.support), Fraction(0))

    def _machine(self, one: Any, plan: Plan, month_h: int, *, spot: bool) -> Fraction:
        life = one.ended_s - one.began_s
        stay = plan.usage[one.candidate.index]
        own = Fraction(self.prices[one.candidate.offering.name])
        kinds = [own, *(Fraction(self.prices[kind.name]) for kind in stay.becomes)]
        cuts = [0, *(at for at in one.resized_s if at < life), life]
        total = Fraction(0)
        for number, (start, end) in enumerate(pairwise(cuts)):
            price = kinds[min(number, len(kinds) - 1)]
            paid = self.paid_s(end - start)
            moves = spot and dict(one.candidate.options).get("market") == "spot"
            total += price * (self._spot(one, one.began_s + start, paid) if moves else Fraction(paid, 3600))
        total += Fraction(self.address) * sum(self.paid_s(b - a) for a, b in pairwise(cuts)) / 3600
        kept = max(60, life)
        volume = one.candidate.volume
        if volume is not None:
            total += Fraction(self.disk) * Fraction(volume.size_bytes, GIB) * kept / (3600 * month_h)
        if self.root and not (volume is not None and volume.root):
            total += Fraction(self.root) * 8 * kept / (3600 * month_h)
        return total

    def _sent(self, gigabytes: Fraction, used: int) -> Fraction:
        """Gigabyte by gigabyte, each at the price of the tier that the month has come to."""
        total, at, left = Fraction(0), Fraction(used), gigabytes
        while left > 0:
            piece = min(left, Fraction(1))
            price = next(price for start, price in reversed(self.tiers) if at >= start)
            total += piece * Fraction(price, 1000)
            at, left = at + piece, left - piece
        return total


def _clock_hours(lives: Iterable[Any], phase: int) -> set[int]:
    hours: set[int] = set()
    for one in lives:
        hours.update(range((one.began_s + phase) // 3600, (one.ended_s - 1 + phase) // 3600 + 1))
    return hours


def _support(plan: Support, spend: Fraction) -> Fraction:
    """What a support plan adds to its month."""

    def due(money: Fraction) -> Fraction:
        shares, start = Fraction(0), Fraction(0)
        for tier in plan.tiers:
            end = money if tier.up_to is None else min(money, Fraction(tier.up_to))
            if end > start:
                shares += (end - start) * Fraction(tier.share)
                start = end
        return max(Fraction(plan.minimum.amount), shares)

    return due(Fraction(plan.spend) + spend) - (due(Fraction(plan.spend)) if plan.spend else 0)


def market(rng: random.Random) -> Market:
    """A market at random."""
    cents = lambda most: Decimal(rng.randint(1, most)) / 10000  # noqa: E731
    minimum_s, step_s = rng.choice(((60, 1), (60, 60), (600, 60), (3600, 3600), (60, 3600), (1, 1)))
    starts = sorted(rng.sample((1, 10, 100, 1000, 10_000), rng.randint(0, 3)))
    prices = sorted((rng.randint(1, 120) for _ in range(len(starts) + 1)), reverse=True)
    if rng.random() < 0.3 and len(prices) > 1:
        prices[0] = 0  # a free part
    tiers = tuple(zip([0, *starts], prices, strict=True)) if rng.random() < 0.7 else ()
    still = Market(
        prices={name: cents(3000) * (at + 1) for at, name in enumerate(TYPES)},
        minimum_s=minimum_s, step_s=step_s,
        address=rng.choice((Decimal(0), Decimal("0.005"), cents(1000))),
        fee=rng.choice((Decimal(0), Decimal(2))),
        disk=cents(3000), root=rng.choice((Decimal(0), cents(2000))),
        tiers=tiers, free_path=rng.random() < 0.3,
        spot=(Fraction(1),), by_hour=False, capped=True,
        told=f"{minimum_s} s and steps of {step_s} s, tiers {tiers}",
    )  # fmt: skip
    moves = random.Random(repr(still))  # beside what is drawn above, which stays as it is
    capped = moves.random() < 0.8
    most = 130 if capped else 400
    spot = tuple(Fraction(moves.randint(20, most), 100) for _ in range(moves.choice((1, 7, 50))))
    return replace(still, spot=spot, by_hour=moves.random() < 0.5, capped=capped)


def written(where: Market, rng: random.Random) -> str:
    """A study of that market at random."""
    candidates = []
    for name in rng.sample(TYPES, rng.randint(1, 2)):
        more = f", count: {rng.randint(1, 3)}" if rng.random() < 0.4 else ""
        if rng.random() < 0.5:
            more += f", volume: {{type: disk, size: {rng.randint(1, 2000)} GiB, root: {rng.choice(('true', 'false'))}}}"
        # A price for dedicated machines is the study's own, as it is for spot.
        kind = rng.choice(("", "", "tenancy: dedicated", "market: spot"))
        more += f", {kind}, price: {where.prices[name]} USD/h" if kind else ""
        candidates.append(f"  - {{provider: aws, region: eu, offering: {name}{more}}}")
    lines = [f"  - {{probe: fma, params: {{duration_s: {rng.randint(1, 600)} s}}}}"]
    if rng.random() < 0.6:
        lines.append(f"  - {{probe: tcp, params: {{path: {rng.choice(('zone', 'region'))}, duration_s: 5 s}}}}")
    if rng.random() < 0.25 and not any("spot" in one or "huge" in one for one in candidates):
        lines.append("  - {probe: resize, params: {to: next}}")
    own = ""
    if rng.random() < 0.3:
        spend = f", spend: {rng.randint(1, 20_000)} USD" if rng.random() < 0.7 else ""
        own = (f"terms:\n  support: [{{provider: aws, minimum: {rng.randint(1, 100)} USD{spend}, "
               "shares: [{up_to: 10000 USD, share: 10 %}, {share: 7 %}]}]\n")  # fmt: skip
    head = f"schema: 1\nquestion: What does it cost?\nlaunches: {rng.randint(1, 6)}\nruns: {rng.randint(1, 2)}\n"
    return head + "candidates:\n" + "\n".join(candidates) + "\nprobes:\n" + "\n".join(lines) + "\n" + own
