"""Installs the agent on a machine that is reached by SSH, and removes it."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cloudcmp.agent.locate import BINARY, locate
from cloudcmp.errors import AgentMissing, OutsideFault, ProviderFault
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.remote import Channel, Shell
from cloudcmp.model.untrusted_text import one_line

CPUS_MAX = 4096
_KILL_AFTER_S = 5
_PUT_S, _PUT_BYTES_PER_S = 120.0, 2.0**17  # a slower upload is given up
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_PATH = re.compile(r"/[A-Za-z0-9/._+@-]{1,400}")
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_UPTIME = re.compile(r"([0-9]{1,10}\.[0-9]{1,9}) ")
_ENVIRONMENT = ("env", "-i", "PATH=/usr/bin:/bin", "LC_ALL=C")

# Creates a fresh private folder and prints its path with all links resolved. The agent's files have their own folder.
_MAKE = """umask 077
mkdir -p -- "$1" && cd -- "$1" && made=$(mktemp -d "$(pwd -P)/cloudcmp.XXXXXXXX") && mkdir "$made/work" && echo "$made"
"""
# The affinity may include processors that do not exist; the online list may include ones that we may not use.
_CPUS = """allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
echo "$allowed;$(cat /sys/devices/system/cpu/online 2>/dev/null)"
"""
_REMOVE = """for process in /proc/[0-9]*; do
  case "$(readlink "$process/exe" 2>/dev/null)" in "$1"/*) kill -KILL "${process#/proc/}" 2>/dev/null ;; esac
done
rm -rf -- "$1"
"""


@dataclass(frozen=True, slots=True)
class RemoteInstance:
    """A machine with the agent on it. An Instance of the model.

    `home` holds the agent and `folder`, the place of its test files; `prefix` is the command that ends an agent whose
    controller is gone, empty if the machine has none.
    """

    shell: Shell
    cpus: Sequence[int]
    address: str
    home: str
    prefix: Sequence[str]

    @property
    def folder(self) -> str:
        """The folder for test files."""
        return f"{self.home}/work"

    def start(self, job: bytes, trial: PlannedTrial, earlier: int) -> AbstractAsyncContextManager[Channel]:  # noqa: ARG002
        """Starts an agent process on the job, with an empty environment; leaving the context ends it."""
        return self.shell.start([*self.prefix, *_ENVIRONMENT, f"{self.home}/{BINARY}"], job)

    async def upload(self, files: Mapping[str, Path]) -> None:
        """Copies files into the folder for test files, each under its relative name; raises ProviderFault."""
        for name, file in files.items():
            to = f"{self.folder}/{name}"
            await _output_of(self.shell, ["mkdir", "-p", "--", to.rpartition("/")[0]], "a folder for files")
            await self.shell.put(file, to, deadline_s=_PUT_S + file.stat().st_size / _PUT_BYTES_PER_S)

    async def uptime_s(self) -> float:
        """The uptime of the machine by its kernel, to hundredths; raises ProviderFault."""
        text = await _output_of(self.shell, ["cat", "/proc/uptime"], "its uptime")
        match = _UPTIME.match(f"{text} ")
        if match is None:
            raise _malformed("its uptime", text)
        return float(match[1])


async def deploy(
    shell: Shell,
    locate: Callable[[str], Path] = locate,
    folder: str = ".",
    *,
    address: str = "127.0.0.1",
    lease_s: float | None = None,
) -> RemoteInstance:
    """Installs the agent for the machine's architecture in a fresh folder (0700) under `folder`, and checks it.

    `folder` may be relative to the user's home. `address` is where agents of other machines reach this one; with
    `lease_s` no agent process outlives it. Raises AgentMissing if none is built for the machine, ProviderFault if a
    command on the machine fails. Does not protect against a machine that lies: see Decoder.
    """
    agent = locate(triple_of(await _output_of(shell, ["uname", "-sm"], "its kind")))
    home = await _output_of(shell, ["sh", "-c", _MAKE, "cloudcmp", folder], "a new folder")
    if not _PATH.fullmatch(home) or not PurePosixPath(home).name.startswith("cloudcmp."):
        raise _malformed("a new folder", home)
    try:
        await shell.put(agent, f"{home}/{BINARY}")
        version = await _output_of(shell, [*_ENVIRONMENT, f"{home}/{BINARY}", "--version"], "its agent's version")
        if not version.startswith(f"{BINARY} "):
            raise _malformed("its agent's version", version)
        cpus = usable_cpus(await _output_of(shell, ["sh", "-c", _CPUS], "its processors"))
        return RemoteInstance(shell, cpus, address, home, await _prefix(shell, lease_s))
    except OutsideFault:
        with suppress(OutsideFault):
            await undeploy(shell, home)
        raise


async def undeploy(shell: Shell, folder: str) -> None:
    """Kills the processes whose program is in a folder of `deploy` (`RemoteInstance.home`), and removes the folder.

    For machines that stay after a study. Raises ProviderFault if the folder cannot be removed; a missing one is no
    fault.
    """
    if not _PATH.fullmatch(folder) or not PurePosixPath(folder).name.startswith("cloudcmp.") or "/../" in folder:
        raise _malformed("a folder of ours", folder)
    await _output_of(shell, ["sh", "-c", _REMOVE, "cloudcmp", folder], "removing its folder")


def triple_of(uname: str) -> str:
    """The target triple for the output of `uname -sm`; raises AgentMissing for an unsupported system."""
    system, _, machine = uname.strip().partition(" ")
    if system != "Linux" or machine not in _MACHINES:
        what = f"there is none for {one_line(uname, 40) or 'a machine that does not say what it is'}"
        raise AgentMissing.at("agent", what, "it is built for Linux on x86_64 and aarch64")
    return f"{_MACHINES[machine]}-unknown-linux"


def usable_cpus(text: str) -> tuple[int, ...]:
    """The processors in both of two lists such as `0-3,8;0-7`: allowed, and online if the machine lists those.

    Raises ProviderFault for other text, and if no processor is left.
    """
    allowed, _, online = text.partition(";")
    both = _cpu_list(allowed) & _cpu_list(online or allowed)
    if not both:
        raise _malformed("its processors", text)
    return tuple(sorted(both))


def _cpu_list(line: str) -> frozenset[int]:
    cpus: set[int] = set()
    for item in line.split(","):
        match = _RANGE.fullmatch(item)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < CPUS_MAX:
            raise _malformed("its processors", line)
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


async def _prefix(shell: Shell, lease_s: float | None) -> Sequence[str]:
    """The command that ends an agent after its lease; empty if the machine does not have it."""
    if lease_s is None or (await shell.run(["timeout", "-k", "1", "5", "true"])).exit_code != 0:
        return ()
    return ("timeout", "-k", str(_KILL_AFTER_S), str(max(1, round(lease_s))))


async def _output_of(shell: Shell, command: Sequence[str], what: str) -> str:
    """The output of a command, stripped and untrusted; raises ProviderFault if it fails."""
    output = await shell.run(command, most_bytes=65536)
    if output.exit_code != 0:
        why = one_line(output.err.decode("utf-8", errors="replace")) or f"exit {output.exit_code}"
        raise ProviderFault.at("machine", f"{what}: {why}", "see its disk, permissions and mount options")
    return output.out.decode("utf-8", errors="replace").strip()


def _malformed(what: str, text: str) -> ProviderFault:
    return ProviderFault.at("machine", f"{what} cannot be {one_line(text, 60)!r}", "see what answers there")
