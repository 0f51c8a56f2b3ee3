"""The agent on a machine that is reached by SSH: put there, run, leased, and taken away again."""

import asyncio
import contextlib
import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.ssh_server import Lies, ssh_machine

from cloudcmp.agent import Decoder, encode_job, expected_series
from cloudcmp.agent.deploy import CPUS_MAX, deploy, triple_of, undeploy, usable_cpus
from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.catalog import METRICS
from cloudcmp.errors import AgentMissing, ProviderFault
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.protocol import Instance
from cloudcmp.model.remote import Endpoint
from cloudcmp.model.trial import Outcome
from cloudcmp.stats import histogram

CLIENT, HOST = new_key(), new_key()
CELL = "fma_flop_per_s precision=f64;threads=one"
TRIAL = PlannedTrial(
    0, 0, "fma", (("duration_s", "0.1"), ("interval_s", "0.1"), ("threads", "one")), (CELL,), 0, 0.0, 1.0, 20.0, 1
)


def on_machine(tmp_path, work, lies=None):
    """What an async function of a shell gives."""

    async def visit():
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public, lies=lies) as machine:
            shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 10)
            try:
                return await work(shell)
            finally:
                await shell.close()

    return asyncio.run(visit())


def script(path, text):
    """A stand-in for the agent that runs anywhere."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return lambda triple: path


@pytest.mark.parametrize("lease_s", [None, 60.0])
def test_the_real_agent_measures_over_ssh_and_its_samples_decode(tmp_path, agent, lease_s):
    async def work(shell):
        instance: Instance = await deploy(shell, lambda triple: agent, lease_s=lease_s)
        decoder = Decoder(expected_series(TRIAL.cells, METRICS), TRIAL.deadline_s, histogram.from_base64)
        job = encode_job(TRIAL, cpus=instance.cpus, folder=instance.folder)
        async with instance.start(job, TRIAL, 0) as channel:
            async for piece in channel.stdout():
                decoder.feed(piece)
            words = await channel.last_words()
        return decoder.result(), words, instance

    result, words, instance = on_machine(tmp_path, work)
    assert result.outcome is Outcome.OK, result.why
    assert words == "exit 0"
    assert {sample.metric for sample in result.samples} == {"fma_flop_per_s"}
    assert all(sample.value > 0 for sample in result.samples)
    assert set(instance.cpus) == os.sched_getaffinity(0)
    assert instance.address == "127.0.0.1"
    assert instance.prefix == (() if lease_s is None else ("timeout", "-k", "5", "60"))


def test_the_agent_is_alone_in_a_fresh_folder_with_a_clean_environment(tmp_path):
    stand_in = script(tmp_path / "stand-in", '[ "$1" = --version ] && echo "cloudcmp-agent 0" || env')

    async def work(shell):
        one = await deploy(shell, stand_in, "deep/down", address="10.0.0.7")
        other = await deploy(shell, stand_in, "deep/down")
        async with one.start(b"", TRIAL, 0) as channel:
            said = b"".join([piece async for piece in channel.stdout()])
        return one, other, said

    one, other, said = on_machine(tmp_path, work)
    assert one.home != other.home
    assert Path(one.home).parent == tmp_path / "deep/down"
    assert one.address == "10.0.0.7"
    assert stat.S_IMODE(Path(one.home).stat().st_mode) == 0o700
    assert {path.name for path in Path(one.home).iterdir()} == {"cloudcmp-agent", "work"}
    assert one.folder == f"{one.home}/work"
    names = {line.partition(b"=")[0] for line in said.splitlines()}
    assert names <= {b"PATH", b"LC_ALL", b"PWD", b"SHLVL", b"_", b"OLDPWD"}


def test_p30_an_agent_ends_with_its_lease(tmp_path):
    stand_in = script(tmp_path / "stand-in", '[ "$1" = --version ] && echo "cloudcmp-agent 0" || exec sleep 100')

    async def work(shell):
        instance = await deploy(shell, stand_in, lease_s=1)
        began = time.monotonic()
        async with instance.start(b"", TRIAL, 0) as channel:
            assert [piece async for piece in channel.stdout()] == []
            return await channel.last_words(), time.monotonic() - began

    words, took_s = on_machine(tmp_path, work)
    assert words == "exit 124"
    assert 0.9 < took_s < 6


def test_uptime_is_the_kernels(tmp_path):
    stand_in = script(tmp_path / "stand-in", "echo cloudcmp-agent 0")

    async def work(shell):
        return await (await deploy(shell, stand_in)).uptime_s()

    before = float(Path("/proc/uptime").read_text().split()[0])
    assert before <= on_machine(tmp_path, work) <= float(Path("/proc/uptime").read_text().split()[0])


def test_undeploy_kills_what_lives_in_the_folder_and_removes_it(tmp_path):
    sleep = Path("/bin/sleep").resolve().read_bytes()

    async def work(shell):
        instance = await deploy(shell, script(tmp_path / "stand-in", "echo cloudcmp-agent 0"))
        own = Path(instance.home) / "work/own"
        own.write_bytes(sleep)
        own.chmod(0o755)
        async with shell.start([str(own), "100"], b"") as channel:
            await asyncio.sleep(0.1)
            await undeploy(shell, instance.home)
            words = await channel.last_words()
        await undeploy(shell, instance.home)
        return instance, words

    instance, words = on_machine(tmp_path, work)
    assert words in {"signal KILL", "exit 137: Killed"}
    assert not Path(instance.home).exists()


@pytest.mark.parametrize(
    "folder", ["/", "/etc", "/home/me", "cloudcmp.x", "/tmp/cloudcmp.x/../../etc", "/a/cloudcmp.$x", ""]
)
def test_undeploy_touches_no_other_folder(folder):
    with pytest.raises(ProviderFault, match="a folder of ours cannot be"):
        asyncio.run(undeploy(None, folder))


def test_p42_an_agent_that_changed_on_its_way_is_not_run_and_nothing_stays(tmp_path, agent):
    async def work(shell):
        with pytest.raises(ProviderFault, match="its SHA-256 differs"):
            await deploy(shell, lambda triple: agent)

    on_machine(tmp_path, work, Lies(flip_at=1_000_000))
    assert not list(tmp_path.glob("cloudcmp.*"))


def test_an_agent_that_does_not_answer_is_taken_away_again(tmp_path):
    async def work(shell):
        with pytest.raises(ProviderFault, match="its agent's version: no such; see its disk"):
            await deploy(shell, script(tmp_path / "stand-in", "echo no such >&2; exit 1"))
        with pytest.raises(ProviderFault, match="its agent's version cannot be 'rubbish'"):
            await deploy(shell, script(tmp_path / "stand-in", "printf '\\033[31mrubbish'"))

    on_machine(tmp_path, work)
    assert not list(tmp_path.glob("cloudcmp.*"))


@pytest.mark.parametrize("folder", ["stand-in", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made_is_a_fault_that_says_so(tmp_path, folder):
    async def work(shell):
        with pytest.raises(ProviderFault, match="a new folder: "):
            await deploy(shell, script(tmp_path / "stand-in", ""), folder)

    on_machine(tmp_path, work)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        *(("uname", says) for says in ("", "Linux\\033[2J x86_64", "Linux x86_64; reboot", "x" * 9000)),
        *(("mktemp", says) for says in ("/etc", "../cloudcmp.x", "/$(id)/cloudcmp.x", "/\\033[31mcloudcmp.x", "")),
        *(("sha256sum", says) for says in ("", "0" * 64, "\\377\\376", "x" * 9000)),
        *(("sed", says) for says in ("0-99999999999", "-1", "\\033]0;owned\\007", "")),
    ],
)
def test_p29_a_machine_that_lies_while_the_agent_is_put_there_gets_one_clean_line(tmp_path, program, says):
    async def work(shell):
        lie = tmp_path / ".machine/bin" / program
        lie.write_text(f"#!/bin/sh\nprintf '%b\\n' '{says}'\n")
        lie.chmod(0o755)
        with pytest.raises((ProviderFault, AgentMissing)) as caught:
            await deploy(shell, script(tmp_path / "stand-in", "echo cloudcmp-agent 0"))
        return str(caught.value)

    fault = on_machine(tmp_path, work)
    assert fault.isprintable()
    assert len(fault) < 500
    assert not list(tmp_path.glob("cloudcmp.*/cloudcmp-agent"))


def test_the_binary_is_chosen_by_what_the_machine_is():
    assert triple_of("Linux x86_64") == "x86_64-unknown-linux"
    assert triple_of("Linux aarch64\n") == triple_of("Linux arm64") == "aarch64-unknown-linux"
    for odd in ("", "Linux riscv64", "Darwin arm64", "\x1b[2JLinux", "Linux x86_64 x86_64"):
        with pytest.raises(AgentMissing, match=r"there is none for .*; it is built for Linux on"):
            triple_of(odd)


@given(st.sets(st.integers(0, CPUS_MAX - 1), min_size=1, max_size=40), st.sets(st.integers(0, CPUS_MAX - 1)))
def test_processors_are_those_in_both_lists(allowed, online):
    text = ",".join(map(str, sorted(allowed))) + f";0-{CPUS_MAX - 1}"
    assert usable_cpus(text) == tuple(sorted(allowed))
    if allowed & online:
        assert usable_cpus(text.partition(";")[0]) == usable_cpus(text)
        both = ",".join(map(str, sorted(allowed))) + ";" + ",".join(map(str, sorted(online)))
        assert set(usable_cpus(both)) == allowed & online


@given(st.one_of(st.text(), st.text("0123456789,-; ", max_size=40)))
def test_p29_whatever_else_a_machine_says_of_its_processors_does_no_harm(text):
    with contextlib.suppress(ProviderFault):
        cpus = usable_cpus(text)
        assert 0 < len(cpus) <= CPUS_MAX
        assert all(0 <= cpu < CPUS_MAX for cpu in cpus)


@pytest.mark.parametrize(
    "text", ["", "0-", "-1", "3-1", "0-99999", "0,,1", "1;2", "0\n", "0;0;0", ";0", f"{CPUS_MAX}", "0x1", "٣"]
)
def test_p29_odd_lists_of_processors_are_refused(text):
    with pytest.raises(ProviderFault, match="its processors cannot be"):
        usable_cpus(text)
