"""Fetches a server or tool into the checkout, by the lock file that names its versions; the second time takes no time.

Each lies in a folder of its own, `.tools/servers/<name>`, and is fetched by one process at a time. A file beside it
says from which lock file it came: another lock file has it fetched again.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

_HERE = Path(__file__).parent
ROOT = _HERE.parents[1]
PLACE = ROOT / ".tools" / "servers"
_LIMIT_S = 1800
TOOLS = {"awscli": "1.46.2"}
"""Commands that the tests measure, and their versions: groups of their own in the lock file of `python/`."""


class Absent(Exception):
    """Why a server cannot be had on this machine, in one line."""


def fetched(name: str, source: str, item: str = "", *, only_present: bool = False) -> Path:
    """The folder of a server, fetched now unless it is there.

    `source` is npm, python, go or maven; `item` is what the source calls the server. With `only_present` nothing is
    fetched. Raises `Absent`.
    """
    place, said = PLACE / name, PLACE / f"{name}.from"
    origin = _digest(source)
    PLACE.mkdir(parents=True, exist_ok=True)
    with _alone(PLACE / f"{name}.lock"):
        if place.is_dir() and said.is_file() and said.read_text() == origin:
            return place
        if only_present:
            raise Absent(f"{name} takes minutes to fetch; `python -m tests.servers fetch {name}` does it once")
        said.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        {"npm": _npm, "python": _python, "go": _go, "maven": _maven}[source](place, item)
        said.write_text(origin)
    return place


def programs_of(tool: str) -> Path:
    """The folder with the programs of a tool of `TOOLS`, fetched now unless it is there. Raises `Absent`."""
    return fetched(tool, "python", tool) / "bin"


def _digest(source: str) -> str:
    """What all files of a source say together."""
    whole = hashlib.sha256()
    for path in sorted((_HERE / source).iterdir()):
        if path.is_file():
            whole.update(path.name.encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """No other process fetches the same at the same time; the lock ends with its process."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def program(name: str) -> str:
    """The path of a program that is needed to fetch or run a server. Raises `Absent`."""
    found = shutil.which(name)
    own = ROOT / ".tools" / "bin" / name
    if found is None and own.exists():
        found = str(own)
    if found is None:
        raise Absent(f"{name} is not installed")
    return found


def _run(command: Sequence[str], folder: Path, **environ: str) -> None:
    """Run what fetches, with lower priority; its last words are the reason where it fails.

    On a continuous build server a failure is an error: there a server that cannot be fetched must not pass as a skip.
    """
    try:
        done = subprocess.run(
            ["nice", "-n", "10", *command], cwd=folder, env={**os.environ, **environ}, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise Absent(f"{Path(command[0]).name} was not done after {_LIMIT_S} s") from late
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()
        if os.environ.get("CI"):
            raise RuntimeError("\n".join([f"{command} exited with {done.returncode}", *words[-20:]]))
        raise Absent(f"{Path(command[0]).name} cannot fetch it: {words[-1]}")


def _npm(place: Path, item: str) -> None:
    program("node")
    for path in (_HERE / "npm").iterdir():
        shutil.copy(path, place)
    _run([program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], place)


def _python(place: Path, item: str) -> None:
    _run(
        [program("uv"), "sync", "--locked", "--quiet", "--only-group", item, "--python", sys.executable,
         "--compile-bytecode"],
        _HERE / "python", UV_PROJECT_ENVIRONMENT=str(place), VIRTUAL_ENV="",
    )  # fmt: skip


def _go(place: Path, item: str) -> None:
    _run([program("go"), "build", "-trimpath", "-o", f"{place}/server", item], _HERE / "go")


def _maven(place: Path, item: str) -> None:
    """Copy the jars, and look whether they are those of which the digests are written down."""
    program("java")
    _run(
        [program("mvn"), "-q", "-B", "-f", str(_HERE / "maven" / f"{item}.xml"), "dependency:copy-dependencies",
         "-DincludeScope=runtime", f"-DoutputDirectory={place}"],
        place,
    )  # fmt: skip
    lines = (_HERE / "maven" / f"{item}.sha256").read_text().splitlines()
    known = {name: digest for digest, name in (line.split() for line in lines)}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in place.iterdir()}
    if found != known:
        other = sorted(name for name in known.keys() | found.keys() if known.get(name) != found.get(name))
        shutil.rmtree(place)
        raise RuntimeError(f"other files than {item}.sha256 has: {', '.join(other)}")
