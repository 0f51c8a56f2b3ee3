"""Lists the servers, fetches them, or runs one until Ctrl-C.

python -m tests.servers                  the table
python -m tests.servers fetch NAME...    fetch them; `light` are those that every test run needs, `all` are all
python -m tests.servers NAME             run one: its endpoints and key go to stdout
"""

import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.servers.fetch import TOOLS, Absent, fetched, programs_of
from tests.servers.kinds import KINDS, Kind
from tests.servers.serving import serving


def _names(kind: Kind) -> tuple[str, ...]:
    return (kind.name, "all") if kind.heavy else (kind.name, "all", "light")


def _fetch(name: str, fetch: Callable[[], object]) -> None:
    """Fetch one, and say how long it took or why it cannot be had."""
    began = time.monotonic()
    try:
        fetch()
        print(f"{name}: there after {time.monotonic() - began:.0f} s", flush=True)
    except Absent as absent:
        print(f"{name}: {absent}", flush=True)


def main(words: list[str]) -> int:
    """Do what the words ask."""
    try:
        if not words:
            for kind in KINDS.values():
                weight, spoken = "heavy" if kind.heavy else "light", ", ".join(kind.protocols)
                print(f"{kind.name:10} {kind.version:8} {weight:6} {spoken}; keys checked: {kind.checks}")
            for name, version in TOOLS.items():
                print(f"{name:10} {version:8} light  a command that is measured")
        elif words[0] == "fetch":
            for word in words[1:]:
                for kind in [each for each in KINDS.values() if word in _names(each)]:
                    _fetch(
                        kind.name, partial(fetched, kind.fetched_as, kind.source, kind.item) if kind.source else Path
                    )
                for tool in TOOLS:
                    if word in {tool, "all", "light"}:
                        _fetch(tool, partial(programs_of, tool))
        else:
            with serving(words[0]) as one:
                print(*(f"{protocol} {url}" for protocol, url in one.endpoints.items()), sep="\n")
                print(f"{one.access} {one.secret}", flush=True)
                signal.pause()
    except (Absent, KeyError) as missing:
        print(f"tests.servers: {missing}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
