import asyncio
import itertools
import random

import pytest
from tests.crash_points import CLOUD_CRASH_POINTS

from cloudcmp.errors import LostAnswer, NoCapacity, ProviderFault, Refused, StorageFault
from cloudcmp.model.lease import LeaseEvent, LeaseState
from cloudcmp.model.offering import Faults
from cloudcmp.provision import destruction, lifecycle, patience_with, release_all
from cloudcmp.provision.lifecycle import acquire, release

HOUR = 3600.0


def take(world, launch=None):
    return asyncio.run(acquire(world.ledger, world.cloud, world.candidate, launch or world.launch(), HOUR))


def give_back(world, lease):
    return asyncio.run(release(world.ledger, world.cloud, lease))


def clean_up(world):
    return asyncio.run(release_all(world.ledger, {"simulated": world.cloud}))


def fail_with(fault):
    def fail():
        raise fault

    return fail


def test_the_intent_is_written_before_the_machine_is_asked_for(world):
    one = world()
    lease = take(one)
    assert one.log == ["INTENT", "create", "CREATED"]
    assert lease.state is LeaseState.LIVE
    assert one.cloud.holds == [lease.cloud_id]
    outcome = give_back(one, lease)
    assert one.log[3:] == ["DELETE_ASKED", "gone", "destroy", "gone", "gone", "GONE"]
    assert outcome.evidence == f"{lease.cloud_id} destroyed"
    assert (outcome.why, outcome.unwritten) == ("", "")
    assert one.journal.rows[-1].detail == outcome.evidence
    assert one.cloud.holds == []
    assert one.ledger.open_leases() == ()


def test_the_request_carries_tags_token_name_and_time_to_live(world):
    one = world()
    take(one)
    (found,) = asyncio.run(one.cloud.find("study-a"))
    assert dict(found.tags) == {
        "cloudcmp:schema": "1",
        "cloudcmp:study": "study-a",
        "cloudcmp:slot": "launch-0",
        "cloudcmp:attempt": "1",
        "cloudcmp:owner": "unknown",
        "cloudcmp:expires": "2023-11-14T23:13:20Z",
    }
    intent = one.journal.rows[0]
    assert (intent.ttl_s, intent.at) == (HOUR, one.cloud.time.at(0.0))
    assert intent.token == found.token
    assert len(intent.token) == 36


def test_a_new_attempt_has_a_new_token_and_the_same_attempt_the_same(world):
    one, other = world(), world()
    tokens = [one.ledger.request_for(one.candidate, one.launch(), HOUR).token for _ in range(2)]
    assert tokens[0] == tokens[1] == other.ledger.request_for(one.candidate, one.launch(), HOUR).token
    give_back(one, take(one))
    assert one.ledger.request_for(one.candidate, one.launch(), HOUR).token != tokens[0]
    assert one.ledger.request_for(one.candidate, one.launch(1), HOUR).token != tokens[0]


@pytest.mark.parametrize("study", ["a" * 200, "Grüße an ALLE!", "x_y.z"])
def test_names_are_taken_by_every_cloud_and_differ(world, study):
    one = world()
    one.ledger.study = study
    names = [one.ledger.request_for(one.candidate, one.launch(n), HOUR).name for n in (1, 2, 11)]
    assert len(set(names)) == 3
    for name in names:
        assert len(name) <= 63
        assert name.isascii()
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_without_a_written_intent_nothing_is_created(world):
    one = world()
    one.journal.fails = {LeaseEvent.INTENT}
    with pytest.raises(StorageFault):
        take(one)
    assert one.log == []
    assert one.cloud.holds == []


def test_a_machine_that_cannot_be_written_down_is_destroyed_again(world):
    one = world()
    one.journal.fails = {LeaseEvent.CREATED}
    with pytest.raises(StorageFault):
        take(one)
    assert one.cloud.holds == []


def test_destroying_does_not_wait_for_the_journal(world):
    one = world()
    lease = take(one)
    one.journal.fails = set(LeaseEvent)
    outcome = give_back(one, lease)
    assert one.cloud.holds == []
    assert outcome.evidence
    assert "no space left" in outcome.unwritten
    # Once it can be written again, a successor finds the lease open, and its machine gone.
    one.journal.fails = set()
    one.restart()
    assert [item.evidence is not None for item in clean_up(one)] == [True]
    assert one.journal.events[-1] == "GONE"


@pytest.mark.parametrize("fault", [NoCapacity, Refused])
def test_a_refusal_is_final(world, fault):
    one = world()
    one.cloud.before["create"] = fail_with(fault.at("nimbus", "no"))
    with pytest.raises(fault):
        take(one)
    assert one.journal.events == ["INTENT", "REFUSED"]
    assert one.ledger.open_leases() == ()


def test_p2_a_lost_answer_is_found_again_and_never_asked_twice(world):
    one = world(Faults(lost_answer=1.0))
    lease = take(one)
    assert one.journal.events == ["INTENT", "INDETERMINATE", "CREATED"]
    assert one.log.count("create") == 1
    assert one.cloud.holds == [lease.cloud_id]


@pytest.mark.parametrize("lag_s", [0.0, 7.0, 300.0, 599.0])
def test_p3_a_stale_list_does_not_make_it_forgotten(world, lag_s):
    one = world(Faults(lost_answer=1.0, stale_list_s=lag_s))
    lease = take(one)
    assert one.cloud.holds == [lease.cloud_id]
    assert one.log.count("create") == 1


def test_an_answer_lost_before_anything_was_made_is_given_up_only_after_the_grace(world):
    one = world()
    one.cloud.before["create"] = fail_with(LostAnswer.at("nimbus", "connection reset"))
    began = one.cloud.time.now()
    with pytest.raises(LostAnswer, match="no such machine was found"):
        take(one)
    assert one.cloud.time.now() - began >= 600.0
    assert one.log.count("find") >= 3
    assert one.journal.events == ["INTENT", "INDETERMINATE", "GONE"]
    assert "not found by tags and token" in one.journal.rows[-1].detail


def test_a_listing_that_fails_is_not_an_empty_listing(world):
    one = world(Faults(lost_answer=1.0))
    failures = iter([ProviderFault.at("nimbus", "503")] * 1000)

    def unwell():
        fault = next(failures, None)
        if fault is not None:
            raise fault

    one.cloud.before["find"] = unwell
    with pytest.raises(ProviderFault, match="cannot be looked for: nimbus: 503"):
        take(one)
    assert one.journal.events == ["INTENT", "INDETERMINATE"]
    assert len(one.cloud.holds) == 1
    one.cloud.before.clear()
    one.restart()
    assert all(item.evidence for item in clean_up(one))
    assert one.cloud.holds == []


def test_poll_errors_never_ask_again(world):
    one = world(Faults(lost_answer=1.0))
    failures = iter([ProviderFault.at("nimbus", "503")] * 5)

    def unwell():
        fault = next(failures, None)
        if fault is not None:
            raise fault

    one.cloud.before["find"] = unwell
    lease = take(one)
    assert one.log.count("create") == 1
    assert one.cloud.holds == [lease.cloud_id]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, asyncio.CancelledError])
def test_whatever_breaks_the_request_leaves_it_to_be_looked_for(world, error):
    one = world()
    one.cloud.before["create"] = fail_with(error())
    with pytest.raises(error):
        take(one)
    assert one.journal.events == ["INTENT", "INDETERMINATE"]
    assert one.ledger.open_leases()


def test_p4_gone_means_seen_gone(world):
    one = world()
    lease = take(one)
    deaf = itertools.count()
    really_destroy = one.cloud._inventory.end
    one.cloud._inventory.end = lambda *args: really_destroy(*args) if next(deaf) >= 7 else None
    outcome = give_back(one, lease)
    assert outcome.evidence
    assert one.log.count("destroy") == 8
    assert one.journal.events.count("GONE") == 1
    assert one.cloud.holds == []


def test_p4_what_is_never_seen_gone_stays_in_the_ledger(world):
    one = world()
    lease = take(one)
    one.cloud._inventory.end = lambda *args: None
    outcome = give_back(one, lease)
    assert (outcome.evidence, outcome.why) == (None, "it is still there")
    assert "GONE" not in one.journal.events
    assert one.ledger.open_at("launch-0")
    with pytest.raises(ProviderFault, match="is not seen gone"):
        take(one)
    assert one.log.count("create") == 1


def test_a_provider_that_fails_to_destroy_is_asked_again(world):
    one = world()
    lease = take(one)
    failures = iter([ProviderFault.at("nimbus", "503")] * 3)

    def unwell():
        fault = next(failures, None)
        if fault is not None:
            raise fault

    one.cloud.before["destroy"] = unwell
    assert give_back(one, lease).evidence
    assert one.cloud.holds == []


def test_an_earlier_machine_of_the_slot_is_ended_before_another_is_asked_for(world):
    one = world()
    first = take(one)
    one.restart()
    second = take(one)
    ended = ["gone", "find", "DELETE_ASKED", "destroy", "gone", "gone", "GONE"]
    assert one.log[3:] == [*ended, "INTENT", "create", "CREATED"]
    assert second.attempt == 2
    assert second.cloud_id != first.cloud_id
    assert one.cloud.holds == [second.cloud_id]


def test_release_all_ends_everything_of_the_study_and_nothing_else(world):
    one = world()
    foreign = one.foreign()
    for index in range(4):
        take(one, one.launch(index))
    one.restart()
    outcomes = clean_up(one)
    assert len(outcomes) == 4
    assert all(item.evidence for item in outcomes)
    assert one.cloud.holds == [foreign]
    assert clean_up(one) == ()


def test_release_all_finds_what_no_row_knows_of(world):
    one = world()
    foreign = one.foreign()
    take(one)
    one.journal.rows.clear()
    one.restart()
    (outcome,) = clean_up(one)
    assert outcome.evidence
    assert one.cloud.holds == [foreign]


def test_release_all_says_what_it_could_not_do(world):
    one = world()
    take(one)
    one.restart()
    (missing,) = asyncio.run(release_all(one.ledger, {}))
    assert (missing.evidence, missing.why) == (None, "the provider simulated is not at hand")
    one.cloud.before["find"] = fail_with(ProviderFault.at("nimbus", "no permission to list"))
    kept, unlisted = clean_up(one)
    assert (kept.evidence, kept.why) == (None, "nimbus: no permission to list")  # it could not be read back
    assert unlisted.evidence is None
    assert "could not be listed" in unlisted.why
    assert len(one.cloud.holds) == 1


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours runs after it."""


@pytest.mark.parametrize("faults", [Faults(), Faults(lost_answer=1.0), Faults(lost_answer=1.0, stale_list_s=60.0)])
@pytest.mark.parametrize("point", CLOUD_CRASH_POINTS)
def test_p1_killed_at_any_point_nothing_is_left(world, monkeypatch, point, faults):
    for nth in (1, 2):
        one = world(faults)
        foreign = one.foreign()
        passed = itertools.count(1)

        def crash(name, passed=passed, nth=nth):
            if name == point and next(passed) == nth:
                raise Killed

        with monkeypatch.context() as patch:
            for module in (lifecycle, destruction):
                patch.setattr(module, "crash_point", crash)
            try:
                give_back(one, take(one))
                give_back(one, take(one, one.launch(1)))
            except Killed:
                pass
        one.restart()
        assert all(item.evidence for item in clean_up(one))
        assert one.cloud.holds == [foreign]
        assert one.ledger.open_leases() == ()


def test_p2_p3_histories_at_random(world, monkeypatch):
    """Lost answers, stale lists, no capacity and kills in any mixture: nothing forgotten, nothing twice."""
    for seed in range(200):
        rng = random.Random(seed)
        faults = Faults(
            capacity=rng.choice([0, 0.3]), lost_answer=rng.random(), stale_list_s=rng.choice([0.0, 30.0, 300.0])
        )
        one = world(faults)
        foreign = one.foreign()
        kill_rate = rng.choice([0, 0.05, 0.3])

        def crash(name, rng=rng, kill_rate=kill_rate):
            if rng.random() < kill_rate:
                raise Killed

        with monkeypatch.context() as patch:
            for module in (lifecycle, destruction):
                patch.setattr(module, "crash_point", crash)
            for index in range(3):
                try:
                    lease = take(one, one.launch(index, seed=seed * 10 + index))
                    assert lease.cloud_id in one.cloud.holds
                    give_back(one, lease)
                except (NoCapacity, LostAnswer):
                    continue
                except Killed:
                    one.restart()
        assert all(item.evidence for item in clean_up(one)), seed
        assert one.cloud.holds == [foreign], seed
        intents = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
        assert one.log.count("create") <= len(intents)
        assert len({row.token for row in intents}) == len(intents)


def test_patience_with_what_answers_at_once(world, tmp_path):
    from cloudcmp.owned_folder import OwnedPath
    from cloudcmp.provider.local import LocalProvider

    assert patience_with(LocalProvider(OwnedPath(tmp_path))).grace_s == 0.0
    assert patience_with(world().cloud).grace_s == 600.0
