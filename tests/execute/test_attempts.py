import asyncio
import threading
from dataclasses import replace

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.execute.attempts import begin, finish_in_thread
from cloudcmp.execute.context import TrialContext
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.provider.time import WallTime
from cloudcmp.stats import histogram

HERE = Candidate(0, "here", Offering("local", "local", "1cpu", 1, None, "general"), "local")


class SlowDisk:
    """Records on a disk that syncs only when it is `released`."""

    def __init__(self, memory):
        self.memory = memory
        self.writing, self.released = threading.Event(), threading.Event()

    def __getattr__(self, name):
        return getattr(self.memory, name)

    def finish_attempt(self, attempt, samples_of, *, begin_next=None):
        self.writing.set()
        assert self.released.wait(10.0)
        return self.memory.finish_attempt(attempt, samples_of, begin_next=begin_next)


def slow(rig):
    disk = SlowDisk(rig.memory)
    return disk, TrialContext(disk, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64, rig.stop)


def test_other_launches_go_on_while_the_disk_syncs(rig):
    disk, context = slow(rig)
    trial = rig.trial(0, "int")

    async def both():
        begun = begin(context, trial)
        write = asyncio.create_task(
            finish_in_thread(context, HERE, trial, begun, 1.0, TrialResult(Outcome.OK, ()), None)
        )
        while not disk.writing.is_set():  # never, if the loop itself were writing
            await asyncio.sleep(0)
        assert rig.outcomes == []
        assert rig.told.lines == []
        disk.released.set()
        await write

    asyncio.run(both())
    assert rig.outcomes == ["ok"]
    assert rig.told.lines == [("trial", "here", "int", "ok")]


def test_p16_an_attempt_that_has_ended_is_written_also_if_its_launch_is_cancelled(rig):
    disk, context = slow(rig)
    trial = rig.trial(0, "int")

    async def cut():
        begun = begin(context, trial)
        write = asyncio.create_task(
            finish_in_thread(context, HERE, trial, begun, 1.0, TrialResult(Outcome.OK, ()), None)
        )
        await asyncio.to_thread(disk.writing.wait, 10.0)
        write.cancel()
        await asyncio.sleep(0.01)
        write.cancel()
        await asyncio.sleep(0.01)
        assert not write.done()
        disk.released.set()
        await asyncio.wait({write})
        assert write.cancelled()

    asyncio.run(cut())
    assert rig.outcomes == ["ok"]


def test_a_simulated_attempt_is_written_at_once(rig):
    disk, context = slow(rig)
    disk.released.set()
    trial = rig.trial(0, "int")
    here = replace(HERE, runner="simulated")

    async def alone():
        begun = begin(context, trial)
        one = finish_in_thread(context, here, trial, begun, 1.0, TrialResult(Outcome.OK, ()), None)
        try:
            one.send(None)
        except StopIteration:
            return
        raise AssertionError("it waited")

    asyncio.run(alone())
    assert rig.outcomes == ["ok"]
