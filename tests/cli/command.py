"""The real command: in a forked process, or in one of its own from the beginning."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.app.warm import warmth

COMMAND = Path(sys.executable).with_name("cloudcmp")


@dataclass(frozen=True)
class Said:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


def cloudcmp(*arguments: str | Path, cwd: Path | None = None, within_s: float = 120.0, **environ: str) -> Said:
    """Run the command with a terminal of 80 columns, in a process forked from one that has imported everything.

    One that takes much longer than it may is ended. What depends on how a process begins is for `installed`.
    """
    return forked(arguments, {**os.environ, "COLUMNS": "80", **environ}, cwd or Path.cwd(), within_s)


def forked(
    words: Sequence[str | Path], environ: Mapping[str, str], cwd: Path, within_s: float = 120.0, prepare: str = "",
    waits: Mapping[str, float] | None = None,
) -> Said:  # fmt: skip
    """The same with this environment and no other; `prepare` and `waits` as in warm.py."""
    return Said(*warmth().run(words, environ, cwd, within_s, prepare, waits))


def installed(*arguments: str | Path, cwd: Path | None = None, within_s: float = 120.0, **environ: str) -> Said:
    """Run the installed command from its beginning, as a user does."""
    env = {**os.environ, "COLUMNS": "80", **environ}
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True, timeout=within_s, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)
