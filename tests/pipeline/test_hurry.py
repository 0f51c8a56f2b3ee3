"""Leaving at the second signal: what is done to machines then is not taken for their own doing."""

import asyncio

from cloudcmp.pipeline.stopping import Stopping


def test_nothing_is_noted_any_more_once_everything_is_asked_to_go() -> None:
    noted: list[str] = []

    async def story() -> bool:
        stopping, gone = Stopping(asyncio.Event(), lambda _: None), asyncio.Event()

        async def work() -> None:
            await gone.wait()
            noted.append("failed: it is gone")

        leaving = asyncio.create_task(stopping.unless_hurried(work()))
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
