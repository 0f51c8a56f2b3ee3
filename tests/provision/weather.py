"""What befalls a study by a seed: what its provider can do and how often it fails, suspends, a controller's death."""

import random
from dataclasses import dataclass

from cloudcmp.model.offering import Billing

START = 1_700_000_000.0


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the controller's runs after it."""


class Clock:
    """Virtual time: the wall's, and that of the machine, which stands still while it sleeps with its lid closed."""

    def __init__(self, rng: random.Random, suspends: float) -> None:
        self._rng = rng
        self._suspends = suspends
        self._now = START
        self._awake_s = 0.0

    def at(self, planned_s: float) -> float:
        """Now: plans do not move the wall's time."""
        return self._now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._awake_s

    def pass_(self, seconds: float) -> None:
        self._now += seconds
        self._awake_s += seconds

    def maybe_suspend(self) -> None:
        """Now and then the controller's machine sleeps for up to three days."""
        if self._suspends and self._rng.random() < self._suspends:
            self._now += self._rng.choice((60.0, 1800.0, 8 * 3600.0, 72 * 3600.0))

    async def sleep(self, seconds: float) -> None:
        self.pass_(max(seconds, 0.0))
        self.maybe_suspend()


@dataclass(frozen=True, slots=True)
class Personality:
    """What a provider can do, and how often it fails: shares of calls, times in seconds."""

    token: bool
    tags: bool
    names: bool
    filters: bool
    retries: bool
    death: bool
    billing: Billing
    lag_s: float = 0.0
    late_s: float = 0.0
    slow_s: float = 0.0
    lost: float = 0.0
    fails: float = 0.0
    deaf: float = 0.0
    stops: float = 0.0
    lies: float = 0.0
    unlisted: float = 0.0
    cut: float = 0.0
    throttled: float = 0.0
    capacity: float = 0.0
    quota: float = 0.0
    refused: float = 0.0
    taken: float = 0.0
    cancelled: float = 0.0
    firewall: bool = False

    @property
    def doubles(self) -> bool:
        """Whether a library that asks again makes a second machine, which nobody was told of."""
        return self.retries and not self.token


def drawn(rng: random.Random) -> Personality:
    """A provider at random; each fault is absent more often than not, so that they are met alone and together."""

    def some(*values: float, share: float = 0.35) -> float:
        return rng.choice(values) if rng.random() < share else 0.0

    # Without tags and tokens nothing is proved to be ours: such a cloud is refused.
    token, tags, names = rng.choice(
        ((True, True, True),) * 4
        + ((True, True, False), (True, False, False), (False, True, True), (False, True, False))
    )
    billing = Billing(*rng.choice(((60, 1), (60, 60), (600, 60), (3600, 3600), (60, 3600))))
    return Personality(
        token=token, tags=tags, names=names, filters=rng.random() < 0.8, retries=rng.random() < 0.5,
        death=rng.random() < 0.7, billing=billing, firewall=rng.random() < 0.3,
        lag_s=some(5.0, 60.0, 300.0, share=0.5), late_s=some(10.0, 100.0, share=0.2),
        slow_s=some(30.0, 300.0, 1200.0), lost=some(0.3, 1.0, share=0.5), fails=some(0.1, 0.4),
        deaf=some(0.2, 0.7, 1.0), stops=some(0.2), lies=some(0.05, 0.3), unlisted=some(0.1, 0.4, 0.9),
        cut=some(0.1, 0.3), throttled=some(0.1, 0.5, share=0.2), capacity=some(0.2, 1.0, share=0.2),
        quota=some(0.3, share=0.1), refused=some(0.2, share=0.1), taken=some(0.2, share=0.3),
        cancelled=some(0.05, share=0.2),
    )  # fmt: skip
