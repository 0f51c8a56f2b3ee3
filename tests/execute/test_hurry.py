"""Leaving at the second signal: what is done to machines then is not taken for their own doing."""

import asyncio
import signal

from cloudcmp.execute.interruption import StopSignals


def test_nothing_is_noted_any_more_once_everything_is_asked_to_go() -> None:
    noted: list[str] = []

    async def story() -> bool:
        stopping, gone = StopSignals(asyncio.Event(), lambda _: None), asyncio.Event()

        async def work() -> None:
            await gone.wait()
            noted.append("failed: it is gone")

        leaving = asyncio.create_task(stopping.run_unless_hurried(work()))
        await asyncio.sleep(0)
        stopping.signalled()
        await asyncio.sleep(0)
        assert not leaving.done()
        stopping.signalled()
        finished = await leaving
        gone.set()  # the machine ends, because we asked for it
        await asyncio.sleep(0.01)
        return finished

    assert asyncio.run(story()) is False
    assert noted == []


def _signalled(*numbers: int, over: bool = False) -> tuple[bool, list[str]]:
    """Whether these signals are taken as leaving at once, and what is said."""
    said: list[str] = []

    async def story() -> bool:
        stopping = StopSignals(asyncio.Event(), said.append)
        if over:
            stopping.end("the money is spent: everything is ended")
        for number in numbers:
            stopping.signalled(number)
        return stopping.hurried.is_set()

    return asyncio.run(story()), said


def test_p08_a_closed_terminal_never_counts_as_the_second_signal() -> None:
    assert _signalled(signal.SIGHUP, signal.SIGHUP, signal.SIGHUP)[0] is False
    assert _signalled(signal.SIGINT, signal.SIGHUP)[0] is False
    assert _signalled(signal.SIGHUP, signal.SIGTERM)[0] is True
    assert _signalled(signal.SIGINT, signal.SIGINT)[0] is True


def test_p08_a_first_signal_while_all_is_ended_is_not_the_second() -> None:
    hurried, said = _signalled(signal.SIGINT, over=True)
    assert not hurried
    assert said == ["everything is being ended; once more to leave at once"]
    assert _signalled(signal.SIGINT, signal.SIGINT, over=True)[0]


def test_p08_an_end_that_is_on_its_way_is_left_at_the_first_signal_but_not_for_a_closed_terminal() -> None:
    async def story(number: int) -> bool:
        stop = asyncio.Event()
        stop.set()
        stopping = StopSignals(stop, lambda _: None)
        stopping.signalled(number)
        return stopping.hurried.is_set()

    assert asyncio.run(story(signal.SIGINT))
    assert not asyncio.run(story(signal.SIGHUP))
