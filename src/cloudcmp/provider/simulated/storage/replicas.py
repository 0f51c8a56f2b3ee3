"""Entries that are written in one place and reach the replicas of a service later."""

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Version(Generic[T]):
    everywhere_s: float
    value: T | None


class Replicas(Generic[T]):
    """Values by key, each with its newest version and those that lagging replicas still return.

    Moments are seconds that never go back. A write is in order: it is nowhere before an earlier one of the same key.
    """

    def __init__(self) -> None:
        self._versions: dict[str, list[_Version[T]]] = {}
        self._sorted: list[str] = []
        self._unsettled: dict[str, float] = {}
        self._due: list[tuple[float, str]] = []

    def write(self, key: str, value: T | None, everywhere_s: float, now_s: float) -> None:
        """Sets the newest value of a key, None to remove it; all replicas have it from `everywhere_s` on."""
        self._settle(now_s)
        versions = self._versions.get(key)
        if versions is None:
            if value is None:
                return
            versions = self._versions[key] = []
            insort(self._sorted, key)
        everywhere_s = max(everywhere_s, self._unsettled.get(key, 0.0))
        if everywhere_s <= now_s:
            versions[:] = [_Version(everywhere_s, value)]
            if value is None:
                self._forget(key)
            return
        versions.append(_Version(everywhere_s, value))
        self._unsettled[key] = everywhere_s
        heapq.heappush(self._due, (everywhere_s, key))

    def newest(self, key: str) -> T | None:
        """The last value that was written; None if there is none or it was removed."""
        versions = self._versions.get(key)
        return versions[-1].value if versions else None

    def lagging(self, key: str, now_s: float) -> T | None:
        """The value of a replica that has only what is everywhere by now."""
        found: T | None = None
        for version in self._versions.get(key, ()):
            if version.everywhere_s > now_s:
                break
            found = version.value
        return found

    def is_unsettled(self, key: str, now_s: float) -> bool:
        """Whether replicas may differ in a key."""
        return self._unsettled.get(key, 0.0) > now_s

    def unsettled(self, now_s: float) -> Iterator[str]:
        """The keys in which replicas may differ."""
        self._settle(now_s)
        return iter(self._unsettled)

    def keys_from(self, first: str, now_s: float) -> Iterator[str]:
        """All keys that any replica may have, in order, from `first` on."""
        self._settle(now_s)
        for index in range(bisect_left(self._sorted, first), len(self._sorted)):
            yield self._sorted[index]

    def __len__(self) -> int:
        """The number of keys whose newest version is not a removal."""
        return len(self._versions) - sum(self._versions[key][-1].value is None for key in self._unsettled)

    def _settle(self, now_s: float) -> None:
        """Drops the versions that no replica returns any more."""
        while self._due and self._due[0][0] <= now_s:
            _, key = heapq.heappop(self._due)
            if self._unsettled.get(key, now_s + 1.0) > now_s:
                continue  # a later write of the key is still under way, or it was dropped with an earlier one
            del self._unsettled[key]
            versions = self._versions[key]
            del versions[:-1]
            if versions[0].value is None:
                self._forget(key)

    def _forget(self, key: str) -> None:
        del self._versions[key]
        self._unsettled.pop(key, None)
        del self._sorted[bisect_left(self._sorted, key)]
