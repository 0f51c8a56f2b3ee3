"""Lines and machines that go silent, slow or mad at any byte: every call must end, and memory must not grow."""

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.emulated.tcp_proxy import KINDS, bad_line

from cloudcmp.agent.connection import SshHost
from cloudcmp.agent.host import new_key
from cloudcmp.agent.shell import Patience, SshShell
from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import Endpoint, KeyPair

_DOWN_BYTES, _UP_BYTES = 9000, 60_000  # of the whole session below; beyond them nothing goes wrong
_SOUND = "sound"  # straight to an honest machine
_SOUND_EACH = 10  # every so many cases
_ENOUGH = 10  # cases of a kind, of which one at least comes beyond its dial
_NEVER_GOOD = {"flood", "endless"}
PHASES = ("dial", "run", "put", "start", "end")
_FLOOD = "head -c 1073741824 /dev/zero >&2"


@dataclass
class Toll:
    """What came of n cases: by how much a call outlived its deadline at most (s), how many were good to the end.

    `reached` counts the cases of each kind by the call that they came to, `end` for those that were good.
    """

    n: int = 0
    good: int = 0
    late_s: float = 0.0
    grown_bytes: int = 0
    odd: list[str] = field(default_factory=list)
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)

    def untried(self) -> list[str]:
        """What these cases cannot have shown, a line each: where nothing came so far, or nothing went wrong."""
        wrong = [] if 0 < self.good < self.n else [f"{self.good} of {self.n} were good to the end"]
        for kind in {kind for kind, _ in self.reached}:
            n = sum(self.reached[kind, phase] for phase in PHASES)
            beyond = n - self.reached[kind, "dial"]
            if not beyond and (n >= _ENOUGH or kind not in KINDS):
                wrong.append(f"none of {n} {kind} came beyond its dial")
            if kind in _NEVER_GOOD and self.reached[kind, "end"]:
                wrong.append(f"{kind} was good to the end")
        return sorted(wrong)


def black_holes(n: int, seed: int, at_once: int = 16, deadline_s: float = 0.5) -> Toll:
    """Run n sessions over lines that go bad at a random byte, or with a machine that floods or does not end.

    Each call has the deadline; a busy machine needs a longer one for any session to be good to the end.
    """
    picks = random.Random(seed)
    toll = Toll(n)
    client, host = new_key(), new_key()
    with (
        tempfile.TemporaryDirectory() as folder,
        _server(Path(folder), "honest", client, host, {}) as honest,
        _server(Path(folder), "endless", client, host, {"no_exit": True, "deaf": True}) as endless,
    ):
        rig = _Rig(Path(folder), client, host, honest, endless, toll, deadline_s)
        base = _peak_bytes(reset=True)
        asyncio.run(_all(rig, [_pick(picks, case) for case in range(n)], at_once))
        toll.grown_bytes = _peak_bytes() - base
    return toll


@dataclass
class _Rig:
    folder: Path
    client: KeyPair
    host: KeyPair
    honest: tuple[str, int]
    endless: tuple[str, int]
    toll: Toll
    deadline_s: float


def _pick(picks: random.Random, case: int) -> tuple[str, int]:
    if case % _SOUND_EACH == 0:
        return _SOUND, 10**9
    kind = picks.choice([*KINDS, *KINDS, "flood", "endless"])
    return kind, picks.randrange(_UP_BYTES if kind == "stall_up" else _DOWN_BYTES)


async def _all(rig: _Rig, cases: list[tuple[str, int]], at_once: int) -> None:
    turn = asyncio.Semaphore(at_once)

    async def one(kind: str, at_byte: int) -> None:
        async with turn:
            if kind in KINDS:
                async with bad_line(rig.honest, kind, at_byte) as line:
                    good = await _session(rig, (line.address, line.port), kind)
            else:
                good = await _session(rig, rig.endless if kind == "endless" else rig.honest, kind)
            rig.toll.good += good

    await asyncio.gather(*(one(*case) for case in cases))


async def _session(rig: _Rig, where: tuple[str, int], kind: str) -> bool:
    """Dial, run, copy, start, leave and hang up; whether all of it went well."""
    deadline_s = rig.deadline_s
    line = SshHost(Endpoint(*where, host_key=rig.host.public, client=rig.client))
    shell: SshShell | None = None
    phase = "dial"
    try:
        async with _timed(rig.toll, deadline_s, f"{kind}: dial"):
            shell = SshShell(line, await line.connect(deadline_s), Patience(start_s=deadline_s))
        phase = "run"
        async with _timed(rig.toll, deadline_s, f"{kind}: run"):
            await shell.run(
                ["sh", "-c", _FLOOD if kind == "flood" else "head -c 2000 /dev/zero"], deadline_s=deadline_s
            )
        phase = "put"
        async with _timed(rig.toll, deadline_s, f"{kind}: put"):
            await shell.put(rig.folder / "file", str(rig.folder / "copy"), deadline_s=deadline_s)
        phase = "start"
        async with _timed(rig.toll, 3 * deadline_s, f"{kind}: start"):
            await _process(shell, deadline_s)
        phase = "end"
    except (ProviderFault, TimeoutError) as fault:
        if "\n" in str(fault) or "\x1b" in str(fault):
            rig.toll.odd.append(f"{kind}: {fault!r}")
        return False
    finally:
        rig.toll.reached[kind, phase] += 1
        if shell is not None:
            async with _timed(rig.toll, 1.0, f"{kind}: close"):
                await shell.close()
    return True


async def _process(shell: SshShell, deadline_s: float) -> None:
    async with shell.start(["head", "-c", "2000", "/dev/zero"], b"job\n") as channel:
        async with asyncio.timeout(deadline_s):
            async for _ in channel.stdout():
                pass
        await channel.last_words()


@contextlib.asynccontextmanager
async def _timed(toll: Toll, deadline_s: float, what: str):
    began = time.monotonic()
    try:
        yield
    finally:
        late_s = time.monotonic() - began - deadline_s
        toll.late_s = max(toll.late_s, late_s)
        if late_s > 5:
            toll.odd.append(f"{what} was {late_s:.1f} s late")


@contextlib.contextmanager
def _server(
    folder: Path, name: str, client: KeyPair, host: KeyPair, lies: dict[str, bool]
) -> Iterator[tuple[str, int]]:
    """A machine in a process of its own, so that its memory is not counted as ours."""
    (folder / name).mkdir()
    (folder / "file").write_bytes(b"x" * 40_000)
    key, public = folder / "host", folder / "client.pub"
    key.write_text(host.private)
    public.write_text(client.public)
    command = [sys.executable, "-m", "tests.emulated.ssh_server", "--home", str(folder / name), "--host-key", str(key)]
    with subprocess.Popen(
        [*command, "--client", str(public), "--lies", json.dumps(lies)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        try:
            yield said["address"], said["port"]
        finally:
            process.stdin.close()
            process.wait(10)


def _peak_bytes(*, reset: bool = False) -> int:
    """The most memory that this process ever had resident; with `reset`, counted from now."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel tells no peak")
