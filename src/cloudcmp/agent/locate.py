"""Finds the measuring agent's binary."""

import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from cloudcmp.errors import AgentMissing

BINARY = "cloudcmp-agent"
VARIABLE = "CLOUDCMP_AGENT"
_MACHINES = {"x86_64-unknown-linux": 62, "aarch64-unknown-linux": 183}  # e_machine of the ELF header
_CHECKOUT = Path(__file__).resolve().parents[3]


def this_triple() -> str:
    """The target triple of this machine, without its C library: both kinds of binary are static."""
    return f"{platform.machine()}-unknown-{platform.system().lower()}"


def locate(
    triple: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    python: Path | None = None,
    scripts: Path | None = None,
    checkout: Path | None = None,
) -> Path:
    """The agent for a target triple (default: this machine).

    Searches $CLOUDCMP_AGENT, the folder of the running Python, the installed scripts, then the checkout's own builds.
    Raises AgentMissing with every searched place and how to build.
    """
    triple = triple or this_triple()
    environ = os.environ if environ is None else environ
    if triple not in _MACHINES:
        raise AgentMissing.at("agent", f"there is none for {triple}", f"it is built for {', '.join(sorted(_MACHINES))}")
    if chosen := environ.get(VARIABLE):
        fault = _fault_of(Path(chosen), triple)
        if fault:
            raise AgentMissing.at(f"${VARIABLE}={chosen}", fault, "name an agent's binary, or unset the variable")
        return Path(chosen).absolute()
    searched: list[str] = []
    for place in _places(
        triple,
        python or Path(sys.executable),
        scripts or Path(sysconfig.get_path("scripts")),
        checkout or _CHECKOUT,
    ):
        fault = _fault_of(place, triple)
        if fault is None:
            return place
        searched.append(f"{place} ({fault})")
    raise AgentMissing.at(
        "agent",
        f"no {BINARY} for {triple}; searched " + ", ".join(searched),
        f'build it with "make build", or set ${VARIABLE}',
    )


def _places(triple: str, python: Path, scripts: Path, checkout: Path) -> Iterator[Path]:
    """The possible paths of an agent, the likeliest first, without repetition."""
    target = checkout / "agent" / "target"
    builds = [
        folder / profile / BINARY
        for profile in ("dist", "release")
        for folder in (target, *(target / f"{triple}-{libc}" for libc in ("gnu", "musl")))
    ]
    yield from dict.fromkeys([python.parent / BINARY, scripts / BINARY, *builds])


def _fault_of(path: Path, triple: str) -> str | None:
    """Why a file cannot be the agent, None if it can. A file in another format than ELF (a script) may run anywhere."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except FileNotFoundError:
        return "not there"
    except OSError as error:
        return error.strerror or "cannot be read"
    if not os.access(path, os.X_OK):
        return "not executable"
    if head.startswith(b"\x7fELF") and len(head) == 20:
        order = ">" if head[5] == 2 else "<"
        if struct.unpack_from(order + "H", head, 18)[0] != _MACHINES[triple]:
            return "built for another machine"
    return None
