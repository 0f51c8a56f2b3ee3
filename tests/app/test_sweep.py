"""Leftovers found by tags alone: all of ours, and none that only looks like it."""

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from cloudcmp.app.provider_clients import UnavailableProvider
from cloudcmp.app.sweep import sweep
from cloudcmp.errors import BadCredentials, IncompleteListing, NoCredentials, ProviderFault, Throttled
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Handle, Listing, TaggedResource
from cloudcmp.model.leftover import Fate, SweepResult, judge
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.safety import Safeguard
from cloudcmp.provider.time import VirtualTime

NOW = 1_763_683_200.0  # 2025-11-21T00:00:00Z
PAST, FUTURE = "2025-11-20T23:59:59Z", "2025-11-21T00:00:01Z"


def resource(number: int, kind: str = INSTANCE, region: str = "eu-west-1", **tags: str) -> TaggedResource:
    """A resource of ours that has expired, but for the tags that are named otherwise; an empty one is missing."""
    all_of = {"schema": "1", "study": f"study-{number}", "slot": "launch-0", "attempt": "1", "expires": PAST} | tags
    pairs = tuple(sorted((f"cloudcmp:{key}", value) for key, value in all_of.items() if value))
    cloud_id = f"{kind[0]}-{number:05}"
    return TaggedResource(
        cloud_id, f"cloudcmp-study-{number}", f"token-{number}", pairs, "running", kind, region, "small"
    )


@dataclass
class Cloud:
    """A cloud whose truth is `holds`. It lists all of it, ours or not, and lets nothing stand on what is not there."""

    holds: dict[str, TaggedResource]
    name: str = "cloud"
    billed: bool = True
    simulated: bool = False
    settle_s: float = 300.0
    lists: Callable[[int, tuple[TaggedResource, ...]], Listing] = lambda _, found: Listing(found)
    refuses: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    ordered: list[str] = field(default_factory=list)
    listings: int = 0
    price: Price | None = None
    safeguards: tuple[Safeguard, ...] = (Safeguard("sweep", True, "by tags"),)

    @classmethod
    def of(cls, *found: TaggedResource, **more: Any) -> "Cloud":
        return cls({one.cloud_id: one for one in found}, **more)

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        return (Offering(self.name, region or "eu-west-1", "small", 1, 2, None, self.price),)

    async def leftovers(self) -> Listing:
        self.listings += 1
        return self.lists(self.listings, tuple(self.holds.values()))

    async def destroy(self, handle: Handle) -> None:
        self.ordered.append(handle.cloud_id)
        if handle.cloud_id in self.refuses:
            raise ProviderFault.at(handle.cloud_id, "DependencyViolation: it is in use", "")
        if handle.kind == FIREWALL and any(one.kind == INSTANCE for one in self.holds.values()):
            raise ProviderFault.at(handle.cloud_id, "DependencyViolation: a machine uses it", "")
        if handle.cloud_id not in self.stuck:
            self.holds.pop(handle.cloud_id, None)

    async def gone(self, handle: Handle) -> str | None:
        return None if handle.cloud_id in self.holds else f"{handle.cloud_id} does not exist"


def swept(*clouds: Any, **how: Any) -> SweepResult:
    """A sweep at a fixed time, which passes only by waiting."""
    return asyncio.run(sweep({one.name: one for one in clouds}, VirtualTime(NOW), **how))


SPOILT: tuple[Callable[[int], TaggedResource], ...] = (
    lambda n: resource(n, schema="2"),
    lambda n: resource(n, schema=""),
    lambda n: resource(n, schema="01"),
    lambda n: resource(n, study=""),
    lambda n: resource(n, expires=""),
    lambda n: resource(n, expires=FUTURE),
    lambda n: resource(n, expires="yesterday"),
    lambda n: resource(n, expires="2025-11-20"),
    lambda n: resource(n, expires="2025-13-40T99:00:00Z"),
    lambda n: resource(n, expires="2025-11-20T23:59:59"),
    lambda n: resource(n, expires="٢٠٢٥-11-20T23:59:59Z"),
    lambda n: replace(resource(n), tags=()),
    lambda n: replace(resource(n), tags=tuple((key.upper(), value) for key, value in resource(n).tags)),
    lambda n: replace(resource(n), tags=tuple((key.title(), value) for key, value in resource(n).tags)),
    lambda n: replace(resource(n), tags=tuple((f" {key}", value) for key, value in resource(n).tags)),
    lambda n: replace(resource(n), tags=tuple((f"{key} ", value) for key, value in resource(n).tags)),
    lambda n: replace(resource(n), tags=tuple((key.replace(":", "-"), value) for key, value in resource(n).tags)),
    lambda n: replace(resource(n), tags=(*resource(n).tags, ("cloudcmp:schema", "2"))),
    lambda n: replace(resource(n), tags=(*resource(n).tags, ("cloudcmp:expires", FUTURE))),
    lambda n: replace(resource(n), tags=(*resource(n).tags, ("cloudcmp:study", "other"))),
)


def decoys(count: int) -> Iterator[TaggedResource]:
    """Resources that look like ours and are not to be touched, of all kinds."""
    for n in range(10_000, 10_000 + count):
        one = SPOILT[n % len(SPOILT)](n)
        kind = (INSTANCE, VOLUME, FIREWALL)[n % 3]
        yield replace(one, kind=kind, region=f"eu-west-{n % 4}")


def misjudged(studies: int, lookalikes: int, seed: int) -> int:
    """Studies whose leftovers a sweep does not find and end, and decoys that it touches."""
    ours = [resource(n, INSTANCE, f"eu-west-{n % 4}") for n in range(studies)]
    ours += [resource(n, VOLUME, f"eu-west-{n % 4}") for n in range(0, studies, 5)]
    everything = [*ours, *decoys(lookalikes)]
    random.Random(seed).shuffle(everything)
    cloud = Cloud.of(*everything)
    due = {one.cloud_id for one in ours}
    dry = swept(cloud)
    wrong = len(due ^ {one.found.cloud_id for one in dry.of(Fate.DUE)}) + len(cloud.ordered)
    wrong += sum(f"study-{n}" not in {one.study for one in dry.of(Fate.DUE)} for n in range(studies))
    done = swept(cloud, delete=True)
    assert all(one.why for one in done.leftovers)
    assert done.complete
    return wrong + len(due & set(cloud.holds)) + len(set(cloud.ordered) - due)


def test_p6_all_studies_are_found_and_no_decoy_is_touched() -> None:
    assert misjudged(200, 1000, 6) == 0


def wrongly_deleted(n: int, seed: int) -> int:
    """Deletions that nothing readable asked for, over `n` clouds that list badly, or that no line tells of."""
    chance, wrong = random.Random(seed), 0
    for _ in range(n):
        ours = [resource(i, region=f"eu-west-{i % 2}") for i in range(chance.randrange(4))]
        cloud = Cloud.of(*ours, *list(decoys(40))[chance.randrange(20) :][: chance.randrange(6)])
        due = {one.cloud_id for one in ours}
        how = chance.randrange(4)
        if how == 0:
            cloud.lists = _fails
        elif how == 1:
            cloud.lists = lambda _, found: Listing(tuple(replace(one, tags=()) for one in found))
        elif how == 2:
            cloud.lists = lambda _, found: Listing(found[: len(found) // 2], ("eu-west-0: instances: page 2 is cut",))
            due = {one.cloud_id for one in ours if one.region == "eu-west-1"}
        else:
            cloud.lists = lambda _, found: Listing(found, ("instances: page 2 is cut",))
        came = swept(cloud, delete=True)
        allowed = due if how == 2 else set()
        wrong += len(set(cloud.ordered) - allowed)
        wrong += came.complete is (how != 1)
    return wrong


def _fails(_: int, found: tuple[TaggedResource, ...]) -> Listing:
    raise IncompleteListing.at("eu-west-0", "UnauthorizedOperation: DescribeTags", "")


def test_p7_nothing_is_destroyed_on_missing_or_unreadable_lists() -> None:
    assert wrongly_deleted(300, 7) == 0


def test_p7_a_place_that_could_not_be_listed_is_named() -> None:
    cloud = Cloud.of(resource(1), lists=_fails)
    found = swept(cloud, delete=True)
    assert found.unlisted == ("cloud: eu-west-0: UnauthorizedOperation: DescribeTags",)
    assert not found.complete
    assert cloud.ordered == []


def test_what_lies_elsewhere_is_still_destroyed_where_one_region_cannot_be_listed() -> None:
    cloud = Cloud.of(resource(1, region="eu-west-1"), resource(2, region="eu-west-2"))
    cloud.lists = lambda _, found: Listing(found, ("eu-west-2: volumes: RequestLimitExceeded",))
    found = swept(cloud, delete=True)
    assert cloud.ordered == ["i-00001"]
    (kept,) = found.of(Fate.KEPT)
    assert "could not be listed in full" in kept.why
    assert not found.complete


def test_only_the_named_study_goes_also_before_it_expires() -> None:
    running, other = resource(1, expires=FUTURE), resource(2)
    unreadable = resource(3, study="study-1", expires="soon")
    cloud = Cloud.of(running, other, unreadable)
    found = swept(cloud, study="study-1", delete=True)
    assert set(cloud.holds) == {other.cloud_id, unreadable.cloud_id}
    assert found.elsewhere == 1
    assert [one.fate for one in found.leftovers] == [Fate.DELETED, Fate.KEPT]


def test_a_study_that_says_nothing_of_its_end_goes_when_it_is_named() -> None:
    silent = resource(1, expires="")
    assert judge(silent, None, NOW)[0] is Fate.KEPT
    assert judge(silent, "study-1", NOW)[0] is Fate.DUE
    assert judge(silent, "STUDY-1", NOW)[0] is Fate.KEPT


def test_a_second_decides_and_the_clock_is_given() -> None:
    at = datetime(2025, 11, 20, 23, 59, 59, tzinfo=UTC).timestamp()
    assert judge(resource(1), None, at)[0] is Fate.KEPT
    assert judge(resource(1), None, at + 1)[0] is Fate.DUE


def test_machines_go_before_volumes_and_those_before_firewalls() -> None:
    cloud = Cloud.of(resource(1, FIREWALL), resource(2, VOLUME), resource(3), resource(4, "gateway"), resource(5))
    assert swept(cloud, delete=True).complete
    assert cloud.ordered == ["i-00003", "i-00005", "v-00002", "f-00001", "g-00004"]


def test_it_goes_on_until_nothing_new_comes_up() -> None:
    late = resource(2, VOLUME)
    cloud = Cloud.of(resource(1))

    def lists(turn: int, found: tuple[TaggedResource, ...]) -> Listing:
        if turn == 2:
            cloud.holds[late.cloud_id] = late
        return Listing(tuple(cloud.holds.values()))

    cloud.lists = lists
    found = swept(cloud, delete=True)
    assert [one.found.cloud_id for one in found.of(Fate.DELETED)] == ["i-00001", "v-00002"]
    assert cloud.holds == {}


def test_a_stale_list_that_goes_on_naming_what_is_gone_ends() -> None:
    ghost = resource(1)
    cloud = Cloud.of(ghost, lists=lambda _, found: Listing((ghost,)))
    found = swept(cloud, delete=True)
    assert found.complete
    assert [one.fate for one in found.leftovers] == [Fate.DELETED]
    assert cloud.listings <= 3


@pytest.mark.parametrize("trouble", ["refuses", "stuck"])
def test_p4_what_does_not_go_is_left_with_its_reason(trouble: str) -> None:
    cloud = Cloud.of(resource(1), resource(2), **{trouble: {"i-00001"}})
    found = swept(cloud, delete=True)
    (left,) = found.of(Fate.LEFT)
    assert left.found.cloud_id == "i-00001"
    assert ("in use" if trouble == "refuses" else "still exists") in left.why
    assert [one.found.cloud_id for one in found.of(Fate.DELETED)] == ["i-00002"]
    assert not found.complete


@pytest.mark.parametrize("lies", [1, 3])
def test_p4_one_false_word_that_it_is_gone_is_not_believed(lies: int) -> None:
    cloud = Cloud.of(resource(1), stuck={"i-00001"})
    answers = iter(["i-00001 does not exist", None] * lies)

    async def gone(handle: Handle) -> str | None:
        told = next(answers, None)
        if told is None and len(cloud.ordered) > lies:
            return await Cloud.gone(cloud, handle)
        return told

    cloud.gone = gone  # type: ignore[method-assign]
    found = swept(cloud, delete=True)
    (left,) = found.of(Fate.LEFT)
    assert "still exists" in left.why
    assert not found.complete
    assert len(cloud.ordered) > lies  # after each false word it was asked to go again
    cloud.stuck.clear()
    assert swept(cloud, delete=True).complete
    assert cloud.holds == {}


def test_p4_a_last_look_that_fails_is_no_second_word() -> None:
    cloud = Cloud.of(resource(1))

    async def gone(handle: Handle) -> str | None:
        if looks:
            raise Throttled.at(handle.cloud_id, "RequestLimitExceeded", "")
        looks.append(handle.cloud_id)
        return f"{handle.cloud_id} does not exist"

    looks: list[str] = []
    cloud.gone = gone  # type: ignore[method-assign]
    (left,) = swept(cloud, delete=True).of(Fate.LEFT)
    assert "RequestLimitExceeded" in left.why


def test_a_destroy_that_fails_at_first_is_asked_for_again() -> None:
    cloud = Cloud.of(resource(1), stuck={"i-00001"})
    destroy = cloud.destroy

    async def third_time(handle: Handle) -> None:
        if len(cloud.ordered) == 2:
            cloud.stuck.clear()
        if not cloud.ordered:
            cloud.ordered.append(handle.cloud_id)
            raise Throttled.at(handle.cloud_id, "RequestLimitExceeded", "")
        await destroy(handle)

    cloud.destroy = third_time  # type: ignore[method-assign]
    assert swept(cloud, delete=True).complete
    assert cloud.ordered == ["i-00001"] * 3


def test_deletes_keep_the_pace_of_the_account() -> None:
    time = VirtualTime(NOW)
    cloud = Cloud.of(*(resource(n) for n in range(30)))
    assert asyncio.run(sweep({"cloud": cloud}, time, delete=True)).complete  # type: ignore[dict-item]
    assert time.now() - NOW >= 29.0


def test_without_credentials_a_provider_is_skipped_unless_it_was_named() -> None:
    def without(_: int, found: tuple[TaggedResource, ...]) -> Listing:
        raise NoCredentials.at("cloud", "there are none", "log in")

    cloud = Cloud.of(resource(1), lists=without)
    asked = swept(cloud, Cloud.of(resource(2), name="other"), delete=True)
    assert asked.complete
    assert asked.skipped == ("cloud: skipped: there are none; log in",)
    assert len(asked.of(Fate.DELETED)) == 1
    assert not swept(cloud, named=True).complete


def test_credentials_that_are_not_taken_are_a_place_that_was_not_listed() -> None:
    def expired(_: int, found: tuple[TaggedResource, ...]) -> Listing:
        raise BadCredentials.at("cloud", "ExpiredToken", "log in again")

    found = swept(Cloud.of(resource(1), lists=expired))
    assert found.unlisted == ("cloud: ExpiredToken; log in again",)
    assert not found.complete


def test_a_provider_whose_extra_is_missing_is_skipped_unless_it_was_named() -> None:
    missing = UnavailableProvider("aws", "botocore is not installed", "add the extra: cloudcmp[aws]")
    found = swept(unavailable=(missing,))
    assert found.skipped == ("aws: skipped: botocore is not installed; add the extra: cloudcmp[aws]",)
    assert found.complete
    assert not swept(unavailable=(missing,), named=True).complete


def test_where_no_sweep_can_see_it_is_said_and_nothing_is_asked() -> None:
    cloud = Cloud.of(resource(1), safeguards=(Safeguard("sweep", False, "it lies within its study"),))
    found = swept(cloud, delete=True)
    assert found.skipped == ("cloud: not swept: it lies within its study",)
    assert found.complete
    assert cloud.listings == 0
    assert not swept(cloud, named=True).complete
    assert swept(cloud, named=True, along=("cloud",)).complete, "it only came with another one"


def test_prices_are_told_where_they_are_known() -> None:
    price = Price(Decimal("0.1"), "USD", "list", date(2025, 11, 1))
    (found,) = swept(Cloud.of(resource(1), price=price)).leftovers
    assert found.price == price
    (unknown,) = swept(Cloud.of(resource(1))).leftovers
    assert unknown.price is None


@pytest.mark.parametrize("delete", [False, True])
def test_p7_a_cloud_that_does_not_list_in_time_is_named_and_holds_up_no_other(delete: bool) -> None:
    hangs, quick = Cloud.of(resource(1), name="hangs"), Cloud.of(resource(2), name="quick")

    async def leftovers() -> Listing:
        await asyncio.sleep(600.0)
        raise AssertionError("nobody waits so long")

    hangs.leftovers = leftovers  # type: ignore[method-assign]
    found = swept(hangs, quick, delete=delete, within_s=0.05)
    assert found.unlisted == ("hangs: it did not answer within 0.05 s; check the network, sweep again",)
    assert not found.complete
    assert [one.provider for one in found.leftovers] == ["quick"]
    assert hangs.ordered == []


def test_what_was_listed_is_told_also_where_prices_do_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudcmp.app.sweep._EXTRAS_S", 0.2)
    cloud, over = Cloud.of(resource(1), price=Price(Decimal("0.1"), "USD", "list", date(2025, 11, 1))), Event()

    def offerings(region: str | None = None) -> tuple[Offering, ...]:
        over.wait(30.0)
        return ()

    cloud.offerings = offerings  # type: ignore[method-assign]
    try:
        (left,) = swept(cloud).leftovers
    finally:
        over.set()
    assert (left.fate, left.price) == (Fate.DUE, None)


def test_a_sweep_reads_and_writes_nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert swept(Cloud.of(resource(1)), delete=True).complete
    assert list(tmp_path.iterdir()) == []
