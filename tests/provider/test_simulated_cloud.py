import asyncio
import json
import os
from dataclasses import replace

import pytest

from cloudcmp.errors import LostAnswer, NoCapacity, NotOurs, Refused, UserMistake
from cloudcmp.model.offering import CellTruth, Faults
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.simulated.inventory import Inventory
from cloudcmp.provider.time import VirtualTime

TRUTH = {"fma_flop_per_s": CellTruth(1e9)}


def share(plans, act, n=400):
    """The share of seeds at which something planted happens."""
    return sum(act(seed) for seed in range(n)) / n


def cloud(plans, faults=None, state=None, time=None, boot_s=None):
    return plans.simulated(plans.candidate(TRUTH, faults, boot_s), state, time)


def test_three_clouds_with_dated_planted_prices(plans):
    provider = cloud(plans)
    assert {offering.region for offering in provider.offerings()} == {"nimbus", "stratus", "cumulus"}
    for region in ("nimbus", "stratus", "cumulus"):
        offerings = provider.offerings(region)
        assert [offering.name for offering in offerings] == ["small", "medium", "large"]
        assert all(offering.price.source == "planted" and offering.price.as_of for offering in offerings)
        prices = [offering.price.amount_per_hour for offering in offerings]
        assert prices == sorted(prices)


def test_candidates_have_hosts_of_their_own(plans):
    provider = cloud(plans)
    one = plans.candidate()
    assert provider.host(one) != provider.host(replace(one, index=1, id="stratus/small"))


def test_capacity_and_lost_answers_befall_as_often_as_planted(plans):
    def happens(fault, faults):
        def act(seed):
            try:
                asyncio.run(cloud(plans, faults).create(plans.request(seed=seed)))
            except fault:
                return True
            return False

        return act

    assert share(plans, happens(NoCapacity, Faults(capacity=0.3))) == pytest.approx(0.3, abs=0.07)
    assert share(plans, happens(LostAnswer, Faults(lost_answer=0.3))) == pytest.approx(0.3, abs=0.07)
    assert share(plans, happens(NoCapacity, Faults())) == 0
    assert share(plans, happens(NoCapacity, Faults(capacity=1.0))) == 1


def test_without_capacity_nothing_exists(plans):
    provider = cloud(plans, Faults(capacity=1.0))
    with pytest.raises(NoCapacity):
        asyncio.run(provider.create(plans.request()))
    assert asyncio.run(provider.find("study-a", "token-1")) == ()


def test_after_a_lost_answer_the_machine_exists(plans):
    provider = cloud(plans, Faults(lost_answer=1.0))
    with pytest.raises(LostAnswer):
        asyncio.run(provider.create(plans.request()))
    (found,) = asyncio.run(provider.find("study-a", "token-1"))
    assert asyncio.run(provider.create(plans.request())) == found.cloud_id


def test_a_stale_list_does_not_show_what_is_new(plans):
    time = VirtualTime(plans.start)
    provider = cloud(plans, Faults(stale_list_s=100.0), time=time)
    cloud_id = asyncio.run(provider.create(plans.request(at=plans.start)))
    assert asyncio.run(provider.find("study-a", "token-1")) == ()
    assert asyncio.run(provider.gone(plans.handle(cloud_id))) is None
    asyncio.run(time.sleep(99.0))
    assert asyncio.run(provider.find("study-a")) == ()
    asyncio.run(time.sleep(1.0))
    assert [found.cloud_id for found in asyncio.run(provider.find("study-a"))] == [cloud_id]


def test_a_token_whose_machine_has_ended_is_refused(plans):
    provider = cloud(plans)
    asyncio.run(provider.destroy(plans.handle(asyncio.run(provider.create(plans.request())))))
    with pytest.raises(Refused, match="ask with a new token"):
        asyncio.run(provider.create(plans.request()))


def test_the_cloud_outlives_its_client_also_with_a_torn_last_line(plans, tmp_path):
    place, state = OwnedPath(tmp_path, ("deep", "clouds")), tmp_path / "deep" / "clouds"
    ids = [asyncio.run(cloud(plans, state=place).create(plans.request(f"t{n}"))) for n in range(3)]
    asyncio.run(cloud(plans, state=place).destroy(plans.handle(ids[0])))
    whole = state.read_bytes()
    for length in range(0, len(whole) + 1, 3):
        state.write_bytes(whole[:length])
        held = {resource.cloud_id for resource in Inventory(place) if resource.end is None}
        complete = whole[:length].count(b"\n") + (length < len(whole) and whole[length : length + 1] == b"\n")
        assert held == {0: set(), 1: {ids[0]}, 2: set(ids[:2]), 3: set(ids), 4: set(ids[1:])}[complete]
    state.write_bytes(whole[:-5])
    asyncio.run(cloud(plans, state=place).create(plans.request("t9")))
    assert len(asyncio.run(cloud(plans, state=place).find("study-a"))) == 4


def test_lines_of_another_make_are_passed_over(plans, tmp_path):
    state = tmp_path / "clouds"
    state.write_bytes(b'\xff\n[]\n7\n{"event":"made"}\n{"event":"ended","cloud_id":"x","how":"y"}\n')
    assert asyncio.run(cloud(plans, state=OwnedPath(tmp_path, ("clouds",))).find("study-a")) == ()


def test_booting_takes_virtual_time_only(plans):
    time = VirtualTime(plans.start)
    provider = cloud(plans, time=time, boot_s=45.0)
    request = plans.request()
    lease = plans.lease(request, asyncio.run(provider.create(request)), "simulated")
    asyncio.run(provider.connect(lease, plans.candidate(), plans.launch()))
    assert time.now() == plans.start + 45.0
    assert time.at(10.0) == plans.start + 10.0


def stream_of(plans, faults, seed, role="solo", earlier=0):
    """What one agent prints, whether its deadline passes, and whether its machine is then gone."""
    provider = cloud(plans, faults)
    request = plans.request()

    async def use():
        cloud_id = await provider.create(request)
        lease = plans.lease(request, cloud_id, "simulated")
        instance = await provider.connect(lease, plans.candidate(TRUTH), plans.launch())
        pieces, late = [], False
        job = {"role": role, "listen": "127.0.0.1:0" if role == "server" else None}
        async with instance.start(json.dumps(job).encode(), plans.trial("fma", seed=seed), earlier) as channel:
            try:
                async for piece in channel.stdout():
                    pieces.append(piece)
            except TimeoutError:
                late = True
        return b"".join(pieces), late, await provider.gone(plans.handle(cloud_id))

    return asyncio.run(use())


def test_faults_of_running_befall_as_often_as_planted_and_look_like_themselves(plans):
    whole = stream_of(plans, Faults(), 1)[0]
    assert whole.endswith(b"}\n")
    faults = Faults(preemption=0.2, hang=0.2, garbage=0.2)
    seen = [stream_of(plans, faults, seed) for seed in range(300)]
    hung = sum(late for _, late, _ in seen)
    taken = sum(gone is not None for _, _, gone in seen)
    broken = sum(b"\xff" in data for data, _, _ in seen)
    # Each is looked at only where the one before did not happen.
    assert taken / 300 == pytest.approx(0.2, abs=0.07)
    assert hung / 300 == pytest.approx(0.16, abs=0.07)
    assert broken / 300 == pytest.approx(0.128, abs=0.07)
    for data, late, gone in seen:
        assert data.startswith(b'{"v":2,"seq":0,"type":"hello"')
        if late or gone:
            assert not data.endswith(b'"}\n') or b'"type":"end"' not in data


def test_faults_follow_from_the_seeds(plans):
    faults = Faults(preemption=0.3, hang=0.3, garbage=0.3)
    for seed in range(20):
        assert stream_of(plans, faults, seed) == stream_of(plans, faults, seed)
    assert any(stream_of(plans, faults, seed) != stream_of(plans, faults, seed, earlier=1) for seed in range(20))


def test_a_server_listens_and_is_spared(plans):
    data, late, gone = stream_of(plans, Faults(preemption=1.0, hang=1.0, garbage=1.0), 1, role="server")
    assert b'"type":"ready"' in data
    assert (late, gone) == (False, None)


def test_a_candidate_of_another_plan_is_a_mistake(plans):
    with pytest.raises(UserMistake, match="is not of its plan"):
        asyncio.run(plans.simulated(plans.candidate()).create(replace(plans.request(), candidate=9)))


def test_the_clouds_time_goes_on_without_a_client(plans, tmp_path):
    state = OwnedPath(tmp_path, ("clouds",))
    late = plans.start + 1e6
    asyncio.run(cloud(plans, Faults(stale_list_s=50.0), state).create(plans.request(at=late)))
    time = VirtualTime(plans.start)
    successor = cloud(plans, state=state, time=time)
    assert time.now() == late
    asyncio.run(time.sleep(50.0))
    assert asyncio.run(successor.find("study-a"))


@pytest.mark.parametrize("link", ["clouds", "work"])
def test_its_file_is_neither_read_nor_written_through_a_link(tmp_path, plans, link):
    (tmp_path / "home").mkdir()
    victim = tmp_path / "home" / "clouds"
    victim.write_text("dear\n")
    (tmp_path / "study" / "work").mkdir(parents=True)
    state = OwnedPath(tmp_path / "study", ("work", "clouds"))
    if link == "work":
        state.path.parent.rmdir()
        state.path.parent.symlink_to(tmp_path / "home")
    else:
        state.path.symlink_to(victim)
    with pytest.raises(NotOurs, match="study/work"):
        asyncio.run(cloud(plans, state=state).create(plans.request()))
    assert victim.read_text() == "dear\n"


def test_a_pipe_in_the_place_of_its_file_is_not_waited_for(tmp_path, plans):
    os.mkfifo(tmp_path / "clouds")
    with pytest.raises(NotOurs, match="no regular file"):
        cloud(plans, state=OwnedPath(tmp_path, ("clouds",)))
