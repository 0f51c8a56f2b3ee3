"""A question is answered, fails or is interrupted; who interrupts it does not wait for threads."""

import asyncio
import os
import signal
import threading
import time

import pytest

from cloudcmp.errors import Unreached
from cloudcmp.execute.interruption import run_interruptible


def test_an_answer_and_a_fault_are_passed_on_and_all_is_closed() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def answer(fault: Exception | None) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.to_thread(time.sleep, 0.01)
        if fault is not None:
            raise fault
        return "yes"

    assert run_interruptible(answer(None)) == "yes"
    with pytest.raises(Unreached):
        run_interruptible(answer(Unreached.at("nimbus", "no way")))
    assert [one.is_closed() for one in loops] == [True, True]


def test_who_interrupts_waits_for_no_thread() -> None:
    over, loops = threading.Event(), []

    async def question() -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.to_thread(over.wait, 30.0)

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(question())
    assert not over.is_set()  # its thread still waits
    assert not loops[0].is_closed()
    timer.join()
    over.set()
    loops[0].run_until_complete(loops[0].shutdown_default_executor())
    loops[0].close()
