"""Changes at a provider: their rate, what is asked again and after which pause, and what is not asked again."""

import asyncio
import itertools
import random
from collections.abc import Callable, Iterable

import pytest

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, QuotaReached, Refused, Throttled
from cloudcmp.model.lease import INSTANCE, CreateRequest, Handle
from cloudcmp.provision.pace import Pace, Tempo

HANDLE = Handle(INSTANCE, "eu", "i-1")


class Turns:
    """Virtual time in which many may wait at once: it goes on to the next one's turn when all of them wait."""

    def __init__(self) -> None:
        self.moment = 100.0
        self._waiting: list[tuple[float, int]] = []
        self._numbers = itertools.count()

    def at(self, planned_s: float) -> float:
        return self.moment + planned_s

    def now(self) -> float:
        return self.moment

    def monotonic(self) -> float:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        mine = (self.moment + seconds, next(self._numbers))
        self._waiting.append(mine)
        try:
            while self.moment < mine[0]:
                for _ in range(3):  # whoever can go on does so first
                    await asyncio.sleep(0)
                if min(self._waiting) == mine:
                    self.moment = max(self.moment, mine[0])
        finally:
            self._waiting.remove(mine)


class Cloud:
    """Counts the calls with their times; `answers` are faults to raise first, in order, None for a success."""

    name = "aws"

    def __init__(self, time: Turns, *, billed: bool = True) -> None:
        self.time = time
        self.billed = billed
        self.calls: list[tuple[str, float]] = []
        self.creates: Iterable[Exception | None] = iter(())
        self.destroys: Iterable[Exception | None] = iter(())

    async def create(self, request: CreateRequest) -> str:
        self.calls.append(("create", self.time.moment))
        self._answer(self.creates)
        return f"i-{request.token}"

    async def destroy(self, handle: Handle) -> None:
        self.calls.append(("destroy", self.time.moment))
        self._answer(self.destroys)

    @staticmethod
    def _answer(some: Iterable[Exception | None]) -> None:
        fault = next(iter(some), None)
        if fault is not None:
            raise fault

    @property
    def times(self) -> list[float]:
        return [moment for _, moment in self.calls]


def request(token: str = "t", offering: str = "small", region: str = "eu") -> CreateRequest:
    return CreateRequest("s", 1, INSTANCE, "n", token, region, offering, 60.0, (), 0, 0, 0, 0.0)


def made(
    *, billed: bool = True, tempo: Tempo | None = None, draw: Callable[[], float] | None = None
) -> tuple[Pace, Cloud]:
    time = Turns()
    return Pace(time, draw or random.Random(1).random, tempo or Tempo()), Cloud(time, billed=billed)


def attempt(pace: Pace, cloud: Cloud, **what: str) -> Exception | None:
    """One create; what it raised."""
    try:
        asyncio.run(pace.create(cloud, request(**what)))
    except ProviderFault as fault:
        return fault
    return None


def test_one_change_a_second_however_many_ask_at_once() -> None:
    pace, cloud = made()

    async def crowd() -> None:
        creates = (pace.create(cloud, request(str(n))) for n in range(10))
        await asyncio.gather(*creates, *(pace.destroy(cloud, HANDLE) for _ in range(10)))

    asyncio.run(crowd())
    gaps = [after - before for before, after in zip(cloud.times, cloud.times[1:], strict=False)]
    assert len(cloud.calls) == 20
    assert min(gaps) >= 1.0 - 1e-9
    assert max(gaps) < 2.0


def test_deletes_go_before_the_creates_that_wait() -> None:
    pace, cloud = made()

    async def crowd() -> None:
        creates = [asyncio.create_task(pace.create(cloud, request(str(n)))) for n in range(10)]
        await asyncio.sleep(0)
        await asyncio.gather(*(pace.destroy(cloud, HANDLE) for _ in range(3)))
        assert [name for name, _ in cloud.calls].count("create") <= 2
        await asyncio.gather(*creates)

    asyncio.run(crowd())


def test_whoever_gives_up_waiting_takes_no_turn() -> None:
    pace, cloud = made()

    async def crowd() -> None:
        await pace.create(cloud, request())
        waiting = [asyncio.create_task(pace.create(cloud, request(str(n)))) for n in range(50)]
        await asyncio.sleep(0)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await pace.destroy(cloud, HANDLE)

    asyncio.run(crowd())
    assert cloud.times[1] - cloud.times[0] == pytest.approx(1.0)


def test_what_is_not_billed_is_not_slowed_down() -> None:
    pace, cloud = made(billed=False)
    cloud.creates = iter([NoCapacity.at("x", "none")] * 9)
    assert all(isinstance(attempt(pace, cloud), NoCapacity) for _ in range(9))
    assert len(cloud.calls) == 9
    assert len(set(cloud.times)) == 1


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_throttled_changes_are_repeated_after_growing_pauses(share: float) -> None:
    pace, cloud = made(draw=lambda: share)
    cloud.creates = iter([Throttled.at("aws", "RequestLimitExceeded")] * 4)
    assert attempt(pace, cloud) is None
    gaps = [after - before for before, after in zip(cloud.times, cloud.times[1:], strict=False)]
    assert gaps == pytest.approx([2.0 * 2**k * (0.5 + 0.5 * share) for k in range(4)])


def test_throttling_ends_with_the_last_repetition_and_pauses_are_bounded() -> None:
    pace, cloud = made(tempo=Tempo(longest_s=10.0))
    cloud.creates = iter([Throttled.at("aws", "RequestLimitExceeded")] * 100)
    assert isinstance(attempt(pace, cloud), Throttled)
    assert len(cloud.calls) == 7
    gaps = [after - before for before, after in zip(cloud.times, cloud.times[1:], strict=False)]
    assert max(gaps) <= 10.0


def test_a_throttled_delete_is_repeated_too() -> None:
    pace, cloud = made()
    cloud.destroys = iter([Throttled.at("aws", "RequestLimitExceeded")])
    asyncio.run(pace.destroy(cloud, HANDLE))
    assert [name for name, _ in cloud.calls] == ["destroy", "destroy"]


@pytest.mark.parametrize("fault", [LostAnswer, Refused, ProviderFault])
def test_nothing_else_is_repeated(fault: type[ProviderFault]) -> None:
    pace, cloud = made()
    cloud.creates = iter([fault.at("aws", "no")])
    assert isinstance(attempt(pace, cloud), fault)
    assert len(cloud.calls) == 1


@pytest.mark.parametrize("fault", [NoCapacity, QuotaReached])
def test_after_five_refusals_for_room_nothing_is_asked(fault: type[ProviderFault]) -> None:
    pace, cloud = made()
    cloud.creates = iter([fault.at("aws", "InsufficientInstanceCapacity")] * 100)
    for _ in range(5):
        assert isinstance(attempt(pace, cloud), fault)
    refusals = [attempt(pace, cloud) for _ in range(20)]
    assert len(cloud.calls) == 5
    assert all(isinstance(one, fault) for one in refusals)
    line = str(refusals[0])
    assert line.startswith("aws/eu/small: there was no room 5 times in a row: there is no further attempt now; ")
    assert "\n" not in line


def test_one_offering_s_want_of_room_is_no_other_s() -> None:
    pace, cloud = made()
    cloud.creates = iter([NoCapacity.at("aws", "none")] * 5)
    for _ in range(5):
        attempt(pace, cloud)
    assert attempt(pace, cloud, offering="large") is None
    assert attempt(pace, cloud, region="us") is None
    assert attempt(pace, cloud) is not None


def test_a_success_forgives_and_four_refusals_are_not_five() -> None:
    pace, cloud = made()
    cloud.creates = iter(([NoCapacity.at("aws", "none")] * 4 + [None]) * 5)
    assert [attempt(pace, cloud) is None for _ in range(25)] == [False, False, False, False, True] * 5


def test_after_a_rest_one_is_let_through() -> None:
    pace, cloud = made()
    cloud.creates = iter([NoCapacity.at("aws", "none")] * 6)
    for _ in range(6):
        attempt(pace, cloud)
    cloud.time.moment += 3601.0
    assert attempt(pace, cloud) is not None
    assert attempt(pace, cloud) is not None
    assert len(cloud.calls) == 6
    cloud.time.moment += 3601.0
    assert attempt(pace, cloud) is None
    assert attempt(pace, cloud) is None


def test_deletes_are_never_refused() -> None:
    pace, cloud = made()
    cloud.creates = iter([NoCapacity.at("aws", "none")] * 50)
    for _ in range(8):
        attempt(pace, cloud)
    for _ in range(20):
        asyncio.run(pace.destroy(cloud, HANDLE))
    assert [name for name, _ in cloud.calls].count("destroy") == 20
