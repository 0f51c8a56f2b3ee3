"""Answers that are lost at each call that makes something at an emulated cloud, in every way that answers go wrong.

Each study meets one fault. It copes with it by itself (or puts the launch off, and goes on with it when asked), or its
controller is killed at that very moment and what it left is ended by `cleanup` or gone on with by `resume`. What is
looked at then is the truth, as in cloud_walk.py.
"""

import random
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.app.cloud_walk import Stand, Toll, rented
from tests.emulated.faults import WHATS

WAYS = ("alone", "cleanup", "resume")
LATE_S = 1.5
_MEETS_S = 60.0

Made = tuple[str, int]
"""An action, and at which of its calls in a study something is made."""


def made_in(stand: Stand, cloud: str) -> list[Made]:
    """Every call of a whole study at which something is made: what one that met no fault did."""
    one = stand.sky.clouds[cloud]
    before = len(one.journal)
    job = stand.begin("run", stand.folder())
    assert job.wait() == 0, job.said()
    calls = list(one.journal)[before:]
    counts: dict[str, int] = {}
    found = []
    for call in calls:
        counts[call.action] = counts.get(call.action, 0) + 1
        found += [(call.action, counts[call.action])] if one.made_by(call) is not None else []
    assert found, f"nothing was made at {cloud}"
    return found


def lost(
    folder: Path, cloud: str, *, whats: Sequence[str] = WHATS, ways: Iterable[str] = WAYS, seed: int = 0,
    most: int | None = None,
) -> Toll:  # fmt: skip
    """Each fault at each call that makes something, in each way to mend it; at most so many of them, drawn by seed."""
    toll = Toll()
    with Stand(folder, rented(cloud)) as stand:
        cases = [(made, what, way) for made in made_in(stand, cloud) for what in whats for way in ways]
        if most is not None:
            cases = random.Random(seed).sample(cases, min(most, len(cases)))
        for made, what, way in cases:
            out = stand.folder()
            toll.studies += 1
            wrong = _met(stand, cloud, made, what, way, out, toll)
            toll.wrong += [f"{cloud}, {what} at {made[0]} {made[1]}, {way}: {one}" for one in wrong]
            shutil.rmtree(out, ignore_errors=True)
    return toll


def _met(stand: Stand, cloud: str, made: Made, what: str, way: str, out: Path, toll: Toll) -> list[str]:
    """One study that meets a fault; what is wrong with it, and after it was mended."""
    action, first = made
    one = stand.sky.clouds[cloud]
    nth = len(one.calls(action)) + first
    one.inject(action, what, first, seconds=LATE_S)
    job = stand.begin("run", out)
    end = time.monotonic() + _MEETS_S
    while len(calls := one.calls(action)) < nth or not calls[nth - 1].outcome:
        if job.code() is not None or time.monotonic() > end:
            job.kill()
            return [f"it never met the fault: exit code {job.wait()}: {job.said()}", *stand.seen()]
        time.sleep(0.002)
    if way == "alone":
        code = job.wait()
        toll.deaths += 1
        if code == 3 and "launch put off" in job.said():  # nothing was made, and that is not the candidate's doing
            return [f"left: {line}" for line in stand.sky.left()] + stand.mend("resume", out)
        return ([] if code == 0 else [f"exit code {code}: {job.said()}"]) + stand.seen()
    job.kill()
    toll.deaths += 1
    if job.wait() != -9:
        return [f"exit code {job.wait()}: {job.said()}", *stand.seen()]
    return stand.mend(way, out)
