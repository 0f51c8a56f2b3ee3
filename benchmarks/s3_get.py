"""The agent's client of services beside wrk, on one nginx over loopback, interleaved.

nginx serves small files as an S3 service without signatures would; the agent signs each request, compares each body
with what was written, and keeps a histogram of every latency. wrk does none of that. Both run on the first processor
that this process may use, nginx on the last. Needs wrk and nginx (Debian: apt-get install wrk nginx-light).

usage: .venv/bin/python benchmarks/s3_get.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' client of the agent

from tests.agent.service_trials import Place, run

from agent import AGENT, cpus, missing, rounds, show

SECONDS = 1
SMALL, LARGE, LARGEST = 1024, 10 * 2**20, 100 * 2**20
PORT = 9191
BUCKET = "cloudcmp-speed"
CONFIG = """\
daemon off; worker_processes 1; worker_cpu_affinity {mask}; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  open_file_cache max=1000;
  server {{
    listen 127.0.0.1:{port}; root {folder}/data; client_max_body_size 256m;
    location / {{ dav_methods PUT DELETE; create_full_put_path on; }}
  }}
}}
"""
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@contextlib.contextmanager
def nginx() -> Iterator[None]:
    """A server on the last processor, in a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "data").mkdir()
        mask = "1" + "0" * cpus()[-1]
        (folder / "nginx.conf").write_text(
            CONFIG.format(folder=folder, port=PORT, mask=mask) if os.getuid() else
            "user root;\n" + CONFIG.format(folder=folder, port=PORT, mask=mask)
        )  # fmt: skip
        with subprocess.Popen([shutil.which("nginx") or "nginx", "-p", place, "-c", folder / "nginx.conf"]) as server:
            try:
                time.sleep(0.5)
                yield
            finally:
                server.terminate()


def ours(at_once: int, size: int) -> tuple[float, float, float]:
    """Operations a second, the 99th percentile of the latency (s), and CPU seconds an operation."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    params = {"op": "download", "size_bytes": str(size), "objects": "1", "duration_s": str(SECONDS)}
    ran = run(AGENT, Place("s3", PORT, BUCKET, "AKIA0", "secret"), "blob", **params, concurrency=str(at_once))
    if ran.outcome != "ok":
        raise RuntimeError(ran.error)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rates = ran.values["blob_bytes_per_s"]
    rate = sum(rates) / len(rates) / size
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, ran.percentile_s("blob_latency_s", 99.0), used_s / (rate * SECONDS)


def wrk(at_once: int, size: int) -> tuple[float, float, float]:
    """The same of wrk."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["taskset", "-c", str(cpus()[0]), "wrk", "-t1", f"-c{at_once}", f"-d{SECONDS}s", "--latency"]
    url = f"http://127.0.0.1:{PORT}/{BUCKET}/b/{size}/000000"
    out = subprocess.run([*words, url], capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "Non-2xx" in out:
        raise RuntimeError(f"wrk got other answers than files: {out}")
    rate = float(re.findall(r"Requests/sec:\s+([\d.]+)", out)[0])
    value, unit = re.findall(r"99%\s+([\d.]+)(us|ms|s)", out)[0]
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, float(value) * _UNITS[unit], used_s / (rate * SECONDS)


def main() -> int:
    why = missing() or next(
        (f"no {tool}; apt-get install wrk nginx-light" for tool in ("wrk", "nginx") if not shutil.which(tool)), None
    )
    if why:
        print(why)
        return 1
    with nginx():
        for size in (SMALL, LARGE, LARGEST):
            with contextlib.suppress(RuntimeError):  # it writes the file; nginx answers 201 where S3 answers 200
                ours(1, size)
        show("http-memory", memory())
        for size, name, lanes in ((SMALL, "", (1, 8, 32)), (LARGE, "-large", (1, 8))):
            for at_once in lanes:
                seen = [(ours(at_once, size), wrk(at_once, size)) for _ in range(rounds(5))]
                for number, what in ((0, "rate"), (1, "p99"), (2, "cpu")):
                    ratios = [mine[number] / theirs[number] for mine, theirs in seen]
                    show(f"http{name}-{what}-{at_once}", ratios)
    return 0


def memory() -> list[float]:
    """The agent's peak memory with 8 blobs of 100 MiB in flight, divided by that with 8 blobs of 10 MiB."""
    seen = []
    for _ in range(rounds(5)):
        peaks = []
        for size in (LARGE, LARGEST):
            words = [sys.executable, __file__, "--peak", "8", str(size)]
            peaks.append(int(subprocess.run(words, capture_output=True, text=True, check=True).stdout))
        seen.append(peaks[1] / peaks[0])
    return seen


def peak(at_once: int, size: int) -> None:
    """Print the peak memory of an agent that downloads, in KiB.

    The kernel's own count of a child begins with the memory of what forked it: the agent's is read while it runs.
    """
    seen, ended = [0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for children in Path("/proc/self/task").glob("*/children"):
                for child in children.read_text().split():
                    with contextlib.suppress(OSError):
                        status = Path(f"/proc/{child}/status").read_text()
                        if status.startswith("Name:\tcloudcmp-agent"):
                            seen.append(int(re.findall(r"VmHWM:\s+(\d+)", status)[0]))

    watching = threading.Thread(target=watch)
    watching.start()
    ours(at_once, size)
    ended.set()
    watching.join()
    print(max(seen))


if __name__ == "__main__":
    if "--peak" in sys.argv:
        peak(*map(int, sys.argv[-2:]))
        sys.exit(0)
    sys.exit(main())
