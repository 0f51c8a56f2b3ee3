"""Tasks of known work beside what people use for it: OpenSSL's ciphers, digests and signatures, and zlib.

Both sides count processor seconds, so that neighbours take from neither. Ratios are of times: below 1, ours is faster.

usage: python3 benchmarks/tasks.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import random
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable

from agent import missing, rounds, run_agent, side_by_side
from cloudcmp.catalog.tables.tasks import TASK_WORK

MIB = 2**20
MESSAGES = 64  # that a pass of `sign` signs


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
    before = time.process_time()
    for _ in range(10):
        packed = zlib.compress(data, 6)
        assert zlib.decompress(packed) == data
    return (time.process_time() - before) / 10


def main() -> int:
    why = missing() or (None if shutil.which("openssl") else "no openssl here; install it")
    if why:
        print(why, file=sys.stderr)
        return 2
    peers: dict[str, Callable[[], float]] = {"aes": aes, "hash": digests, "sign": sign, "compress": deflate}
    for task, peer in peers.items():
        side_by_side(f"task-{task}", lambda task=task: ours(task), peer, rounds(5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
