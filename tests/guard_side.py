"""One side of tests/guard.py: runs simulated studies with the source that PYTHONPATH names.

It is run as a script, and imports nothing of the tests, so that one text drives the old and the new source. Commands
run in forked processes: their imports are paid once. Standard input has a task a line, as JSON; standard output gets a
line for each when its files are written: the study's name, what went wrong, if anything, and the processor time that it
took in seconds.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MEASURED = "compact.after_sweep:1"
"""All is measured here; the report, which nobody compares, takes longer than the study."""
_DIGITS = 9


def import_all(more: Sequence[str]) -> None:
    """Import the whole product, whatever its modules are called, and more: for a process that forks commands."""
    import cloudcmp

    for module in pkgutil.walk_packages(cloudcmp.__path__, "cloudcmp."):
        if "__main__" not in module.name:
            with contextlib.suppress(ImportError):  # drivers whose client libraries are not installed
                importlib.import_module(module.name)
    for name in more:
        importlib.import_module(name)
    gc.freeze()  # what forked processes only read stays shared


def _command(*words: str, out: str = os.devnull, crash_at: str = "") -> int:
    """The exit code of the command in a process of its own; -9 where it was killed at the crash point."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(os.open("errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
    if crash_at:
        os.environ["CLOUDCMP_CRASH_AT"] = crash_at
    sys.argv = ["cloudcmp", *words]
    code = 70
    try:
        importlib.import_module("cloudcmp.cli.entry").main()
    except SystemExit as done:
        code = int(done.code or 0)
    finally:
        os._exit(code)


def _errors() -> str:
    lines = Path("errors").read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1] if lines else "no word why"


def _measure(name: str, words: Sequence[str], kills: Sequence[str]) -> str:
    """Run a study to its end, killed at each of the crash points in turn; what went wrong, if anything."""
    for point in kills:
        code = _command(*words, "--json", crash_at=point)
        if code != -signal.SIGKILL:
            return f"not killed at {point}: exit code {code}: {_errors()}"
        if (Path(name) / "study.db").is_file():
            words = ("run", "--resume", name)
    code = _command(*words, "--json", crash_at=MEASURED)
    return "" if code in (0, -signal.SIGKILL) else f"exit code {code}: {_errors()}"


def _figure(value: Any) -> Any:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _field(row: dict[str, Any], *names: str) -> Any:
    """The value under the first of these names that the row has: a name that changes gets its new one beside it."""
    return next((row[name] for name in names if name in row), None)


def verdicts(compared: dict[str, Any]) -> list[str]:
    """A line for each comparison and each winner of `compare --json`, with figures of nine digits."""
    ids = {_field(one, "index"): _field(one, "id") for one in compared["candidates"]}
    lines = []
    for row in compared["comparisons"]:
        bounds = _field(row, "bounds") or {}
        figures = (_field(row, "p_adjusted"), _field(bounds, "low"), _field(bounds, "high"), _field(row, "effect"))
        pair = f"{ids[_field(row, 'a')]} against {ids[_field(row, 'b')]}"
        lines.append(f"{row['cell']}: {pair}: {row['verdict']} {[_figure(one) for one in figures]}")
    for row in compared["winners"]:
        lines.append(f"{row['cell']}: best are {[ids[one] for one in _field(row, 'winners')]}")
    return sorted(lines)


def _play(name: str, words: Sequence[str], kills: Sequence[str], judged: bool) -> str:
    """Leave a study's table and verdicts as `name`.csv and `name`.txt; what went wrong, if anything."""
    if wrong := _measure(name, [*words, "--out", name], kills):
        return wrong
    if _command("export", name, "--out", f"{name}.csv") != 0:
        return f"no export: {_errors()}"
    if not judged:
        return ""
    if _command("compare", name, "--json", out="compared") != 0:
        return f"no verdicts: {_errors()}"
    told = json.loads(Path("compared").read_text(encoding="utf-8"))["data"]
    Path(f"{name}.txt").write_text("\n".join(verdicts(told)), encoding="utf-8")
    return ""


def main() -> None:
    """Play tasks in this folder until there are no more."""
    import_all(["duckdb", "pyarrow.parquet", "scipy.special"])
    for line in sys.stdin:
        task = json.loads(line)
        before = os.times()
        wrong = _play(task["name"], task["words"], task["kills"], task["judged"])
        spent = [now - then for now, then in zip(os.times(), before, strict=True)]
        print(json.dumps([task["name"], wrong, sum(spent[:4])]), flush=True)
    os._exit(0)  # what is frozen would be called leaked


if __name__ == "__main__":
    main()
