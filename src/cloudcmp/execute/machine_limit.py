"""Places for the machines that a study may have at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Berths:
    """So many places; whoever finds too few free waits until others have left."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._left = asyncio.Event()

    @asynccontextmanager
    async def taken(self, count: int) -> AsyncIterator[None]:
        """Inside, so many places are ours. More than there are in all are not waited for: that is refused elsewhere."""
        while self._taken and self._taken + count > self._most:
            self._left.clear()
            await self._left.wait()
        self._taken += count
        try:
            yield
        finally:
            self._taken -= count
            self._left.set()
