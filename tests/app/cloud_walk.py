"""Controllers of a study on two clouds that die: at every named crash point, and at random moments.

One is an emulated cloud, the other a machine of the user's own (or guests of this host). What is looked at after
each death and its mending is the truth, not the ledger: nothing of ours exists, nothing foreign is gone or was touched.
Waits for clouds are shortened in the processes that die and mend; see warm.py.
"""

import json
import random
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cloudcmp.provider import make
from tests.app.clouds import Sky, clouds
from tests.app.kills import acknowledged
from tests.app.warm import SHORT, Job, warmth
from tests.crash_points import CLOUD_CRASH_POINTS, CRASH_POINTS
from tests.emulated.kinds import KINDS, kind

POINTS = (*CRASH_POINTS, *CLOUD_CRASH_POINTS)


def rented(*clouds: str) -> tuple[str, ...]:
    """A machine rented at each of these clouds, as a study names it."""
    return tuple(kind(name).rented() for name in clouds)


(RENTED,) = rented("aws")
OWNED = "  - {provider: ssh, offering: box}\n"
GUEST = "  - {provider: qemu, region: local, offering: 1cpu-128mb}\n"


@dataclass(frozen=True, slots=True)
class Study:
    """A study that dies: its text, with a place for candidates, and how many trials each of them has."""

    text: str
    trials: int


STUDY = Study(
    """\
schema: 1
question: Rented or owned?
candidates:
%sprobes:
  - {probe: int, params: {threads: one, duration_s: 0.02}}
launches: 1
runs: 2
budget: 1 USD
""",
    2,
)
_STUDIES_A_SKY = 20  # clouds that remember hundreds of ended machines answer slowly
MENDS = ("cleanup", "resume")


@dataclass
class Toll:
    """What dying came to: a line for each thing that was wrong, and how often a controller died."""

    deaths: int = 0
    studies: int = 0
    wrong: list[str] = field(default_factory=list)


class Stand:
    """A sky, a process that forks commands under it, and the studies that ran there."""

    def __init__(self, folder: Path, candidates: Iterable[str] = (RENTED, OWNED), study: Study = STUDY) -> None:
        self._folder, self._study = folder, study
        self.candidates = tuple(candidates)
        self._guests = GUEST in self.candidates
        self.clouds = tuple(name for name in KINDS if any(f"provider: {name}\n" in one for one in self.candidates))
        self._studies = self._skies = 0
        self._stack = ExitStack()
        self.sky: Sky

    def __enter__(self) -> "Stand":
        self.warm = warmth()
        self._renew()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _renew(self) -> None:
        self._stack.close()
        self._stack = ExitStack()
        self._skies += 1
        place = self._folder / f"sky-{self._skies}"
        self._stack.callback(shutil.rmtree, place, ignore_errors=True)
        self.sky = self._stack.enter_context(clouds(place, self.clouds, guest=self._guests))
        for name in self.clouds:
            machines = [one for one in self.sky.foreign if one.startswith(f"{name} instance")]
            assert len(machines) == 2, "without foreign machines nothing shows that none is touched"
        (place / "study.yaml").write_text(self._study.text % "".join(self.candidates))

    @property
    def leased(self) -> int:
        """How many things a whole study leases: all parts of each rented machine, and a folder or guest of each other.

        So many creates have been answered when everything is there.
        """
        others = len(self.candidates) - len(self.clouds)
        return others + sum(len(make(name).parts) for name in self.clouds)

    def folder(self) -> Path:
        """The folder of a new study."""
        if self._studies and self._studies % _STUDIES_A_SKY == 0:
            self._renew()
        self._studies += 1
        return self.sky.folder / f"out-{self._studies}"

    def begin(
        self, verb: str, out: Path, crash: str | None = None, terminal: str | None = None, cwd: Path | None = None,
        **waits: float,
    ) -> Job:  # fmt: skip
        """`run`, `resume` or `cleanup` of a study, which dies at a crash point (`name:n`); `waits` as in warm.py."""
        words = {
            "run": ["run", self.sky.folder / "study.yaml", "--out", out],
            "resume": ["run", "--resume", out],
            "cleanup": ["cleanup", out],
        }[verb]
        more = {"CLOUDCMP_CRASH_AT": crash} if crash else {}
        return self.warm.start(words, {**self.sky.environ, **more}, cwd or self.sky.folder, SHORT | waits, terminal)

    def mend(self, how: str, out: Path) -> list[str]:
        """End what a death left, by `cleanup` or by going on to the end; what is wrong then."""
        before = acknowledged(out)
        if not (out / "study.db").is_file():  # it died before there was a study: there is nothing to end
            how = "run" if how == "resume" else ""
            shutil.rmtree(out, ignore_errors=True)
        wrong = []
        if how:
            job = self.begin(how, out)
            code = job.wait()
            wrong += [f"{how}: exit code {code}: {job.said()}"] if code != 0 else []
        if how in {"run", "resume"}:
            done, all_of = len({trial for trial, _ in acknowledged(out)}), self._study.trials * len(self.candidates)
            wrong += [f"only {done} of {all_of} trials were measured"] if done != all_of else []
        after = acknowledged(out)
        wrong += [f"trial {key} is lost or another" for key, digest in before.items() if after.get(key) != digest]
        return wrong + self.seen()

    def seen(self) -> list[str]:
        """What is wrong in the truth; a sky in which anything is left is not used again."""
        sky = self.sky
        wrong = [f"left: {one}" for one in sky.left()] + sky.harm() + [f"no intent: {one}" for one in sky.unwritten]
        if wrong:
            self._renew()
        return wrong


def walk(
    folder: Path, points: Iterable[str] = POINTS, *, verb: str = "run", mend: str = "cleanup", most: int | None = None,
    cloud: str = "aws",
) -> Toll:  # fmt: skip
    """Die at each passing of each point (at most so many of each) while `verb` runs, and mend it by `mend`.

    One candidate is rented at `cloud`, the other owned. `resume` and `cleanup` are given studies whose controllers died
    when all their machines were there.
    """
    toll = Toll()
    with Stand(folder, (*rented(cloud), OWNED)) as stand:
        for point in points:
            nth = 1
            while (most is None or nth <= most) and _dies(stand, f"{point}:{nth}", verb, mend, toll):
                nth += 1
    return toll


def _dies(stand: Stand, at: str, verb: str, mend: str, toll: Toll) -> bool:
    """Whether a controller died at a passing; what was wrong after it was mended goes to the toll."""
    out = stand.folder()
    toll.studies += 1
    wrong = []
    if verb != "run":
        prepared = stand.begin("run", out, f"cloud.after_create:{stand.leased}").wait()
        wrong += [] if prepared == -9 else [f"it ended with {prepared} before"]
    job = stand.begin(verb, out, at)
    code = job.wait()
    if code == -9:
        toll.deaths += 1
        wrong += stand.mend(mend, out)
    else:
        wrong += ([] if code == 0 else [f"exit code {code}: {job.said()}"]) + stand.seen()
    toll.wrong += [f"{verb}, {at}, {mend}: {one}" for one in wrong]
    shutil.rmtree(out, ignore_errors=True)
    return code == -9


def kills(
    folder: Path, n: int, seed: int, candidates: Iterable[str] = (RENTED, OWNED), study: Study = STUDY
) -> Toll:  # fmt: skip
    """SIGKILL for a controller's group at `n` random moments; half of the time what goes on is killed again."""
    chance, toll = random.Random(seed), Toll()
    with Stand(folder, candidates, study) as stand:
        # What forks has imported everything then: that is no part of a study's length.
        stand.warm.start(["--version"], stand.sky.environ, stand.sky.folder).wait()
        began = time.monotonic()
        toll.wrong += stand.mend("resume", stand.folder())
        length_s = time.monotonic() - began
        while toll.deaths < n:
            out = stand.folder()
            toll.studies += 1
            wrong = _killed_on(stand, out, n, length_s, chance, toll)
            toll.wrong += [f"study {toll.studies} of seed {seed}, death {toll.deaths}: {one}" for one in wrong]
            shutil.rmtree(out, ignore_errors=True)
    return toll


def _killed_on(stand: Stand, out: Path, n: int, length_s: float, chance: random.Random, toll: Toll) -> list[str]:
    """One study, killed until it ends by itself or is mended; what is wrong then."""
    wrong: list[str] = []
    known: dict[tuple[int, int], str | None] = {}
    while toll.deaths < n:
        job = stand.begin("resume" if (out / "study.db").is_file() else "run", out)
        time.sleep(chance.uniform(0.0, length_s))
        job.kill()
        code = job.wait()
        after = acknowledged(out)
        wrong += [f"trial {key} is lost or another" for key, digest in known.items() if after.get(key) != digest]
        known = after
        if code == 0:
            return wrong + stand.seen()
        toll.deaths += 1
        if code != -9:
            wrong.append(f"exit code {code}: {job.said()}")
        if chance.random() < 0.5:
            break
        if not (out / "study.db").is_file():
            shutil.rmtree(out, ignore_errors=True)
    return wrong + stand.mend(chance.choice(MENDS), out)


def _asked(place: Path, how: str, words: list[str]) -> Toll:
    """`kills N SEED [guests | CLOUD...]`, or `walk FIRST STEP VERB MEND [CLOUD]`: each STEPth point from FIRST on."""
    if how == "kills":
        n, seed, *others = words
        named = rented(*(one for one in others if one != "guests"))
        return kills(place, int(n), int(seed), (*(named or (RENTED,)), GUEST if "guests" in others else OWNED))
    first, step, verb, mend, *cloud = words
    points = POINTS[int(first) :: int(step)]
    return walk(place, points, verb=verb, mend=mend, cloud=cloud[0] if cloud else "aws")


if __name__ == "__main__":
    print(json.dumps(asdict(_asked(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))))
