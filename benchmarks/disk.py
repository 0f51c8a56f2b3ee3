"""A disk's blocks: the agent beside fio on the same folder, interleaved. Needs fio (Debian: apt-get install fio).

Both use a file of the same size, past the page cache, made before the clock starts. CPU time an operation is that of
the threads that do the work, from the operating system's own account.

usage: .venv/bin/python benchmarks/disk.py [FOLDER] [ROUNDS] [--record]        (a temporary folder here, 5 rounds)
"""

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent import frames, missing, rounds, show
from cloudcmp.stats import histogram

SECONDS = 2
FILE_BYTES = 512 * 2**20


@dataclass(frozen=True)
class Seen:
    """What one run shows: operations a second, CPU seconds an operation, 99th percentile of the latency in seconds."""

    rate: float
    cpu_s: float
    p99_s: float


def ours(folder: Path, params: dict[str, str]) -> Seen:
    found = frames("disk", {"file_bytes": str(FILE_BYTES), "duration_s": str(SECONDS), **params}, folder)
    notes = {str(one["key"]): one["value"] for one in found if one["type"] == "note"}
    rates = [float(one["value"]) for one in found if one.get("metric") == "disk_op_per_s"]
    latencies = next(histogram.from_base64(str(one["hist"])) for one in found if one["type"] == "hist")
    return Seen(
        sum(rates) / len(rates),
        float(notes["cpu_time_s"]) / float(notes["operations"]),
        histogram.percentile_s(latencies, 99),
    )


def fio(folder: Path, options: str) -> Seen:
    common = f"--name=peer --filename={folder}/fio.dat --size={FILE_BYTES} --runtime={SECONDS} --time_based --direct=1"
    line = ["fio", *common.split(), *options.split(), "--output-format=json"]
    done = subprocess.run(line, check=True, capture_output=True, text=True, cwd=folder)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    side = job["read"] if job["read"]["total_ios"] else job["write"]
    cpu_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * side["runtime"] / 1000
    return Seen(side["iops"], cpu_s / side["total_ios"], side["clat_ns"]["percentile"]["99.000000"] * 1e-9)


ROWS = {
    "disk-random-32": (
        {"op": "read", "pattern": "random", "block_bytes": "4096", "depth": "32", "engine": "io_uring"},
        "--rw=randread --bs=4k --iodepth=32 --ioengine=io_uring",
    ),
    "disk-random-1": (
        {"op": "read", "pattern": "random", "block_bytes": "4096"},
        "--rw=randread --bs=4k --ioengine=psync",
    ),
    "disk-sequential-read": (
        {"op": "read", "pattern": "sequential", "block_bytes": "1048576"},
        "--rw=read --bs=1m --ioengine=psync",
    ),
    "disk-sequential-write": (
        {"op": "write", "pattern": "sequential", "block_bytes": "1048576", "depth": "8", "engine": "io_uring"},
        "--rw=write --bs=1m --iodepth=8 --ioengine=io_uring",
    ),
    "disk-fsync": (
        {"op": "write", "pattern": "sequential", "block_bytes": "4096", "durability": "fsync"},
        "--rw=write --bs=4k --ioengine=psync --direct=0 --fdatasync=1",
    ),
}


def row(name: str, folder: Path, turns: int) -> None:
    """One pair of jobs in turn; shows the rate, and for random reads the CPU time and the latency."""
    params, options = ROWS[name]
    pairs = [(ours(folder, params), fio(folder, options)) for _ in range(turns)]
    show(name, [a.rate / b.rate for a, b in pairs], f"{pairs[0][0].rate:>10.4g} {pairs[0][1].rate:>10.4g}")
    if "random" in name:
        show(f"{name}-cpu", [a.cpu_s / b.cpu_s for a, b in pairs])
        show(f"{name}-p99", [a.p99_s / b.p99_s for a, b in pairs])


def main() -> int:
    why = missing() or (None if shutil.which("fio") else "no fio: apt-get install fio")
    if why:
        print(why, file=sys.stderr)
        return 2
    given = next((Path(word) for word in sys.argv[1:] if Path(word).is_dir()), Path.cwd())
    print(f"{'':<34} {'ours':>10} {'fio':>10}   ours/fio, first figures in 1/s")
    with tempfile.TemporaryDirectory(dir=given) as folder:
        for name in ROWS:
            row(name, Path(folder), rounds(5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
