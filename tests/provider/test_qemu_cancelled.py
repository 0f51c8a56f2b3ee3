"""A request for a guest that is cancelled: what is listed right after it is all that there will ever be."""

import asyncio
import threading
import time

import pytest
from tests.emulated.guests import request

from cloudcmp.provider.qemu import QemuProvider, cloud
from cloudcmp.provider.qemu.inventory import Inventory

LATE_S = 0.3


@pytest.fixture
def provider(tmp_path, monkeypatch):
    """Makes folders and cards as always, and no process."""
    monkeypatch.setattr(QemuProvider, "_image", lambda *_: None)
    monkeypatch.setattr(QemuProvider, "_program_and_accelerator", lambda *_: (None, None))
    monkeypatch.setattr(QemuProvider, "_check_memory", lambda *_: None)
    monkeypatch.setattr(cloud, "write_disks", lambda *_: ())
    monkeypatch.setattr(cloud, "start", lambda *_: time.sleep(LATE_S))
    return QemuProvider(tmp_path)


async def cancelled(provider, after_s, times=1):
    """What is listed as soon as a cancelled request ends, and what is listed later."""
    asked = asyncio.ensure_future(provider.create(request("token-1")))
    for _ in range(times):
        await asyncio.sleep(after_s)
        asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    first = await provider.find("study-a", "token-1")
    await asyncio.sleep(4 * LATE_S)
    return first, await provider.find("study-a", "token-1")


@pytest.mark.parametrize("times", [1, 3])
def test_p1_no_guest_comes_after_its_request_was_cancelled_while_it_waits_for_another_maker(provider, tmp_path, times):
    def hold():
        with Inventory(tmp_path).lock():
            held.set()
            time.sleep(3 * LATE_S)

    held = threading.Event()
    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    first, later = asyncio.run(cancelled(provider, LATE_S / 2, times))
    other.join()
    assert len(first) == 1
    assert later == first


def test_p1_no_guest_comes_after_its_request_was_cancelled_while_its_image_is_built(provider, monkeypatch):
    monkeypatch.setattr(QemuProvider, "_image", lambda *_: time.sleep(2 * LATE_S))
    first, later = asyncio.run(cancelled(provider, LATE_S))
    assert first == later == ()


def test_a_fault_of_a_cancelled_request_is_not_told_twice(provider, monkeypatch):
    def fails(*_):
        time.sleep(LATE_S)
        raise OSError("no")

    monkeypatch.setattr(cloud, "start", fails)
    first, later = asyncio.run(cancelled(provider, LATE_S / 2))
    assert first == later == ()
