"""Rows of `make promises` on every emulated cloud: deaths, lost answers, look-alikes, machines that are others."""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tests.emulated.kinds import KINDS
from tests.rows import LONG, SEED, Row, folder, pool, show

if TYPE_CHECKING:
    from tests.app.cloud_walk import Toll

WALKS = (("run", "cleanup"), ("run", "resume"), ("resume", "cleanup"), ("cleanup", "cleanup"))
"""What dies, and what mends it."""


def _walked(cloud: str, verb: str, mend: str) -> "Toll":
    from tests.app.cloud_walk import walk

    with folder() as place:
        return walk(place, verb=verb, mend=mend, cloud=cloud)


def _tolled(numbers: str, statement: str, played: Callable[..., "Toll"], *cases: Sequence[Any]) -> Row:
    """A row of what dying, or being lied to, came to in each of these cases."""
    with pool(os.cpu_count() or 1) as some:
        tolls = list(some.map(played, *zip(*cases, strict=True)))
    wrong = [line for toll in tolls for line in toll.wrong]
    show(wrong)
    return Row(numbers, statement, sum(toll.deaths for toll in tolls), len(wrong))


def crash_walk(cloud: str) -> Callable[[], Row]:
    """Every passing of every named crash point, with a cloud and a machine of one's own."""

    def check() -> Row:
        statement = f"dead at every crash point of a study on {cloud} (emulated) and ssh: 0 left, 0 foreign touched"
        return _tolled("P1 P16", statement, _walked, *((cloud, *how) for how in WALKS))

    check.__name__ = f"crash_walk_{cloud}"
    return check


def _killed(n: int, seed: int, clouds: tuple[str, ...]) -> "Toll":
    from tests.app.cloud_walk import OWNED, kills, rented

    with folder() as place:
        return kills(place, n, seed, (*rented(*clouds), OWNED))


def cloud_kills() -> Row:
    """Controllers of a study on aws and on a machine of one's own, killed at random moments."""
    return _cloud_kills(("aws",), 3000 if LONG else 500, "killed at random on two clouds: 0 left, 0 foreign touched")


def all_clouds_kills() -> Row:
    """The same on all emulated clouds at once."""
    statement = f"killed at random on {len(KINDS)} emulated clouds at once: 0 left, 0 foreign touched"
    return _cloud_kills(tuple(KINDS), 1000 if LONG else 200, statement)


def _cloud_kills(clouds: tuple[str, ...], n: int, statement: str) -> Row:
    workers = os.cpu_count() or 1
    shares = [n // workers + (k < n % workers) for k in range(workers)]
    return _tolled("P1 P16", statement, _killed, *((share, SEED + k, clouds) for k, share in enumerate(shares)))


def _group_killed(n: int, seed: int, cloud: str) -> "Toll":
    from tests.app.group_kills import group_kills

    with folder() as place:
        return group_kills(place, n, seed, cloud)


def group_kills() -> Row:
    """Controllers of a study of four machines, killed at random moments at each cloud in which machines meet."""
    from tests.app.group_kills import clouds_of_groups

    some, n = clouds_of_groups(), 500 if LONG else 50
    cases = [(n // len(some) + (k < n % len(some)), SEED + k, cloud) for k, cloud in enumerate(some)]
    statement = f"four machines that measure between each other, killed at random at {len(some)} clouds: 0 left"
    return _tolled("P1 P16", statement, _group_killed, *cases)


def namespace_kills() -> Row:
    """The same with four namespaces of this host."""
    from tests.app.namespace_kills import Killer
    from tests.app.namespaces import why

    statement, n = "four namespaces that measure between each other, killed at random: 0 left", 500 if LONG else 50
    if why:
        return Row("P1", statement, 0, 0, left_out=why)
    with folder() as place:
        killer = Killer(place, SEED)
        code, said, length_s = killer.whole()
        toll = killer.kills(n, length_s)
    wrong = [*([f"whole: {code}: {said[-300:]}"] if code else []), *toll.wrong]
    show([*wrong, f"machines were there at {toll.held} of {toll.kills} kills"])
    return Row("P1", statement, toll.kills, len(wrong))


def _lost_at(cloud: str) -> "Toll":
    from tests.app.lost_walk import lost

    with folder() as place:
        return lost(place, cloud)


def answers_lost_everywhere() -> Row:
    """Each kind of fault at each call that makes something, at each emulated cloud."""
    statement = "an answer lost at any creating call of any emulated cloud is mended: 0 left, 0 foreign touched"
    return _tolled("P2", statement, _lost_at, *((cloud,) for cloud in KINDS))


def _impostors_at(cloud: str, n: int) -> "Toll":
    from tests.app.impostors import impostors

    with folder() as place:
        return impostors(place, cloud, n)


def wrong_hosts_everywhere() -> Row:
    """Rented machines of each emulated cloud that show another host key."""
    n = 200 if LONG else 50
    statement = "rented machines with another host key are refused at every emulated cloud, and ended"
    return _tolled("P23", statement, _impostors_at, *((cloud, n) for cloud in KINDS))


def swept_everywhere() -> Row:
    """A sweep of all emulated clouds at once, from an empty home, among look-alikes."""
    from tests.app.test_sweep_clouds import swept_amid

    n = 400 if LONG else 200
    with folder() as place:
        wrong = swept_amid(place, tuple(KINDS), n)
    show(wrong)
    return Row("P6 P7", f"{n} look-alikes survive at each of {len(KINDS)} emulated clouds, and leftovers go",
               n * len(KINDS), len(wrong))  # fmt: skip
