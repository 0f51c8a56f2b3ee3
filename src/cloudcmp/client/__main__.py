"""Measures one trial: `python -m cloudcmp.client`, with the job line on standard input."""

import logging
import os
import sys
import time
import warnings

from cloudcmp.client import guard
from cloudcmp.client.command import end_all
from cloudcmp.client.failures import Ended, failed
from cloudcmp.client.job import parse
from cloudcmp.client.output import Output
from cloudcmp.client.probes import PROBES
from cloudcmp.client.trial import Trial
from cloudcmp.model.untrusted_text import one_line

_LINE_BYTES = 64 * 1024


def _read_line() -> bytes:
    """The first line of the input, without reading far beyond it."""
    line = b""
    while b"\n" not in line:
        piece = os.read(0, 4096)
        if not piece or len(line) >= _LINE_BYTES:
            raise failed("bad job: no whole line came", "send one job line and keep stdin open")
        line += piece
    return line.partition(b"\n")[0]


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> int:
    """Reads the job, measures, writes the end; returns the exit code."""
    # A library's log may hold what was sent.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    out = Output(_write)
    out.hello()
    end: Ended | None = None
    try:
        job = parse(_read_line())
        began_s = time.monotonic()
        out.params = job.params
        lease_s = None if job.lease_s is None else began_s + job.lease_s
        os.sched_setaffinity(0, job.cpus)  # before any thread, so that all have it
        guard.watch(out, began_s + job.deadline_s, lease_s)
        PROBES[job.probe](Trial(job, out, began_s))
    except Ended as ended:
        end = ended
    except Exception as error:
        end = failed(one_line(f"{type(error).__name__}: {error}"), "report this")
    out.finish(end)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    end_all()
    os._exit(code)  # threads of libraries must not keep the process alive
