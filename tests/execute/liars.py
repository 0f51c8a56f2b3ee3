"""Machines reached by SSH whose agent, clock or boot id is not what it should be.

The copied agent is the real one; what runs in its place is put in front of it on the machine's own PATH, as whoever
owns a machine could.
"""

import sys
from pathlib import Path

from tests.execute.test_hostile import HONEST

_TIMEOUT = """#!/bin/sh
case "$*" in
*cloudcmp-agent*) exec "{python}" -IS "{script}" ;;
*) exec /usr/bin/timeout "$@" ;;
esac
"""
_CAT = """#!/bin/sh
case "$*" in
*{file}) exec "{python}" -IS "{script}" ;;
*) exec /bin/cat "$@" ;;
esac
"""


def lie(home: Path, body: str) -> None:
    """Let a script run wherever the agent should, from the next trial on; the helpers of `HONEST` are there."""
    _instead(home, "agent.py", HONEST + body, "timeout", _TIMEOUT)


def lie_about(home: Path, file: str, body: str) -> None:
    """Let a script print what `cat` of a file in /proc should."""
    _instead(home, f"{Path(file).name}.py", body, "cat", _CAT.replace("{file}", file))


def _instead(home: Path, name: str, body: str, tool: str, text: str) -> None:
    place = home / ".machine"
    script, front = place / name, place / "bin" / tool
    script.write_text(body)
    front.parent.mkdir(parents=True, exist_ok=True)
    front.write_text(text.format(python=sys.executable, script=script))
    front.chmod(0o755)
