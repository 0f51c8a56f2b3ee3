"""A row of the promises: the tests of this folder with every server, those that take minutes to fetch too."""

from pathlib import Path

from tests.numbered import counted
from tests.rows import Row, show
from tests.servers.fetch import Absent, fetched
from tests.servers.kinds import KINDS


def storage_servers() -> Row:
    """Every server that can be had, asked by the providers' own clients."""
    for kind in KINDS.values():
        try:
            if kind.source:
                fetched(kind.fetched_as, kind.source, kind.item)
        except Absent as why:
            show([f"{kind.name} is left out: {why}"])
    ran = counted(str(Path(__file__).parent))
    show(ran.out.splitlines()[-60:] if ran.broken else [])
    return Row(
        "-",
        "the providers' own clients read, list and delete what they wrote at each storage server that can be had",
        ran.passed + ran.failed,
        ran.broken,
    )
