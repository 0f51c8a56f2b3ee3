"""Extracts files from the system's own Debian packages, without installing them and without root."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import Refused

_APT_S = 600.0
_INSTALL_LINE = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) ")
_LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib", "usr/lib")
_LOADER = "ld-linux-x86-64.so.2"


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package at the version that the system's sources offer."""

    name: str
    version: str


class Packages:
    """The system's package sources. `lists` is a folder for our own package lists, used if the system's fail."""

    def __init__(self, lists: Path) -> None:
        self._lists = lists
        self._options: list[str] = ["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]
        self._refreshed = False

    def unpack(self, names: Sequence[str], prefixes: Sequence[str], into: Path) -> tuple[Package, ...]:
        """Fetches and unpacks packages and their dependencies with one of the `prefixes`; returns them, sorted."""
        check_fetchable(names)
        store = into / ".packages"
        store.mkdir(parents=True)
        chosen = self._fetch(names, prefixes, store)
        for file in sorted(store.glob("*.deb")):
            _run(["dpkg-deb", "-x", str(file), str(into)], store, "unpack a package")
        shutil.rmtree(store)
        return chosen

    def _fetch(self, names: Sequence[str], prefixes: Sequence[str], store: Path) -> tuple[Package, ...]:
        """Downloads packages; if the system's lists are empty or too old, once more with our own lists."""
        try:
            chosen = self._plan(names, prefixes)
            exact = [f"{package.name}={package.version}" for package in chosen]
            self._apt(["download", "-q", *exact], store, f"fetch {', '.join(names)}")
        except Refused:
            if self._refreshed:
                raise
            self._refresh()
            return self._fetch(names, prefixes, store)
        return chosen

    def _plan(self, names: Sequence[str], prefixes: Sequence[str]) -> tuple[Package, ...]:
        """The packages that apt would install on an empty system, limited to those that we need."""
        empty = ["-o", "Dir::State::status=/dev/null", "--no-install-recommends"]
        output = self._apt(["-s", *empty, "install", *names], Path("/"), f"resolve {', '.join(names)}")
        planned = (match for line in output.splitlines() if (match := _INSTALL_LINE.match(line)))
        return tuple(
            sorted(
                (
                    Package(match["name"].removesuffix(":amd64"), match["version"])
                    for match in planned
                    if match["name"] in names or match["name"].startswith(tuple(prefixes))
                ),
                key=lambda package: package.name,
            )
        )

    def _refresh(self) -> None:
        """Fetches our own package lists; only root may renew the system's."""
        self._refreshed = True
        (self._lists / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (self._lists / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        self._options += ["-o", f"Dir::State={self._lists}", "-o", f"Dir::Cache={self._lists / 'cache'}"]
        self._apt(["update", "-q"], Path("/"), "renew the package lists")

    def _apt(self, words: Sequence[str], folder: Path, what: str) -> str:
        return _run(["apt-get", *self._options, *words], folder, what)


def check_fetchable(names: Sequence[str]) -> None:
    """Raises Refused if the tools to fetch and unpack packages are missing; opens no connection."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Refused.at(
                "qemu", f"{tool} is not there to fetch {', '.join(names)}",
                "use a Debian or Ubuntu system, or install qemu-system-x86_64 and give an image of your own",
            )  # fmt: skip


def libraries(root: Path, programs: Iterable[str]) -> tuple[str, ...]:
    """The shared libraries, loader included, of programs in an unpacked tree; sorted paths within it."""
    loader = _loader(root)
    needed = {str(loader.relative_to(root))}
    for program in programs:
        command = [*run_from(root, "--list"), str(root / program)]
        for line in _run(command, root, f"find the libraries of {program}").splitlines():
            name, _, path = (word.strip() for word in line.split("(")[0].partition("=>"))
            if path.startswith(str(root)):
                needed.add(str(Path(path).relative_to(root)))
            elif path:
                raise Refused.at(
                    "qemu",
                    f"{program} needs {name}, which is in none of its packages",
                    "use Debian 12's package sources",
                )
    return tuple(sorted(needed))


def run_from(root: Path, program: str) -> list[str]:
    """The command that runs a program of an unpacked tree with the tree's own libraries."""
    path = ":".join(str(root / folder) for folder in _LIBRARIES)
    return [str(_loader(root)), "--library-path", path, program if program.startswith("-") else str(root / program)]


def _loader(root: Path) -> Path:
    """The tree's dynamic loader; the usual link to it is absolute and leads out of the tree."""
    for folder in _LIBRARIES:
        if (root / folder / _LOADER).is_file():
            return root / folder / _LOADER
    raise Refused.at("qemu", f"{_LOADER} is not in the packages", "see whether apt-get download libc6 works here")


def _run(command: Sequence[str], folder: Path, what: str) -> str:
    """The output of a command; raises Refused with the last line of its errors."""
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, text=True, errors="replace", timeout=_APT_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Refused.at("qemu", f"could not {what} within {_APT_S:.0f} s", "see whether apt-get works") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit {done.returncode}"]
        worst = next((line for line in errors if line.startswith("E:")), errors[-1])
        raise Refused.at("qemu", f"could not {what}: {worst.strip()}", "see whether apt-get download works here")
    return done.stdout
