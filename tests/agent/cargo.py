"""The agent's own numbered tests, run by cargo and counted."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_AGENT = Path(__file__).parents[2] / "agent"
_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_SKIPPED = re.compile(r"^skipped: .*$", re.MULTILINE)


@dataclass(frozen=True)
class Tests:
    """What became of some tests of the agent: how many ran, how many failed, and why others were left out."""

    ran: int
    failed: int
    left_out: tuple[str, ...]
    out: str


def agent_tests(*numbers: str, cases: int | None = None) -> Tests:
    """Run those whose names hold one of the promises' numbers; `cases` is how much hostile input each tries."""
    done = subprocess.run(
        ["cargo", "test", "--release", "--locked", "--no-fail-fast", "--", *numbers, "--show-output"],
        cwd=_AGENT, env={**os.environ, **({"CLOUDCMP_CASES": str(cases)} if cases else {})},
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    return counted(done.returncode, done.stdout + done.stderr)


def counted(code: int, out: str) -> Tests:
    """What a run printed, counted; one that ended badly has failed once at least."""
    results = [tuple(map(int, found)) for found in _RESULT.findall(out)]
    skipped = tuple(_SKIPPED.findall(out))
    failed = sum(result[1] for result in results) or int(code != 0)
    ran = sum(result[0] + result[1] for result in results) - len(skipped)
    ignored = sum(result[2] for result in results)
    return Tests(ran, failed, skipped + (f"skipped: {ignored} are ignored",) * bool(ignored), out)
