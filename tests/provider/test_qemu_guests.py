"""Real guests: booted, reached, measured on, killed. All on this host, none on a cloud."""

import asyncio
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from tests.emulated.guests import ended, guests, killed_makers, missing, powers_off, request, start_and_die
from tests.slices import long

from cloudcmp.agent.deploy import deploy
from cloudcmp.agent.job import encode_job
from cloudcmp.errors import ProviderFault, Refused, WrongHost
from cloudcmp.model.offering import Volume
from cloudcmp.provider.qemu import QemuProvider
from cloudcmp.provider.qemu.image import cache_folder, small_image
from cloudcmp.provider.qemu.processes import list_running
from cloudcmp.provider.qemu.sizes import OVERHEAD_BYTES

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

HOST = ("sudo", "-n", "/usr/local/sbin/cloudcmp-host")
LONGEST_S = 300.0  # of a test on a busy host
JOB = {"duration_s": "0.2", "interval_s": "0.1", "threads": "1"}


async def said(shell, *command):
    """What a command prints that must succeed."""
    told = await shell.run(command)
    assert told.exit_code == 0, (command, told)
    return told.out.decode().strip()


async def stream(instance, trial):
    """The lines of one agent in a guest."""
    job = encode_job(trial, cpus=instance.cpus, folder=instance.folder)
    async with instance.start(job, trial, 0) as channel:
        data = b"".join([piece async for piece in channel.stdout()])
        await channel.hang_up()
    return [json.loads(line) for line in data.splitlines()]


def test_p35_a_guest_from_launch_to_measuring_and_back(tmp_path, plans):
    async def walk():
        async with guests(tmp_path) as made:
            guest = await made.start("token-1", volume=Volume("disk", 2**28))
            shell = await guest.shell()
            assert await said(shell, "id", "-un") == "cloudcmp"
            assert (await shell.run(["cat", "/etc/shadow"])).exit_code != 0
            key = await shell.rotate()
            with pytest.raises(WrongHost):
                await guest.shell(within_s=20)
            again = await guest.shell(key)
            assert "not found" not in await said(again, *HOST, "rotate")
            assert await said(shell, *HOST, "disk", "/dev/vdb") == "/mnt/cloudcmp"
            assert await said(shell, "sh", "-c", "touch /mnt/cloudcmp/ours && ls /mnt/cloudcmp/ours")
            for wrong in (("disk", "/dev/vda"), ("disk", "/dev/sda"), ("nonsense",), ("ttl", "soon")):
                assert (await shell.run([*HOST, *wrong])).exit_code != 0, wrong
            instance = await deploy(shell, folder="/mnt/cloudcmp")
            await measured(shell, instance, plans)
            await stepped(shell, instance, plans)
            await bounded(guest, shell)

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))


async def measured(shell, instance, plans):
    assert (await said(shell, f"{instance.home}/cloudcmp-agent", "--version")).startswith("cloudcmp-agent ")
    assert instance.cpus == (0,)
    lines = await stream(instance, plans.trial("fma", **JOB))
    assert lines[0]["type"] == "hello"
    assert lines[-1]["type"] == "end"
    assert lines[-1]["outcome"] == "ok"


async def stepped(shell, instance, plans):
    """P35: the guest's wall clock jumps two hours while an agent measures, and no duration follows it."""
    began, day = time.monotonic(), int(await said(shell, "date", "+%s"))
    running_job = asyncio.create_task(stream(instance, plans.trial("fma", **{**JOB, "duration_s": "2"})))
    for jump_s in ("3600", "-10800"):
        await asyncio.sleep(0.7)
        await said(shell, *HOST, "clock", jump_s)
    lines = await running_job
    took_s = time.monotonic() - began
    assert abs(int(await said(shell, "date", "+%s")) - day + 7200) < took_s + 5
    assert lines[-1]["outcome"] == "ok"
    times_s = [line["t_s"] for line in lines if line["type"] == "sample"]
    assert times_s == sorted(times_s)
    (elapsed_s,) = [line["value"] for line in lines if line.get("key") == "elapsed_s"]
    assert 2.0 <= times_s[-1] <= elapsed_s <= took_s


async def bounded(guest, shell):
    """The guest has the memory that was asked for, and its process takes little more."""
    total_kb = int((await said(shell, "grep", "MemTotal", "/proc/meminfo")).split()[1])
    assert 80 * 1024 < total_kb <= 128 * 1024
    (process,) = [one for one in list_running() if one.identity.cloud_id == guest.handle.cloud_id]
    status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (peak_bytes,) = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")]
    assert peak_bytes < 128 * 2**20 + OVERHEAD_BYTES


@long
def test_a_guest_that_dies_comes_back_as_the_same(tmp_path):
    async def walk():
        async with guests(tmp_path) as made:
            guest = await made.start("token-1", volume=Volume("disk", 2**26))
            shell = await guest.shell()
            key = await shell.rotate()
            await said(shell, *HOST, "disk", "/dev/vdb")
            await said(shell, "sh", "-c", "echo kept >/mnt/cloudcmp/note && sync")
            boot = await said(shell, "cat", "/proc/sys/kernel/random/boot_id")
            await shell.run([*HOST, "die"])
            await shell.close()
            # A connection begun before the reset would wait long for nothing.
            while guest.lives() < 2:
                await asyncio.sleep(0.05)
            reborn = await guest.shell(key)
            assert await said(reborn, "cat", "/proc/sys/kernel/random/boot_id") != boot
            await reborn.close()

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))


@long
def test_a_guest_that_was_resized_comes_back_as_the_same(tmp_path):
    async def walk():
        async with guests(tmp_path) as made:
            guest = await made.start("token-1")
            shell = await guest.shell()
            key = await shell.rotate()
            await shell.close()
            await made.provider.resize(guest.handle, "1cpu-256mb")
            larger = await guest.shell(key)
            assert int((await said(larger, "grep", "MemTotal", "/proc/meminfo")).split()[1]) > 160 * 1024
            await said(larger, "mkdir", "-p", "/tmp/there")
            (found,) = await made.provider.find("study-a")
            assert found.offering == "1cpu-256mb"

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))


@long
def test_p01_a_maker_that_is_killed_while_it_makes_leaves_nothing_that_is_not_found(tmp_path):
    assert killed_makers(4, tmp_path, seed=20260105) == []


@long  # of many guests: the row guests_die
def test_p05_a_guest_whose_controller_never_comes_back_powers_itself_off(tmp_path):
    assert powers_off(1, tmp_path, ttl_s=10) == []


def test_p06_guests_are_found_and_ended_from_an_empty_home(tmp_path):
    state = tmp_path / "state"
    with ended(state):
        cloud_id = start_and_die(state, "token-1", 120)
        shutil.rmtree(state)
        stranger = QemuProvider(tmp_path / "another")
        assert asyncio.run(stranger.find("study-a")) == ()
        found = [one for one in asyncio.run(stranger.leftovers()).found if one.cloud_id == cloud_id]
        assert [(one.name, one.token, one.state) for one in found] == [
            ("cloudcmp-study-a-token-1", "token-1", "running")
        ]
        assert dict(found[0].tags)["cloudcmp:study"] == "study-a"
        asyncio.run(stranger.destroy(found[0].handle()))
        assert asyncio.run(stranger.gone(found[0].handle()))
        assert not [one for one in list_running() if one.identity.cloud_id == cloud_id]


def test_a_guest_that_hangs_is_ended_and_nothing_else(tmp_path):
    async def walk():
        async with guests(tmp_path) as made:
            hung, other = await made.start("token-1"), await made.start("token-2")
            assert await made.provider.create(request("token-1")) == hung.handle.cloud_id
            pids = {one.identity.token: one.pid for one in list_running() if one.folder.parent == tmp_path}
            os.kill(pids["token-1"], signal.SIGSTOP)
            began = time.monotonic()
            await made.provider.destroy(hung.handle)
            assert time.monotonic() - began < 10
            assert await made.provider.gone(hung.handle)
            assert (await other.look()).state == "running"
            # One that was killed from outside is stopped, not gone, and its token starts no second one.
            os.kill(pids["token-2"], signal.SIGKILL)
            while (await other.look()).state != "stopped":
                await asyncio.sleep(0.02)
            assert await made.provider.gone(other.handle) is None
            with pytest.raises(Refused, match="has ended"):
                await made.provider.create(request("token-2"))

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))


@long
def test_a_guest_that_never_boots_is_told_with_its_last_words(tmp_path):
    cache = tmp_path / "cache"
    shutil.copytree(small_image().folder, cache / small_image().folder.name)
    broken = cache / small_image().folder.name / "initrd"
    broken.write_bytes(b"")

    async def walk():
        async with guests(tmp_path / "state", cache) as made:
            guest = await made.start("token-1")
            deadline = time.monotonic() + 60
            while "panic" not in (await guest.look()).why:
                assert time.monotonic() < deadline, await guest.look()
                await asyncio.sleep(0.1)
            with pytest.raises(ProviderFault):
                await guest.shell(within_s=0.5)

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))


@long
def test_qemu_is_fetched_where_there_is_none(tmp_path, monkeypatch):
    path = tmp_path / "path"
    path.mkdir()
    for tool in ("apt-get", "dpkg-deb"):
        (path / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(path))

    async def walk():
        async with guests(tmp_path / "state") as made:
            shell = await (await made.start("token-1")).shell()
            assert await said(shell, "uname", "-m") == "x86_64"
            (process,) = [one for one in list_running() if one.folder.parent == tmp_path / "state"]
            assert Path(f"/proc/{process.pid}/exe").readlink().is_relative_to(cache_folder().resolve())

    asyncio.run(asyncio.wait_for(walk(), LONGEST_S))
