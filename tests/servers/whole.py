"""Rows of the promises: every storage server, and studies of a service that are killed at random moments."""

from pathlib import Path

from tests.app.storage import kills
from tests.numbered import counted
from tests.rows import LONG, SEED, Row, folder, show
from tests.servers.fetch import Absent, fetched
from tests.servers.kinds import KINDS

HERE = Path(__file__).parent
ROOT = HERE.parent


def storage_servers() -> Row:
    """Every server that can be had, asked by the providers' own clients, by our drivers and by the agent."""
    for kind in KINDS.values():
        try:
            if kind.source:
                fetched(kind.fetched_as, kind.source, kind.item)
        except Absent as why:
            show([f"{kind.name} is left out: {why}"])
    asking = sorted(path for path in ROOT.rglob("test_*.py") if "from tests.servers" in path.read_text("utf-8"))
    ran = counted(str(HERE), *(str(path) for path in asking if HERE not in path.parents))
    show(ran.out.splitlines()[-60:] if ran.broken else [])
    return Row(
        "-",
        "the providers' own clients, our drivers and the agent read, list and delete what they and each other wrote at "
        "each storage server that can be had",
        ran.passed + ran.failed,
        ran.broken,
    )


def storage_kills() -> Row:
    """Studies of an S3 service killed at random moments, then cleaned up, or swept from an empty home."""
    n = 1000 if LONG else 100
    with folder() as place:
        cleaned = kills(place / "cleaned", n, SEED, sweeps=False)
        swept = kills(place / "swept", n // 5, SEED + 1, sweeps=True)
    wrong = [*cleaned.wrong, *swept.wrong]
    show(wrong[:20])
    return Row("P1 P11", "a killed study leaves no bucket after cleanup, nor after a sweep from an empty home; "
               "look-alikes survive", cleaned.deaths + swept.deaths, len(wrong))  # fmt: skip
