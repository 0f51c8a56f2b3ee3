"""Rows of the promises: every storage server, and studies of storage services that are killed at random moments."""

from collections.abc import Iterable
from pathlib import Path

from tests.app.storage_kills import Killer
from tests.numbered import counted
from tests.rows import LONG, SEED, Row, folder, show
from tests.servers.fetch import Absent, fetched
from tests.servers.kinds import KINDS, Kind
from tests.servers.services import SERVERS, standing

HERE = Path(__file__).parent
ROOT = HERE.parent


def _fetch(kinds: Iterable[Kind]) -> None:
    """Fetch servers, and show why some cannot be had."""
    for kind in kinds:
        try:
            if kind.source:
                fetched(kind.fetched_as, kind.source, kind.item)
        except Absent as why:
            show([f"{kind.name} is left out: {why}"])


def storage_servers() -> Row:
    """Every server that can be had, asked by the providers' own clients, by our drivers and by the agent."""
    _fetch(KINDS.values())
    asking = sorted(path for path in ROOT.rglob("test_*.py") if "from tests.servers" in path.read_text("utf-8"))
    ran = counted(str(HERE), *(str(path) for path in asking if HERE not in path.parents), CLOUDCMP_WHOLE="1")
    show(ran.out.splitlines()[-60:] if ran.broken else [])
    return Row(
        "-",
        "the providers' own clients, our drivers and the agent read, list and delete what they and each other wrote at "
        "each storage server that can be had",
        ran.passed + ran.failed,
        ran.broken,
    )


def storage_kills() -> Row:
    """Studies of every storage service killed at random moments, then cleaned up, or swept from an empty home."""
    n = 1000 if LONG else 100
    _fetch(KINDS[name] for name in SERVERS if name in KINDS)
    with folder() as place, standing() as there:
        killer = Killer(place, there, SEED)
        wrong = killer.whole()
        cleaned, swept = killer.kills(n, sweeps=False), killer.kills(n // 5, sweeps=True)
        touched = [f"{one.store}: {name} was touched" for one in there.services for name in one.touched()]
    show([*there.absent, *cleaned.lines("cleanup"), *swept.lines("a sweep from an empty home")])
    wrong += [*cleaned.wrong, *swept.wrong, *touched]
    whole = sum(len(one.look_alikes) for one in there.services) - len(touched)
    show([*wrong[:20], f"{whole} look-alikes in {len(there.services)} services are whole"])
    return Row("P1 P11", f"a killed study leaves no data set in {len(there.services)} services after cleanup, nor "
               "after a sweep from an empty home; look-alikes survive", cleaned.deaths + swept.deaths,
               len(wrong))  # fmt: skip
