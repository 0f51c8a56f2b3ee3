"""Machines at the other end of SSH that lie, flood, hang or restart: a result each time, and never a number."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from tests.emulated.ssh_server import SshMachine, machine_in_thread
from tests.execute.liars import lie, lie_about
from tests.execute.test_hostile import INVALID, SLOW
from tests.slices import spread

from cloudcmp.agent.deploy import deploy
from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.errors import ConnectionLost, ProviderFault
from cloudcmp.execute.cast import LaunchTargets, Link
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.launch import run_trials
from cloudcmp.execute.lifecycle.machine_times import record_arrival
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.remote import Endpoint
from cloudcmp.model.safety import Timeline
from cloudcmp.model.trial import LaunchReason
from cloudcmp.provider.time import WallTime
from cloudcmp.stats import histogram

CLIENT, HOST = new_key(), new_key()
CANDIDATE = Candidate(0, "ssh/ssh/box", Offering("ssh", "ssh", "box"), "ssh")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshMachine]:
    home = tmp_path_factory.mktemp("remote") / "home"
    home.mkdir()
    with machine_in_thread(home, host_key=HOST, client_public=CLIENT.public) as served:
        yield served


@pytest.fixture
def visit(rig, machine):
    """Runs trials on the machine, with whatever it has in the agent's place."""

    def run(trials, *, gone=None, again=None, start=None, **bench):
        async def whole():
            where = Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT)
            shell = await dial(where, 10)
            try:
                instance = await deploy(shell, folder="lies", lease_s=60.0)
                if start:
                    instance = SimpleNamespace(cpus=instance.cpus, folder=instance.folder, start=start)
                made = TrialContext(
                    rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64, rig.stop, **bench
                )
                links = again and (lambda: again(shell))
                return await run_trials(
                    made, CANDIDATE, rig.launch, trials, LaunchTargets((instance,), gone or _there, reconnect=links), {}
                )
            finally:
                await shell.close()

        return asyncio.run(whole())

    return run


async def _there() -> None:
    return None


@pytest.mark.parametrize("name", spread(list(INVALID), 9))
def test_p29_p31_a_lying_machine_makes_its_trial_invalid(rig, visit, machine, name):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    files = set(machine.home.parent.iterdir())
    lie(machine.home, INVALID[name])
    visit([rig.trial(0, "fma")])
    (attempt,) = rig.memory.attempts
    assert attempt.outcome.value == "invalid"
    assert rig.memory.samples[0] == ()
    assert attempt.why.isprintable()
    assert 0 < len(attempt.why) < 500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 96 * 1024
    assert set(machine.home.parent.iterdir()) == files


@pytest.mark.parametrize("name", SLOW)
def test_p24_p29_no_remote_agent_holds_us_beyond_its_deadline(rig, visit, machine, name):
    lie(machine.home, SLOW[name])
    visit([rig.trial(0, "fma", deadline_s=0.3)], grace_s=0.2)
    assert rig.outcomes == ["timeout"]


def test_p29_the_next_trial_runs_as_if_nothing_had_happened(rig, visit, machine):
    lie(machine.home, "hello(); sample(-1.0 if job['seed'] == 1000 else 2.0); end()")
    visit([rig.trial(0, "fma"), rig.trial(1, "fma")])
    assert rig.outcomes == ["invalid", "ok"]


NASTY = "hello(); say('error', what='\\x1b[2J</script><script>alert(1)</script>', next='../../../etc\\u202e')"


def test_p29_what_a_machine_says_is_one_clean_line(rig, visit, machine):
    lie(machine.home, f"{NASTY}; end(0, 'failed')")
    visit([rig.trial(0, "fma")])
    assert rig.outcomes == ["failed"]
    assert rig.memory.attempts[0].why == "</script><script>alert(1)</script>; ../../../etc"


UPTIMES = (
    "nan",
    "inf",
    "-5.00",
    "1e9.0",
    "",
    "</script>",
    "9" * 400,
    "0.00 1.0",
    "9999999999.99 1.0",
    "12.5; rm",
    "../x",
)


@pytest.mark.parametrize("said", spread(UPTIMES, 4))
def test_p29_an_uptime_that_cannot_be_is_no_number(rig, visit, machine, said):
    lie_about(machine.home, "/proc/uptime", f"print({said!r})")

    async def read():
        shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 10)
        try:
            return await (await deploy(shell, folder="lies")).uptime_s()
        finally:
            await shell.close()

    try:
        uptime_s = asyncio.run(read())
    except ProviderFault as fault:
        told = str(fault)
    else:
        told = _told_of_arrival(rig, uptime_s)
    assert told.isprintable()
    assert "uptime" in told or "clock" in told


def _told_of_arrival(rig, uptime_s: float) -> str:
    bench = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64)
    line = Timeline(1.0, 2.0, 3.0, 4.0, uptime_s)
    record_arrival(bench, CANDIDATE, [rig.trial(0, "scaling")], [line], 0.25, "")
    assert rig.outcomes == ["invalid"]
    return rig.memory.attempts[0].why


# -- lines that break


def _breaking(machine: SshMachine, body: str = "time.sleep(30)") -> None:
    """The first trial's line breaks; the second goes well."""
    flag = machine.home / "cut-me"
    lie(machine.home, f"hello()\nif job['seed'] == 1000:\n    open({str(flag)!r}, 'w'); {body}\nsample(); end()")


async def _cut_when_asked(machine: SshMachine) -> None:
    flag = machine.home / "cut-me"
    while not flag.exists():
        await asyncio.sleep(0.01)
    flag.unlink()
    machine._loop.call_soon_threadsafe(_cut, machine, 20)


def _cut(machine: SshMachine, rounds: int) -> None:
    """Cut after so many rounds of the machine's loop: what its agent wrote before it asked is on the way by then."""
    if rounds:
        machine._loop.call_soon(_cut, machine, rounds - 1)
        return
    for connection in list(machine.open_connections):
        connection.abort()


def _cutting(visit, machine, trials, **more):
    """The visit, with somebody at the plug."""

    async def both():
        return await asyncio.gather(asyncio.to_thread(visit, trials, **more), _cut_when_asked(machine))

    return asyncio.run(both())[0]


def test_p36_a_line_that_breaks_is_no_failure_of_the_machine(rig, visit, machine):
    _breaking(machine)

    async def again(shell):
        assert await shell.again(60.0)
        return Link.BACK

    seen = _cutting(visit, machine, [rig.trial(0, "fma"), rig.trial(1, "fma")], again=again)
    assert rig.outcomes == ["aborted", "ok"]
    why = rig.memory.attempts[0].why
    assert why.startswith("the connection was lost")
    assert why.endswith("the machine lives and is connected again")
    assert seen.finished


def test_p36_a_machine_that_restarted_has_failed_its_trial(rig, visit, machine):
    _breaking(machine)

    async def again(shell):
        assert await shell.again(60.0)
        return Link.RESTARTED

    _cutting(visit, machine, [rig.trial(0, "fma"), rig.trial(1, "fma")], again=again)
    assert rig.outcomes == ["failed", "ok"]
    assert rig.memory.attempts[0].why.startswith("the machine restarted during the trial (the connection was lost")


def test_p36_a_machine_out_of_reach_leaves_its_launch_to_be_gone_on_with(rig, visit, machine):
    _breaking(machine)

    async def again(shell):
        raise ProviderFault.at("box", "no answer within 20 s (SSH connect)", "see whether it is up")

    seen = _cutting(visit, machine, [rig.trial(0, "fma"), rig.trial(1, "fma")], again=again)
    assert (seen.finished, seen.why) == (False, LaunchReason.MACHINE_UNREACHABLE.text)
    (attempt,) = rig.memory.attempts
    assert (attempt.outcome.value, attempt.interrupted) == ("aborted", True)
    assert attempt.why.endswith("the machine is out of reach: no answer within 20 s (SSH connect)")
    assert not rig.memory.open


def test_p36_silence_of_a_machine_out_of_reach_is_no_timeout(rig, visit, machine):
    lie(machine.home, "hello(); time.sleep(30)")

    async def again(shell):
        raise ConnectionLost.at("box", "no answer within 20 s (SSH connect)", "")

    seen = visit([rig.trial(0, "fma", deadline_s=0.3)], again=again, grace_s=0.2)
    assert (seen.why, [one.interrupted for one in rig.memory.attempts]) == (
        LaunchReason.MACHINE_UNREACHABLE.text,
        [True],
    )


@pytest.mark.parametrize(("link", "outcome"), [(Link.HELD, "failed"), (Link.BACK, "aborted"), (None, "aborted")])
def test_p36_an_agent_that_cannot_be_started_over_a_dead_line_is_no_failure_of_the_machine(rig, visit, link, outcome):
    @asynccontextmanager
    async def start(*_args):
        raise ProviderFault.at("box", "no answer within 15 s (opening a session)")
        yield

    async def again(shell):
        if link is None:
            raise ConnectionLost.at("box", "no answer within 20 s (SSH connect)", "")
        return link

    visit([rig.trial(0, "fma")], again=again, start=start)
    (attempt,) = rig.memory.attempts
    assert (attempt.outcome.value, attempt.interrupted) == (outcome, link is None)
    assert attempt.why.startswith("the agent could not be started: box: no answer within 15 s")


def test_p36_a_machine_that_is_gone_was_taken_away(rig, visit, machine):
    _breaking(machine)
    asked = []

    async def gone():
        asked.append(1)
        return "i-1 is terminated" if len(asked) > 1 else None

    async def again(shell):
        raise ConnectionLost.at("box", "its SSH port is closed", "")

    _cutting(visit, machine, [rig.trial(0, "fma"), rig.trial(1, "fma")], gone=gone, again=again)
    assert rig.outcomes == ["preempted", "preempted"]
    assert rig.memory.attempts[0].why == "the machine was taken away: i-1 is terminated"


@pytest.mark.parametrize(("link", "outcome"), [(Link.HELD, "timeout"), (Link.BACK, "aborted")])
def test_p36_silence_is_a_timeout_only_where_the_machine_can_be_heard(rig, visit, machine, link, outcome):
    lie(machine.home, "hello(); time.sleep(30)")

    async def again(shell):
        assert await shell.again(60.0) is False
        return link

    visit([rig.trial(0, "fma", deadline_s=0.3)], again=again, grace_s=0.2)
    assert rig.outcomes == [outcome]


def test_p36_a_line_that_breaks_after_the_end_record_changes_nothing(rig, visit, machine):
    flag = machine.home / "cut-me"
    lie(machine.home, f"hello(); sample(); end(); open({str(flag)!r}, 'w'); time.sleep(30)")
    _cutting(visit, machine, [rig.trial(0, "fma")])
    assert rig.outcomes == ["ok"]
