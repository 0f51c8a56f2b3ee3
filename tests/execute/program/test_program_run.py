"""Programs that run here, and the counters of the processor where it gives them."""

import sys
from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.execute.program.hardware_counters import EVENTS, Perf, find_perf, parse_perf
from cloudcmp.execute.program.run import run_program
from cloudcmp.model.demands import Counter, ProgramRun

NO_PERF = Perf("", (), ())
WRITTEN = 3_000_000


def _python(code: str) -> ProgramRun:
    return run_program([sys.executable, "-S", "-c", code], NO_PERF)


def test_processor_time_and_calls_of_children_count(tmp_path: Path) -> None:
    target = tmp_path / "file"
    inner = (f"import os; f=open({str(target)!r},'wb'); f.write(b'x'*{WRITTEN}); f.flush(); os.fsync(f.fileno()); "
             "sum(range(4000000))")  # fmt: skip
    run = _python(f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {inner!r}], check=True)")
    found = dict(run.counters)
    assert run.code == 0
    assert found[Counter.USER] + found[Counter.SYSTEM] > 0
    assert found[Counter.WRITTEN] >= WRITTEN or Counter.WRITTEN not in found
    assert found[Counter.ELAPSED] >= found[Counter.BLOCKED]
    assert sum(share for _, share in run.parallel) == pytest.approx(1.0)


def test_a_sleep_is_blocked_time() -> None:
    run = _python("import time; time.sleep(0.3)")
    assert 0.2 < dict(run.counters)[Counter.BLOCKED] <= dict(run.counters)[Counter.ELAPSED]


def test_memory_is_the_peak() -> None:
    run = _python("import time; a = bytearray(100_000_000); time.sleep(0.2)")
    assert dict(run.counters)[Counter.MEMORY] >= 100_000_000


def test_an_exit_code_and_a_signal_are_told() -> None:
    assert _python("raise SystemExit(3)").code == 3
    assert _python("import os; os.kill(os.getpid(), 9)").code == -9


def test_what_cannot_start_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="cannot be started: No such file"):
        run_program(["./no-such-program"], NO_PERF)


def test_output_of_perf_is_read() -> None:
    text = ("# started on Thu\n\n1234567;;instructions:u;1000;100.00;;\n<not supported>;;cycles:u;0;100.00;;\n"
            "<not counted>;;LLC-load-misses;0;0.00;;\n")  # fmt: skip
    assert parse_perf(text) == {Counter.INSTRUCTIONS: 1234567.0}


def test_a_perf_that_counts_stands_around_the_program(tmp_path: Path) -> None:
    """A stand-in for perf, because this machine may give no counters."""
    perf = tmp_path / "perf"
    counted = "".join(f"{at}00;;{name};1;100;;\\n" for at, name in enumerate(EVENTS, 1))
    perf.write_text(
        f'#!/bin/sh\nout=/dev/stderr\nwhile [ "$1" != "--" ]; do [ "$1" = "-o" ] && out=$2; shift; done\nshift\n'
        f'"$@"; code=$?; printf "{counted}" > $out; exit $code\n'
    )
    perf.chmod(0o755)
    found = find_perf(str(perf))
    assert (found.events, found.missing) == (tuple(EVENTS), ())
    run = run_program([sys.executable, "-S", "-c", "pass"], found)
    assert {Counter.INSTRUCTIONS: 100.0, Counter.CYCLES: 200.0, Counter.CACHE_MISSES: 300.0}.items() <= dict(
        run.counters
    ).items()


def test_no_perf_is_said() -> None:
    (missing,) = find_perf("no-such-perf").missing
    assert (missing.counters, missing.why) == (tuple(EVENTS.values()), "perf is not installed")
