"""Shows that a change of the source changes no result: `python -m tests.guard --against REVISION`.

Simulated studies of many seeds are run with the source of before and with this one, killed and resumed among them.
Their tidy tables must be the same bytes, and their verdicts the same words and figures. Each side reads the published
studies of its own `studies/`; the text below must be valid on both. The exit code is 1 where anything differs.
"""

import argparse
import difflib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.rows import folder as memory

ROOT = Path(__file__).parent.parent
PUBLISHED = ("cloudcmp-2010", "deval-2017", "shah", "delgado-2010", "rodamilans-2014")
STUDIES = ("demo", *PUBLISHED, "faults", "kills")
_LARGE = ("cloudcmp-2010", "deval-2017", "rodamilans-2014")
"""Their verdicts take longer than their measurement: they are compared for each fourth seed, their tables for all."""
_POINTS = (
    ("lease.after_commit", 20), ("launch.after_commit", 10), ("begin.before_commit", 30), ("begin.after_commit", 30),
    ("file.before_rename", 20), ("finish.before_commit", 30), ("finish.after_commit", 30),
)  # fmt: skip
"""Crash points, and by which passing a study of faults may be killed there twice before it goes on to its end."""

_FAULTS = """\
schema: 1
name: faults
question: Do faults give the same table?
candidates:
  - {provider: simulated, region: nimbus, offering: small}
  - provider: simulated
    region: stratus
    offering: small
    truth: {faults: {capacity: 0.2, preemption: 0.04, hang: 0.05, garbage: 0.05}}
  - provider: simulated
    region: cumulus
    offering: small
    truth: {faults: {lost_answer: 0.3, stale_list_s: 30, preemption: 0.02}}
probes:
  - {probe: fma}
  - {probe: rtt, params: {path: zone}}
  - {probe: disk}
  - {probe: scaling, params: {os: linux}}
launches: 6
runs: 2
"""


@dataclass(frozen=True, slots=True)
class Task:
    """A study of one seed: the words of the command that measures it, and the crash points that end it in between."""

    study: str
    seed: int
    words: tuple[str, ...]
    kills: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether its verdicts are compared too."""
        return self.study not in _LARGE or self.seed % 4 == 1

    @property
    def name(self) -> str:
        """Of its folder and files."""
        return f"{self.study}-{self.seed}"


def tasks(studies: Sequence[str], seeds: int, root: Path, faults: Path) -> Iterator[Task]:
    """What is to be run with one source, seed by seed."""
    for seed in range(1, seeds + 1):
        option = ("--seed", str(seed))
        for study in studies:
            if study == "demo":
                yield Task(study, seed, ("demo", *option))
            elif study in PUBLISHED:
                path = str(root / "studies" / f"{study}.yaml")
                yield Task(study, seed, ("run", path, "--on", "simulated", "--short", *option))
            else:
                kills = _kills(seed) if study == "kills" else ()
                yield Task(study, seed, ("run", str(faults), *option), kills)


def _kills(seed: int) -> tuple[str, ...]:
    """Where the study is killed: as it is made, as it begins, and twice as it goes on."""
    chance = random.Random(seed)
    made = chance.choice(("create.before_commit:1", "create.after_commit:1", "create.renamed:1"))
    return (made, *(f"{name}:{chance.randint(1, most)}" for name, most in chance.sample(_POINTS, 3)))


class Side:
    """A source that runs tasks in a process of its own, in a folder of its own."""

    def __init__(self, root: Path, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self.root, self.folder = root, folder
        kinds = ("CONFIG", "DATA", "STATE", "CACHE")
        places = {name: str(folder / "home") for name in ("HOME", *(f"XDG_{kind}_HOME" for kind in kinds))}
        self._process = stack.enter_context(subprocess.Popen(
            [sys.executable, Path(__file__).with_name("guard_side.py")], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **places, "PYTHONPATH": str(root / "src"), "COLUMNS": "80", "OMP_NUM_THREADS": "1"},
        ))  # fmt: skip
        stack.callback(self._process.kill)

    def ask(self, all_: Sequence[Task]) -> None:
        """Give it everything that it is to run."""
        lines = [
            json.dumps({"name": one.name, "words": one.words, "kills": one.kills, "judged": one.judged}) for one in all_
        ]
        assert self._process.stdin is not None
        self._process.stdin.write("\n".join(lines) + "\n")
        self._process.stdin.close()

    def answer(self) -> tuple[str, str, float]:
        """The next study that it ran: name, what went wrong, and how much processor time it took, in seconds."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the source in {self.root} ended with exit code {self._process.wait()}")
        name, wrong, took_s = json.loads(line)
        return name, wrong, took_s


def difference(before: Path, after: Path, task: Task) -> list[str]:
    """The first difference between two sides' tables and verdicts of a study; nothing where there is none."""
    for file in (f"{task.name}.csv", f"{task.name}.txt")[: 1 + task.judged]:
        old, new = (before / file).read_bytes(), (after / file).read_bytes()
        if old != new:
            lines = (text.decode("utf-8", "replace").splitlines() for text in (old, new))
            found = difflib.unified_diff(*_around(*lines), f"before/{file}", f"after/{file}", lineterm="", n=0)
            return [*found][:12] or [f"{file}: only line ends differ"]
    return []


def _around(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both texts from their first different line on, a few lines each."""
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    return old[same : same + 5], new[same : same + 5]


def checked_out(revision: str, folder: Path) -> Path:
    """The sources and studies of a revision, laid out in a new folder."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", revision, "src", "studies"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode != 0:
        raise SystemExit(packed.stderr.decode().strip())
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return folder


def differing(before: Path, after: Path, studies: Sequence[str], seeds: int, folder: Path) -> int:
    """Run all studies with both sources, tell of each in a line, and return how many differ."""
    faults, wrong = folder / "faults.yaml", 0
    faults.write_text(_FAULTS, encoding="utf-8")
    with ExitStack() as stack:
        sides = [Side(root, folder / name, stack) for name, root in (("before", before), ("after", after))]
        asked = [list(tasks(studies, seeds, side.root, faults)) for side in sides]
        for side, own in zip(sides, asked, strict=True):
            side.ask(own)
        for task in asked[1]:
            ends = [side.answer() for side in sides]
            assert {name for name, *_ in ends} == {task.name}
            found = [f"{side.folder.name}: {why}" for side, (_, why, _) in zip(sides, ends, strict=True) if why]
            found = found or difference(sides[0].folder, sides[1].folder, task)
            wrong += bool(found)
            killed = f" (killed at {', '.join(task.kills)})" if task.kills else ""
            seconds = " and ".join(f"{took_s:.1f}" for *_, took_s in ends)
            print(f"{task.study} seed {task.seed}{killed}: {'DIFFERENT' if found else 'same'} ({seconds} s)")
            print("".join(f"  {line}\n" for line in found), end="", flush=True)
            for side in sides:
                shutil.rmtree(side.folder / task.name, ignore_errors=True)
    return wrong


def main() -> int:
    """Compare two sources; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--against", metavar="REVISION", help="the revision of before")
    source.add_argument("--before", metavar="PATH", type=Path, help="a checkout of before")
    parser.add_argument(
        "--after", metavar="PATH", type=Path, default=ROOT, help="a checkout of after; default: this one"
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=STUDIES)
    told, since = parser.parse_args(), time.monotonic()
    with memory() as folder:
        before = told.before.resolve() if told.before else checked_out(told.against, folder / "source")
        wrong = differing(before, told.after.resolve(), told.studies, told.seeds, folder)
    print(f"{wrong} of {told.seeds * len(told.studies)} differ, {time.monotonic() - since:.0f} s in all")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
