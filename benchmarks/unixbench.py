"""UnixBench's tests of system calls: the agent beside the original's programs, or C programs of ours, interleaved.

usage: python3 benchmarks/unixbench.py [ROUNDS] [PGMS] [--record]        (5 rounds unless given)
       PGMS, or the variable UNIXBENCH_PGMS, is the folder pgms/ of an original UnixBench that was built. Without it
       the peer is unixbench_peer.c, which is not the original: it makes the same system calls. Only what is seen
       beside that one is recorded.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import AGENT, RECORD, missing, rounds, side_by_side

HERE = Path(__file__).parent
SECONDS = "1"
TESTS = ("syscall", "pipe", "context1", "spawn", "execl", "fstime", "fsbuffer", "fsdisk")
FILES = {"fstime": ("1024", "2000"), "fsbuffer": ("256", "500"), "fsdisk": ("4096", "8000")}


def build(folder: Path) -> list[str]:
    """Our own peer."""
    peer = folder / "unixbench_peer"
    subprocess.run(["gcc", "-O2", "-o", peer, HERE / "unixbench_peer.c"], check=True)
    return [str(peer)]


def original(pgms: Path, test: str, folder: Path) -> list[str]:
    """The command of an original test."""
    if test not in FILES:
        return [str(pgms / test), SECONDS]
    block, kib = FILES[test]
    return [str(pgms / "fstime"), "-c", "-t", SECONDS, "-d", str(folder), "-b", block, "-m", kib]


def ours(test: str, folder: Path) -> float:
    """Loops or KiB a second."""
    command = [AGENT, "--unixbench-copy", test, SECONDS]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=True, capture_output=True, text=True)
    word, count, elapsed_s = done.stdout.splitlines()[-1].split()
    if word != "ok":
        raise RuntimeError(done.stdout)
    return float(count) if test in FILES else float(count) / float(elapsed_s)


def peers(command: list[str], folder: Path, pgms: Path | None) -> float:
    """The last score that a program of UnixBench's manner tells, a second; its own time where it tells one."""
    environment = {**os.environ, **({"UB_BINDIR": str(pgms)} if pgms else {})}
    start = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=True, capture_output=True, text=True
    )
    elapsed_s = time.monotonic() - start
    count, timebase_s, _ = re.findall(r"COUNT\|([\d.]+)\|(\d+)\|(\w+)", done.stderr)[-1]
    told = re.findall(r"TIME\|([\d.]+)", done.stderr)
    return float(count) / (float(told[-1]) if told else elapsed_s) if timebase_s != "0" else float(count)


def main() -> int:
    named = next((word for word in sys.argv[1:] if Path(word).is_dir()), os.environ.get("UNIXBENCH_PGMS"))
    pgms = Path(named).resolve() if named else None
    if why := missing() or ("--record is for our own peer only" if pgms and RECORD in sys.argv else None):
        print(why, file=sys.stderr)
        return 2
    if pgms is not None and not (pgms / "pipe").exists():
        print(f"no program 'pipe' in {pgms}; build UnixBench, or name its folder pgms", file=sys.stderr)
        return 2
    if pgms is None and shutil.which("gcc") is None:
        print("no gcc for the peer; install it, or name an original's folder pgms", file=sys.stderr)
        return 2
    print(f"peer: {pgms or 'C programs of ours (the original was not here), gcc -O2'}; {SECONDS} s a run")
    print(f"{'':<34} {'ours':>10} {'peer':>10}   ours/peer")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer = [] if pgms else build(folder)
        for test in TESTS:
            command = original(pgms, test, folder) if pgms else [*peer, test, SECONDS]
            side_by_side(
                f"unixbench-{test}",
                lambda test=test: ours(test, folder),
                lambda command=command: peers(command, folder, pgms),
                rounds(5),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
