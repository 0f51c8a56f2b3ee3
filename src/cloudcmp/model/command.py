"""Commands of the user's own: what is run, and what is read from what they print; what a shell gets of any study."""

from dataclasses import dataclass

from cloudcmp.model.metric import Better

_START_S = 20.0


@dataclass(frozen=True, slots=True)
class Told:
    """A metric that a command tells, and where: the one group of `regex`, in any line, or `json`, a dotted path.

    What is found is multiplied by `scale`, which gives it in `unit`. `signed` says that it can be 0 or less.
    """

    name: str
    unit: str
    better: Better
    regex: str | None = None
    json: str | None = None
    scale: float = 1.0
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Shipped:
    """A file that goes to every machine: its path within the study's folder, and what it held when it was planned."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a study, its lines for a shell, and what a run is expected to take, seconds.

    `setup` is run once a launch, `warmup` before each run and `check` after it, none of them timed; `limit_s` is for
    each of them but the setup. `files` are relative to `folder`; `image` is an archive that the run's line runs in.
    """

    name: str
    run: str
    setup: str = ""
    warmup: str = ""
    check: str = ""
    threads: str = "all"
    expected_s: float = 30.0
    limit_s: float = 150.0
    setup_limit_s: float = 600.0
    told: tuple[Told, ...] = ()
    files: tuple[Shipped, ...] = ()
    image: Shipped | None = None
    folder: str = ""

    @property
    def deadline_s(self) -> float:
        """When a trial of it is given up, whichever of its phases it is in."""
        phases = 1 + bool(self.warmup) + bool(self.check)
        return phases * self.limit_s + (self.setup_limit_s if self.setup or self.image else 0.0) + _START_S


@dataclass(frozen=True, slots=True)
class ShellLine:
    """A line, or several, that a shell gets on a machine.

    `kind` is when: setup, image, warmup, run or check of a command; program, install or run of a tool. `unknown` is
    what cannot be run, and why.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandUse:
    """What a study runs under one name: its lines in the order in which they are run, and the files they come with.

    `on` are the ids of the candidates. `free` says that a line holds text that the study chose: all lines of a command
    do, and those of a tool whose program, path, host, database or URL is not the default, or that may be installed.
    """

    name: str
    lines: tuple[ShellLine, ...]
    files: tuple[Shipped, ...]
    on: tuple[str, ...]
    free: bool
