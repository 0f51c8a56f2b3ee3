"""Whole studies on emulated clouds, as a user runs them: a process of its own, real SSH, the real agent, a report."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.app.warm import SHORT
from tests.cli.command import Said, forked
from tests.emulated.boot import ssh_boot
from tests.emulated.standing import Standing

from cloudcmp.agent import locate
from cloudcmp.provider.longtail import CLOUDS

_OTHERS = ("AWS_", "AZURE_", "CLOUDCMP_", "CLOUDSDK_", "GOOGLE_", "HTTP", "OS_")
_OTHERS += tuple(token for cloud in CLOUDS.values() for token in cloud.tokens)


def study(candidates: str, currency: str = "USD") -> str:
    """The text of a small study of some candidates, priced in one currency: one launch of each, and one probe."""
    return (
        f"schema: 1\nquestion: which of these machines is fastest\ncandidates:\n{candidates}"
        f"probes:\n  - {{probe: int}}\nlaunches: 1\nruns: 1\nbudget: 1 {currency}\nseed: 1\n"
    )


def cloudcmp(
    clouds: Iterable[Standing[Any]], folder: Path, *words: str, waits: Mapping[str, float] | None = None, **environ: str
) -> Said:
    """The command in a process of its own, whose home is the folder and which sees these clouds only."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    for cloud in clouds:
        variables |= cloud.environ
    variables |= {"HOME": str(folder), "CLOUDCMP_AGENT": str(locate()), **environ}
    return forked(words, variables, folder, 240.0, waits=waits)


def whole(
    clouds: Sequence[Standing[Any]], folder: Path, study: str, swept: str, waits: Mapping[str, float] | None = SHORT
) -> str:
    """A study is run to its report, then a provider is swept: nothing failed, and nothing is left. What was printed.

    Without `waits` (see tests/app/warm.py) it waits for its clouds in full.
    """
    (folder / "study.yaml").write_text(study)
    ran = cloudcmp(clouds, folder, "run", "study.yaml", "--out", "out", waits=waits)
    said = ran.out + ran.err
    assert ran.code == 0, said
    assert "failed" not in said
    assert (folder / "out" / "report.html").stat().st_size > 10_000
    assert [thing for cloud in clouds for thing in cloud.alive()] == []
    after = cloudcmp(clouds, folder, "sweep", swept)
    assert after.code == 0, after.out + after.err
    return " ".join(said.split())


def killed(
    point: str,
    folder: Path,
    study: str,
    opened: Callable[..., AbstractContextManager[Standing[Any]]],
    region: str,
    *,
    planted: tuple[str, str] = ("instance", "somebody else's"),
    leaves: frozenset[str] = frozenset(),
) -> list[str]:
    """A controller is killed at a crash point (`name:n`), and `cleanup` runs; returns what is wrong.

    `planted` is what somebody else has there, by kind and name; `leaves` are kinds of which the kill is to leave some.
    """
    (folder / "study.yaml").write_text(study)
    with opened(boot=ssh_boot(folder / "machines")) as cloud:
        theirs = cloud.plant(planted[0], region, planted[1], {"cloudcmp:study": "another"})
        foreign = _there(cloud)
        ran = cloudcmp([cloud], folder, "run", "study.yaml", "--out", "out", CLOUDCMP_CRASH_AT=point)
        wrong = [] if ran.code == -9 else [f"{point}: it was not killed: {ran.out}{ran.err}"]
        left = _there(cloud) - foreign
        wrong += [f"{point}: no {kind} was left" for kind in leaves - {kind for kind, _ in left}]
        cleaned = cloudcmp([cloud], folder, "cleanup", "out")
        wrong += [] if cleaned.code == 0 else [f"{point}: {cleaned.out}{cleaned.err}"]
        left = _there(cloud)
        wrong += [f"{point}: {id} is left" for _, id in left - foreign]
        wrong += [f"{point}: {id} is gone" for _, id in foreign - left]
        named = [call for call in cloud.journal if theirs in cloud.changed_by(call) or theirs in call.params.values()]
        return wrong + [f"{point}: {call.name} touched {theirs}" for call in named]


def _there(cloud: Standing[Any]) -> set[tuple[str, str]]:
    return {(thing.kind, thing.id) for thing in cloud.alive()}
