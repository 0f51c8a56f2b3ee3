"""Tasks of known work beside what people use for it: OpenSSL, zlib, scipy, Python's JSON, and loops by gcc.

Both sides count processor seconds, so that neighbours take from neither. Ratios are of times: below 1, ours is faster.
The loops of tasks_peer.c work on the agent's own numbers and know its answers: each is a witness of the other.
The task `disk` has no row: its calls are those of `disk` and `postmark`, which have theirs.

usage: .venv/bin/python benchmarks/tasks.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before scipy is loaded

import numpy as np
from scipy import fft
from scipy.linalg import lapack

from agent import missing, rounds, run_agent, side_by_side
from cloudcmp.catalog.tables.tasks import TASK_WORK

MIB = 2**20
MESSAGES = 64  # that a pass of `sign` signs
LOOPS = ("sor", "sparse", "monte_carlo", "memory")
SEED = "2010"  # of the agent's numbers, which a loop must draw again


def ours(task: str) -> float:
    """Processor seconds of one pass."""
    return float(str(run_agent("task", {"task": task, "size": "full"})[1]["cpu_time_s"])) / TASK_WORK[task][1]


def _speed(*words: str) -> list[str]:
    """The figures of OpenSSL's own measurement, which counts processor time."""
    command = ["openssl", "speed", "-mr", "-seconds", "1", *words]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return next(line for line in told if line.startswith("+F")).split(":")


def _of_a_mib(*words: str) -> float:
    return MIB / float(_speed("-bytes", str(MIB), *words)[-1])


def aes() -> float:
    return _of_a_mib("-evp", "aes-256-cbc") + _of_a_mib("-decrypt", "-evp", "aes-256-cbc")


def digests() -> float:
    return _of_a_mib("-evp", "sha256") + _of_a_mib("-evp", "sha512")


def sign() -> float:
    found = _speed("ed25519")
    return MESSAGES * (1 / float(found[-2]) + 1 / float(found[-1]))


def deflate() -> float:
    """Text of the same kind as the task's: words of a skewed alphabet, of which few are frequent."""
    draw = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(letters[int(26 * draw.random() * draw.random())] for _ in range(2 + i % 8)) for i in range(4096)]
    text = ""
    while len(text) < MIB:
        picked = (words[int(4096 * draw.random() * draw.random() * draw.random())] for _ in range(1000))
        text += " ".join(word if draw.random() > 0.1 else f". {draw.randrange(10_000)}" for word in picked)
    data = text.encode()[:MIB]

    def both() -> None:
        assert zlib.decompress(zlib.compress(data, 6)) == data

    return _timed(both, 10)


def _timed(work: Callable[[], object], passes: int) -> float:
    """Processor seconds of one pass of many in this process."""
    work()
    before = time.process_time()
    for _ in range(passes):
        work()
    return (time.process_time() - before) / passes


def transform() -> float:
    rng = np.random.default_rng(1)
    numbers = rng.random(2**16) + 1j * rng.random(2**16)
    return _timed(lambda: fft.ifft(fft.fft(numbers)), 50)


def solve() -> float:
    rng = np.random.default_rng(1)
    matrix, right = np.asfortranarray(rng.random((512, 512)) - 0.5), rng.random(512)
    return _timed(lambda: lapack.dgesv(matrix, right), 20)


def serialise() -> float:
    """Records with the fields of the task's, and scaled to its 949 KiB."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz    "
    records = [
        {
            "id": rng.getrandbits(64), "name": "".join(rng.choices(letters, k=16)), "active": i % 3 == 0,
            "place": {"latitude": rng.uniform(-90, 90), "longitude": rng.uniform(-180, 180)},
            "scores": [rng.randrange(-(2**31), 2**31) for _ in range(6)], "parent": i // 4 if i % 4 else None,
            "note": "".join(rng.choices(letters, k=40)),
        }
        for i in range(4096)
    ]  # fmt: skip
    return _timed(lambda: json.loads(json.dumps(records)), 10) * 949 * 1024 / len(json.dumps(records))


def loop(program: Path, task: str) -> float:
    """Processor seconds of one pass of a loop of tasks_peer.c."""
    line = [program, task, "8", SEED]
    return float(subprocess.run(line, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    lost = next((tool for tool in ("openssl", "gcc") if not shutil.which(tool)), None)
    why = missing() or (f"no {lost} here; install it" if lost else None)
    if why:
        print(why, file=sys.stderr)
        return 2
    peers: dict[str, Callable[[], float]] = {
        "aes": aes, "hash": digests, "sign": sign, "compress": deflate, "fft": transform, "lu": solve,
        "serialise": serialise,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "tasks_peer"
        source = Path(__file__).parent / "tasks_peer.c"
        subprocess.run(["gcc", "-O3", "-march=native", "-o", program, source, "-lm"], check=True)
        peers |= {task: lambda task=task: loop(program, task) for task in LOOPS}
        print(f"{'processor seconds a pass':<34} {'ours':>10} {'peer':>10}   ours/peer")
        for task, peer in peers.items():
            side_by_side(f"task-{task}", lambda task=task: ours(task), peer, rounds(5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
