"""The user's own commands: their shell lines, files and metrics; and the shell lines of any study."""

from dataclasses import dataclass

from cloudcmp.model.metric import Better

_START_S = 20.0


@dataclass(frozen=True, slots=True)
class CommandMetric:
    """A metric in a command's output: the one group of `regex`, in any line, or `json`, a dotted path.

    The number is multiplied by `scale` to be in `unit`. `signed` is true if it can be 0 or less.
    """

    name: str
    unit: str
    better: Better
    regex: str | None = None
    json: str | None = None
    scale: float = 1.0
    signed: bool = False


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A file that is uploaded to every machine: its path within the study's folder, digest and size when planned."""

    path: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a study: its shell lines, and the expected seconds of a run.

    `setup` runs once a launch, `warmup` before each run and `check` after it; none of them is timed. `limit_s` limits
    each line except the setup. `told` are its metrics. `files` are relative to `folder`; `image` is an archive of the
    container image in which `run` runs.
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
    told: tuple[CommandMetric, ...] = ()
    files: tuple[ShippedFile, ...] = ()
    image: ShippedFile | None = None
    folder: str = ""

    @property
    def deadline_s(self) -> float:
        """The deadline of a trial, for all phases together."""
        phases = 1 + bool(self.warmup) + bool(self.check)
        return phases * self.limit_s + (self.setup_limit_s if self.setup or self.image else 0.0) + _START_S


@dataclass(frozen=True, slots=True)
class ShellLine:
    """One or several lines for the shell of a machine.

    `kind` is the phase: setup, image, warmup, run or check of a command; program, install or run of a tool.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class CommandUse:
    """A command or tool of a study: its lines in the order in which they run, and its files.

    `on` are the ids of the candidates. `free` is true if a line holds text from the study: always for a command, and
    for a tool whose program, path, host, database or URL is not the default, or that may be installed.
    """

    name: str
    lines: tuple[ShellLine, ...]
    files: tuple[ShippedFile, ...]
    on: tuple[str, ...]
    free: bool
