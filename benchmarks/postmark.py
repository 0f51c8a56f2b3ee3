"""A mail server's load: the agent beside PostMark 1.53 with the same settings, interleaved. Needs Debian's postmark.

Compared are seconds of the whole load: PostMark prints whole seconds only, so its process is timed from outside, with
its start (some ms). Differences that stay: PostMark draws sizes, files and its text while the clock runs, by a
generator of its own, the agent draws them before, so that the two do not touch the same files in the same order; its
buffered files are C's standard library's, the agent's move the same pages with the same system calls; PostMark names
files by whole paths, the agent from their open folder.

usage: python3 benchmarks/postmark.py [ROUNDS] [--record]        (7 rounds unless given; works in the current folder)
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent import missing, rounds, run_agent, side_by_side

FILES, LOW, HIGH, TRANSACTIONS = 3000, 1024, 20480, 15000
BUFFERED = {"yes": "true", "no": "false"}


def run_ours(buffered: str) -> float:
    params = {
        "files": str(FILES), "size_bytes": f"{LOW}-{HIGH}", "transactions": str(TRANSACTIONS), "buffered": buffered,
    }  # fmt: skip
    values, _ = run_agent("postmark", params, Path.cwd())
    return values["postmark_time_s"][0]


def run_peer(buffered: str) -> float:
    """Seconds of PostMark's whole process."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        settings = (
            f"location {folder}", f"number {FILES}", f"size {LOW} {HIGH}", f"transactions {TRANSACTIONS}",
            f"buffering {BUFFERED[buffered]}",
        )  # fmt: skip
        script = "".join(f"set {setting}\n" for setting in settings) + "run\nquit\n"
        start = time.perf_counter()
        done = subprocess.run(["postmark"], input=script, check=True, capture_output=True, text=True)
        elapsed_s = time.perf_counter() - start
    if "seconds of transactions" not in done.stdout:
        raise RuntimeError(f"PostMark did not run: {done.stdout[-200:]}")
    return elapsed_s


def main() -> int:
    why = missing() or (None if shutil.which("postmark") else "no postmark here; install Debian's package postmark")
    if why:
        print(why, file=sys.stderr)
        return 2
    print(f"{FILES} files of {LOW} to {HIGH} B, {TRANSACTIONS} transactions, s")
    print(f"{'':<34} {'ours':>10} {'PostMark':>10}   ours/PostMark")
    for buffered, name in (("yes", "postmark-buffered"), ("no", "postmark-blocks")):
        side_by_side(
            name,
            lambda buffered=buffered: run_ours(buffered),
            lambda buffered=buffered: run_peer(buffered),
            rounds(7),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
