"""One study's life on a cloud that misbehaves, with a controller that is killed, and what must hold all the while."""

import asyncio
import random
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from tests.provision.cloud import DEATH_S, FOREIGN, STUDY, Cloud, Disk
from tests.provision.weather import START, Clock, Killed, drawn

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import INSTANCE, CreateRequest, Handle, LeaseEvent, LeaseRow
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.provision import Ledger, Part, destruction, lifecycle, release_all, slot_of
from cloudcmp.provision.budget import BudgetRequest, Guard
from cloudcmp.provision.ledger import in_order_of_ending
from cloudcmp.provision.ledger_cost import terms_of
from cloudcmp.provision.lifecycle import acquire, release, release_earlier
from cloudcmp.provision.ownership import token_of
from cloudcmp.provision.pace import Pace
from cloudcmp.units import Money

T = TypeVar("T")


class Paced:
    """The cloud as a controller changes it: at its pace; all else goes straight through."""

    def __init__(self, cloud: Cloud, pace: Pace) -> None:
        self._cloud = cloud
        self._pace = pace
        self.may_lack_tags = cloud.may_lack_tags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)

    async def create(self, request: CreateRequest) -> str:
        return await self._pace.create(self._cloud, request)

    async def destroy(self, handle: Handle) -> None:
        await self._pace.destroy(self._cloud, handle)


class Controller:
    """One process of ours: it knows what the journal says, and nothing else."""

    def __init__(self, cloud: Cloud, disk: Disk, budget: Money | None, rng: random.Random) -> None:
        self.ledger = Ledger(disk, STUDY, cloud.clock)
        self.provider = Paced(cloud, Pace(cloud.clock, rng.random))
        self.guard = Guard(
            budget, terms_of({cloud.name: self.provider}), lambda number: disk.rows[number:], cloud.clock
        )
        self._clock = cloud.clock
        self._rng = rng

    async def clean(self) -> tuple[lifecycle.Release, ...]:
        return await release_all(self.ledger, {self.provider.name: self.provider})

    async def launch(self, candidate: Candidate, launch: Launch, ttl_s: float) -> None:
        """One launch as a study carries it out: what stands beneath, machines, work, and the end of all."""
        slots = tuple(slot_of(launch, Part(number=n + 1)) for n in range(candidate.count))
        try:
            await release_earlier(self.ledger, self.provider, self.ledger.open_of(launch))
            price = candidate.offering.price
            assert price is not None
            ask = BudgetRequest(
                self.provider.name, candidate.id, price.amount_per_hour, price.currency, ttl_s, 0.4 * ttl_s, slots
            )
            ttl_s = self.guard.allow(ask)
            for kind in self.provider.parts:
                for number in range(candidate.count if kind == INSTANCE else 1):
                    part = Part(kind, number + 1)
                    await acquire(self.ledger, self.provider, candidate, launch, ttl_s, part=part)
            await self._work(0.5 * ttl_s)
        finally:
            self.guard.withdraw(slots)
            if not self.provider.dead:
                for lease in in_order_of_ending(self.ledger.open_of(launch)):
                    await release(self.ledger, self.provider, lease)

    async def _work(self, seconds: float) -> None:
        for _ in range(4):
            await self._clock.sleep(seconds / 4)
            if self.guard.spend().level == "teardown":
                return


class History:
    """A cloud, a disk, and one controller after another. Everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.rng = rng
        self.how = drawn(rng)
        self.clock = Clock(rng, rng.choice((0.0, 0.0, 0.002, 0.02)))
        prices = tuple(Decimal(rng.randint(1, 5000)) / 10000 for _ in range(2))
        self.ttl_s = rng.choice((300.0, 1900.0, 3600.0, 7200.0))
        self.candidates = tuple(_candidate(n, price, rng.choice((1, 1, 2))) for n, price in enumerate(prices))
        one = float(max(prices)) * self.how.billing.paid_s(self.ttl_s) / 3600
        self.budget = Money(Decimal(repr(round(one * rng.uniform(0.2, 6.0) + 0.0001, 4))), "USD")
        self.disk = Disk(rng, rng.choice((0.0, 0.0, 0.0, 0.1, 0.5)))
        self.cloud = Cloud(rng, self.how, self.clock, prices, self.disk.tokens.__contains__)
        self.disk.cloud = self.cloud
        self.kill = rng.choice((0.0, 0.0, 0.002, 0.01, 0.05))
        self.kills = 0
        self.forged = rng.sample(FOREIGN, 2) if rng.random() < 0.3 else []
        for number, id in enumerate(self.forged):
            self.disk.rows += _forged(f"launch-{90 + number}", id)

    def play(self) -> None:
        """The study's life; raises AssertionError where a promise is broken."""
        with _killable(self.cloud), asyncio.Runner() as self._runner:
            controller = self._controller()
            for index in range(self.rng.randint(2, 4)):
                candidate = self.candidates[index % 2]
                launch = Launch(index, candidate.index, index, None, 0.0, index)
                controller = self._survive(controller, lambda c, a=candidate, b=launch: c.launch(a, b, self.ttl_s))
                self._check()
            controller = self._survive(controller, lambda c: c.clean())
            self._check()
            self._end()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """The outcome of some work; what it has left running is at its end, as a killed process is."""
        loop = self._runner.get_loop()
        try:
            return loop.run_until_complete(work)
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
                with suppress(asyncio.CancelledError, Killed, CloudcmpError):
                    loop.run_until_complete(task)

    def _controller(self) -> Controller:
        return Controller(self.cloud, self.disk, self.budget, self.rng)

    def _survive(self, controller: Controller, work: Any) -> Controller:
        """Some work by a controller that may be killed, and then has a successor, who cleans up; who is there then."""
        self.cloud.kill = self.kill
        try:
            with suppress(CloudcmpError, asyncio.CancelledError):
                self._run(work(controller))
        except Killed:
            self.kills += 1
            controller = self._successor()
        self.cloud.kill = 0.0
        return controller

    def _successor(self) -> Controller:
        for _ in range(3):
            self._check()
            self.cloud.dead = False
            self.clock.pass_(self.rng.choice((1.0, 300.0, 5000.0)))
            controller = self._controller()
            with suppress(Killed):
                self._run(controller.clean())
                return controller
            self.cloud.kill /= 2
        self.cloud.dead, self.cloud.kill = False, 0.0
        return self._controller()

    def _check(self) -> None:
        """What holds at any moment: nothing is there that the ledger forgot, nothing of others was touched."""
        now, truth = self.clock.now(), self.cloud.truth
        assert not truth.breaches, truth.breaches
        open_leases = Ledger(self.disk, STUDY, self.clock).open_leases()
        ids, tokens = {one.cloud_id for one in open_leases}, {one.token for one in open_leases}
        for thing in truth.ours(now):
            known = thing.cloud_id in ids or thing.token in tokens
            assert known or (self.how.doubles and self.cloud.findable(thing)), f"{thing} is forgotten"
        left = [thing for thing in truth.things.values() if not thing.ours]
        assert all(thing.lives(now) for thing in left)

    def _end(self) -> None:
        """A later cleanup of a cloud that is well leaves nothing, and the bill is within the budget."""
        self.cloud.heal()
        self.disk.full = 0.0
        self.clock.pass_(1500.0)
        left = [one for one in self._run(self._controller().clean()) if one.evidence is None]
        assert all(one.lease.cloud_id in FOREIGN for one in left), left
        told = {one.lease.cloud_id for one in left}
        assert told >= set(self.forged), f"{self.forged} are named by rows, {told} are told"
        self._check()
        assert self.cloud.truth.ours(self.clock.now()) == []
        assert {one.cloud_id for one in Ledger(self.disk, STUDY, self.clock).open_leases()} <= set(FOREIGN)
        self._check_bill()

    def _check_bill(self) -> None:
        """Billed by the cloud's own count, against the budget and one minimum unit a machine.

        What a cloud that ends nothing by itself bills past the time to live is left out: it cannot be bounded while
        the controller sleeps or is dead, and the plan says so of such clouds. So is what a library made twice.
        """
        if self.how.doubles:
            return
        machines = [one for one in self.cloud.truth.things.values() if one.ours and one.kind == INSTANCE]
        unit_s = Decimal(max(self.how.billing.minimum_s, self.how.billing.step_s, DEATH_S))
        billed = sum(self.cloud.bill(one, one.made_at + one.ttl_s + DEATH_S) for one in machines)
        spare = sum(one.price * unit_s / 3600 for one in machines)
        assert billed <= self.budget.amount + spare, f"{billed} USD are billed, {self.budget.amount} were allowed"
        accrued = self._controller().guard.spend().accrued
        if self.how.death:
            assert accrued is not None
            real = sum(self.cloud.bill(one) for one in machines)
            assert real <= accrued.amount + spare, f"{real} USD are billed, {accrued} are said"


def _forged(slot: str, cloud_id: str) -> list[LeaseRow]:
    """The rows of a machine that is somebody else's, as whoever writes our file could put them there."""
    head = (slot, 1, LeaseEvent.INTENT, "faulty", "eu", INSTANCE, slot, token_of(STUDY, slot, 1), START)
    intent = LeaseRow(*head, price_per_hour=Decimal("0.0001"), currency="USD", ttl_s=300.0)
    return [intent, replace(intent, event=LeaseEvent.CREATED, cloud_id=cloud_id, price_per_hour=None, ttl_s=None)]


def _candidate(index: int, price: Decimal, count: int) -> Candidate:
    offering = Offering("faulty", "eu", f"type-{index}", 1, 2, "general", Price(price, "USD", "drawn"))
    return Candidate(index, f"faulty/eu/type-{index}", offering, "faulty", count=count)


@contextmanager
def _killable(cloud: Cloud) -> Iterator[None]:
    """Every crash point of the lifecycle may kill the controller."""
    before = lifecycle.crash_point
    lifecycle.crash_point = destruction.crash_point = lambda name: cloud._maybe_die()
    try:
        yield
    finally:
        lifecycle.crash_point = destruction.crash_point = before


def histories(n: int, seed: int) -> list[tuple[int, str]]:
    """Plays n histories; each that breaks a promise, by its seed and what was broken."""
    broken = []
    for number in range(n):
        one = seed * 1_000_003 + number
        try:
            History(one).play()
        except AssertionError as error:
            broken.append((one, str(error).splitlines()[0]))
    return broken
