"""File operations in records: the agent beside IOzone, and beside fio as a second witness, interleaved.

IOzone is in no free package (Debian has it in non-free as iozone3): name your own as IOZONE=/path/to/iozone, else it is
looked for on the path. fio is Debian's. All three move the same bytes in the same records with one thread; each makes
what it reads before its clock starts, and finds it in the page cache where it is `cached`; none is held on one
processor, because one that takes the disk's interrupts as well may be half as fast.

usage: .venv/bin/python benchmarks/iozone.py [FOLDER] [ROUNDS] [--record]        (a temporary folder here, 7 rounds)
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent import missing, rounds, run_agent, side_by_side

IOZONE = shutil.which(os.environ.get("IOZONE", "iozone"))
MIB = 2**20
# The test that IOzone is asked for beside its first write, and the column after file and record size that it fills.
TESTS = {
    "write": (None, 0), "rewrite": (None, 1), "read": (1, 2), "reread": (1, 3), "random_read": (2, 2),
    "random_write": (2, 3), "backward_read": (3, 2), "record_rewrite": (4, 2), "stride_read": (5, 2),
}  # fmt: skip
FLAGS = {"cached": [], "osync": ["-o"], "fsync": ["-e"], "direct": ["-I"]}
FIO = {"write": "write", "rewrite": "write", "read": "read", "random_read": "randread", "random_write": "randwrite"}
FIO_FLAGS = {"cached": "", "osync": "--sync=1", "fsync": "--end_fsync=1", "direct": "--direct=1"}
# name: operation, durability, file, record; a name is one of the goals with the peer's name after it.
ROWS = {
    **{f"iozone-{op}": (op, "cached", 256 * MIB, 65536) for op in TESTS},
    "iozone-osync": ("random_write", "osync", MIB, 4096),
    "iozone-direct": ("read", "direct", 256 * MIB, MIB),
}
_IOZONE_BYTES = 1024


def ours(folder: Path, row: tuple[str, str, int, int]) -> float:
    op, durability, size, record = row
    params = {"op": op, "durability": durability, "file_bytes": str(size), "record_bytes": str(record)}
    return run_agent("iozone", params, folder)[0]["iozone_bytes_per_s"][0]


def iozone(folder: Path, row: tuple[str, str, int, int]) -> float:
    """IOzone's own figure, which it gives in units of 1024 B/s."""
    op, durability, size, record = row
    test, column = TESTS[op]
    tests = ["-i", "0", *([] if test is None else ["-i", str(test)])]
    sizes = ["-s", f"{size // 1024}k", "-r", f"{record // 1024}k", "-f", str(folder / "iozone.tmp")]
    words = [str(IOZONE), *sizes, *tests, *FLAGS[durability]]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder)
    lines = map(str.split, done.stdout.splitlines())
    figures = next(line[2:] for line in lines if line[:2] == [str(size // 1024), str(record // 1024)])
    return float(figures[column]) * _IOZONE_BYTES


def fio(folder: Path, row: tuple[str, str, int, int]) -> float:
    op, durability, size, record = row
    file = folder / "fio.dat"
    if op == "write":
        file.unlink(missing_ok=True)
    else:
        piece = os.urandom(record)  # in records, as the others make theirs: large pieces make small writes slow
        with file.open("wb", buffering=0) as made:
            for _ in range(size // record):
                made.write(piece)
            os.fsync(made.fileno())
    common = (
        f"--name=peer --filename={file} --size={size} --bs={record} --ioengine=psync --gtod_reduce=1 --invalidate=0"
    )
    same = f"--fallocate=none --overwrite=0 --allow_file_create=1 --rw={FIO[op]}"
    opened = ["--create_on_open=1"] if op == "write" else []
    words = ["fio", *common.split(), *same.split(), *FIO_FLAGS[durability].split(), *opened, "--output-format=json"]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder)
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    side = job["read"] if "read" in op else job["write"]
    return float(side["io_bytes"]) / (float(side["runtime"]) * 1e-3)


def main() -> int:
    fio_there = shutil.which("fio") is not None
    why = missing() or (None if IOZONE or fio_there else "no peer: set IOZONE=/path/to/iozone, or apt-get install fio")
    if why:
        print(why, file=sys.stderr)
        return 2
    if IOZONE is None:
        print("no iozone: set IOZONE=/path/to/iozone; fio alone is the peer", file=sys.stderr)
    given = next((Path(word) for word in sys.argv[1:] if Path(word).is_dir()), Path.cwd())
    print(f"{'':<34} {'ours':>10} {'peer':>10}   ours/peer, B/s")
    with tempfile.TemporaryDirectory(dir=given) as name:
        folder = Path(name)
        for title, row in ROWS.items():
            if IOZONE:
                side_by_side(title, lambda row=row: ours(folder, row), lambda row=row: iozone(folder, row), rounds(7))
            if fio_there and row[0] in FIO:
                other = f"{title}-fio"
                side_by_side(other, lambda row=row: ours(folder, row), lambda row=row: fio(folder, row), rounds(7))
    return 0


if __name__ == "__main__":
    sys.exit(main())
