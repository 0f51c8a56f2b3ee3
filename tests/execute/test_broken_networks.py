"""Networks that break: each ends its trial with an outcome and a reason, within its deadline, and with no value.

Two machines are network namespaces of this host, joined by a bridge; agents are the real ones.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.namespaces import needs_namespaces
from tests.execute.conftest import Rig
from tests.slices import some

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.execute.cast import LaunchTargets
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.trial import TrialTask, run_trial
from cloudcmp.model.lease import CreateRequest, Handle, Lease, LeaseState
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.plan import cast_of
from cloudcmp.provider.netns import NamespaceProvider, network
from cloudcmp.provider.netns.cloud import NamespaceInstance
from cloudcmp.provider.time import WallTime
from cloudcmp.stats import histogram

pytestmark = needs_namespaces
DEADLINE_S, BROKEN_S = 2.5, 0.7
_CAPS = {"burst_s": 30.0, "bytes_per_s": 1e11, "packets_per_s": 1e9, "bytes": 2**45}
"""No cap may end a trial before its network does."""
_NOBODY = "02:00:00:00:00:99"
_SLOTS = ("launch-0", "launch-0.2")


async def here() -> None:
    return None


@pytest.fixture
def machines(rig: Rig, agent: Path) -> Iterator[list[NamespaceInstance]]:
    """Two machines of a launch, which are gone afterwards."""
    study = f"study-{uuid.uuid4()}"
    provider = NamespaceProvider(OwnedPath(rig.folder / "launches"), agent, study)
    candidate = Candidate(0, "here", Offering("netns", "local", "1cpu"), "netns")

    async def made() -> list[NamespaceInstance]:
        found = []
        for slot in _SLOTS:
            token = f"token-{uuid.uuid4()}"
            tags = (("cloudcmp:attempt", "1"), ("cloudcmp:schema", "1"), ("cloudcmp:study", study))
            asked = CreateRequest(
                slot, 1, "instance", token, token, "local", "1cpu", 3600.0, tags, 0, 0, 1, time.time()
            )
            id = await provider.create(asked)
            lease = Lease(slot, 1, LeaseState.LIVE, "netns", "local", "instance", token, token, id, 0.0)
            instance = await provider.connect(lease, candidate, rig.launch)
            assert isinstance(instance, NamespaceInstance)
            found.append(instance)
        return found

    some = asyncio.run(made())
    try:
        yield some
    finally:
        for one in some:
            asyncio.run(provider.destroy(Handle("instance", "local", one.token)))


def measured(
    rig: Rig,
    machines: Sequence[NamespaceInstance],
    probe: str,
    breaks: Callable[[], object] = lambda: None,
    after_s: float = 0.0,
    deadline_s: float = DEADLINE_S,
    **params: str,
) -> tuple[TrialResult, float]:
    """What came of a trial between the machines in which something breaks, and how long it took (s)."""
    trial = rig.trial(0, probe, deadline_s, path="zone", **params)
    trial = replace(trial, cast=cast_of(probe, dict(trial.params), "netns", "local"))
    context = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64, grace_s=2.0)

    async def both() -> TrialResult:
        async def broken() -> None:
            await asyncio.sleep(after_s)
            await asyncio.to_thread(breaks)

        breaking = asyncio.create_task(broken())
        result = await run_trial(context, TrialTask(trial, 0, LaunchTargets(machines, here), _CAPS))
        await breaking
        return result

    began = time.monotonic()
    return asyncio.run(both()), time.monotonic() - began


def failed_in_time(result: TrialResult, took_s: float) -> None:
    assert result.outcome in {Outcome.FAILED, Outcome.TIMEOUT, Outcome.ABORTED, Outcome.INVALID}, result
    assert result.samples == ()
    assert result.why
    assert "\n" not in result.why
    assert "cap" not in result.why
    assert took_s < DEADLINE_S + 8.0


@pytest.mark.parametrize("probe", some(("tcp", "udp", "rtt", "connect"), 2, 0))
def test_a_peer_whose_link_goes_down_in_the_middle_leaves_no_value(rig, machines, probe: str) -> None:
    """Nothing says that it is gone: no packet comes any more."""
    far = machines[1].namespace
    params = {"duration_s": "2"}
    if probe in {"tcp", "udp"}:
        params["interval_s"] = "0.2"
    if probe == "udp":
        params["rate_bytes_per_s"] = "1000000"
    result, took_s = measured(
        rig, machines, probe, lambda: network.run("ip", "-n", far, "link", "set", "eth0", "down"), BROKEN_S, **params
    )
    failed_in_time(result, took_s)
    assert took_s > BROKEN_S, "it ended before anything broke"


@pytest.mark.parametrize("probe", ["tcp", "rtt"])
def test_a_peer_whose_processes_are_killed_in_the_middle_leaves_no_value(rig, machines, probe: str) -> None:
    result, took_s = measured(
        rig, machines, probe, lambda: network._end_processes(machines[1].namespace), BROKEN_S, duration_s="2"
    )
    failed_in_time(result, took_s)
    assert took_s > BROKEN_S, "it ended before anything broke"


def test_a_firewall_that_drops_is_a_connection_that_never_comes(rig, machines) -> None:
    """Packets to the peer go to an address of the link that nobody has: no answer, and no refusal either."""
    network.run(
        "ip", "-n", machines[0].namespace, "neigh", "replace", machines[1].address, "lladdr", _NOBODY, "dev", "eth0",
        "nud", "permanent",
    )  # fmt: skip
    result, took_s = measured(rig, machines, "tcp", duration_s="1", deadline_s=20.0)
    failed_in_time(result, took_s)
    assert f"cannot connect to {machines[1].address}:" in result.why


def test_a_path_that_swallows_large_packets_is_no_slow_network(rig, machines) -> None:
    """The connection is made, and its bulk never arrives: the port of the far machine takes less than both ends say."""
    near, far = machines
    network.run("ip", "-n", near.namespace, "link", "set", "eth0", "gso_max_segs", "1")
    tags = network.read(far.namespace).tags
    switch = network.switch_of(tags[network.STUDY], "local")
    ports = {one["ifname"]: one.get("ifalias") for one in network._ip(switch, "-j", "link", "show")}
    port = next(name for name, address in ports.items() if address == far.address)
    network.run("ip", "-n", switch, "link", "set", port, "mtu", "700")
    network.run("ip", "-n", far.namespace, "link", "set", "eth0", "mtu", "1500")
    result, took_s = measured(rig, machines, "tcp", duration_s="1", interval_s="0.2")
    failed_in_time(result, took_s)
    fine, _ = measured(rig, machines, "rtt", duration_s="0.2")
    assert fine.outcome is Outcome.OK, fine.why


def test_without_ipv6_an_address_of_it_is_a_reason_and_ipv4_is_measured(rig, machines) -> None:
    for one in machines:
        network.run(
            "ip", "netns", "exec", one.namespace, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6"
        )
    sixes = [replace(one, address=address) for one, address in zip(machines, ("fd00::1", "fd00::2"), strict=True)]
    result, took_s = measured(rig, sixes, "tcp", duration_s="0.2")
    failed_in_time(result, took_s)
    assert "cannot listen on [fd00::2]:0" in result.why
    fine, _ = measured(rig, machines, "rtt", duration_s="0.2")
    assert fine.outcome is Outcome.OK, fine.why
