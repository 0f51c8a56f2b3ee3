"""The promises at full length: `make promises` prints a line for each with its n, failures, seed and time.

Each row is one that `make test` runs a slice of. The exit code is 1 when a promise was broken, or a row tried nothing
and does not say why. Which day a row last ran, and how it ended, is kept in promises_ran.json; `--last` prints it.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import cloud_rows, service_rows
from tests.app.planted import false_finds, missed
from tests.app.test_kills import killed
from tests.app.test_seed_studies import SEEDS, short
from tests.emulated.kinds import KINDS
from tests.keyboard import heed
from tests.numbered import numbered
from tests.rows import LONG, SEED, Row, folder, pool, record, remember, show
from tests.servers.whole import storage_kills, storage_servers
from tests.slices import wholes as played_whole

__all__ = ["ROWS", "Row"]


def _missed(seed: int) -> bool:
    with folder() as place:
        return bool(missed(seed, place / "demo"))


def _false(seed: int) -> bool:
    with folder() as place:
        return bool(false_finds(seed, place / "tied"))


def _seeds(check: Callable[[int], bool], n: int) -> int:
    with pool(os.cpu_count() or 1) as some:
        return sum(some.map(check, range(1, n + 1)))


def kills() -> Row:
    """Controllers killed at random moments."""
    n = 3000 if LONG else 200
    with tempfile.TemporaryDirectory() as folder:
        toll = killed(Path(folder), n, SEED)
    return Row("P16 P20", "no acknowledged trial is lost, and the export is the same", toll.kills,
               toll.lost + toll.changed)  # fmt: skip


def winners() -> Row:
    """Planted winners, over seeds of the demo."""
    n = 1000 if LONG else 100
    return Row("-", "the demo names every planted winner", n, _seeds(_missed, n))


def seed_studies() -> Row:
    """Every published seed's study, whole in its short form, by the real agent."""
    tried, wrong = 0, []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="cloudcmp-") as place:  # on a disk, which some of them measure
            trials, ends = short(seed, Path(place))
        tried, wrong = tried + trials, wrong + ends
    show([str(one) for one in wrong[:60]])
    return Row("-", "every trial of the five seeds' studies, short and on local, is ok", tried, len(wrong))


def ties() -> Row:
    """Fully tied clouds, over seeds."""
    n = 1000 if LONG else 100
    return Row("P31", "tied clouds show no better one, but in a tenth of studies", n, _seeds(_false, n), n // 10)


def looks() -> Row:
    """Studies of two equals that are looked at up to ten times, until one seems better."""
    from tests.compare.peeking import wrong

    n = 100_000 if LONG else 10_000
    found = _seeded(wrong, n)
    what = "equals that are looked at ten times are told apart in a twentieth of studies at most"
    return Row("-", what, n, len(found), n // 20)


def selection() -> Row:
    """Simulated markets of six clouds, of each kind: the kind in which a certified cloud is wrong most often counts."""
    from tests.stats.certified import wrong_in
    from tests.stats.markets import KINDS

    n = 10_000
    with pool(os.cpu_count() or 1) as some:
        found = dict(zip(KINDS, some.map(wrong_in, KINDS, [n] * len(KINDS), [SEED] * len(KINDS)), strict=True))
    show(f"{kind}: {wrong} of {named} certified are beyond the tolerance" for kind, (wrong, named) in found.items())
    wrong, named = max(found.values(), key=lambda one: one[0] / max(1, one[1]))
    what = f"of {n} markets of each of {len(KINDS)} kinds, a twentieth of the certified clouds is wrong at most"
    return Row("-", what, named, wrong, named // 20)


def slices() -> Row:
    """All tests that carry a promise's number and have no row of their own."""
    ran = numbered()
    show(ran.out.splitlines()[-60:])
    return Row("all", f"tests that carry a promise's number ({ran.left_out} left out, as said above)",
               ran.passed + ran.failed, ran.broken)  # fmt: skip


def wholes() -> Row:
    """The tests of which a slice runs each day, with all their cases; the agent's with what ships, optimised."""
    ran, agents = played_whole(), _agent("-", "")
    show(ran.out.splitlines()[-60:] if ran.broken else [])
    statement = "tests that try a slice of their cases each day, with all of them; the agent's, optimised"
    return Row("-", statement, ran.passed + ran.failed + agents.n, ran.broken + agents.failed)


def _seeded(played: Callable[[int, int], list[Any]], n: int, workers: int = os.cpu_count() or 1) -> list[Any]:
    """What was broken in n cases, played by so many processes."""
    shares = [n // workers + (k < n % workers) for k in range(workers)]
    with pool(workers) as some:
        parts = some.map(played, shares, [SEED + k for k in range(workers)])
        return [one for part in parts for one in part]


def simulated_histories() -> Row:
    """Lost answers, stale lists, false "gone", crashes, suspends, prices and times to live at random."""
    from tests.provision.history import histories

    n = 100_000 if LONG else 10_000
    broken = _seeded(histories, n)
    return Row("P2 P3 P4 P12", "no lease is untracked or forgotten, no budget is passed", n, len(broken))


def _billed(n: int, seed: int) -> list[str]:
    from tests.plan.bills import bills, wrong

    found = []
    for faults in (False, True):
        with folder() as place:
            found += wrong(bills(n // 2, seed, place, faults=faults), faults=faults)
    return found


def quotes() -> Row:
    """Simulated studies, billed by their ledgers; half of them with faults."""
    n = 2000 if LONG else 120
    wrong = _seeded(_billed, n)
    show(wrong)
    return Row("P14", "no bill is above the worst case; without faults it is as expected, within a tenth", n,
               len(wrong))  # fmt: skip


def _lived(n: int, seed: int) -> list[str]:
    from tests.cost.lives import wrong

    return wrong(n, seed)


def bills() -> Row:
    """Studies on markets at random, lived and billed by a second count; half of them with faults."""
    n = 100_000 if LONG else 10_000
    wrong = _seeded(_lived, n)
    show(wrong[:20])
    return Row("P12 P14", "no bill is above the worst case, nor above what the budget counts; without faults it is as "
               "expected, within a tenth; a maximum bounds spot prices that move, or the quote says that none does", n,
               len(wrong))  # fmt: skip


def _lost(n: int, seed: int) -> list[Any]:
    from tests.provider.test_aws_lost import lost_answers

    return lost_answers(n, seed)


def strangers_folders() -> Row:
    """Forged study folders, acted on by every verb, with and without --adopt."""
    from tests.app.forgeries import forged

    n = 2000 if LONG else 200
    wrong = _seeded(forged, n)
    show(wrong[:60])
    return Row("P41", "a stranger's folder touches no byte, process or machine of the user's", n, len(wrong))


def answers_lost() -> Row:
    """Lost answers through Amazon's own client; each history mostly waits."""
    n = 300
    return Row("P2", "a lost answer doubles nothing and leaves nothing (emulated EC2)", n, len(_seeded(_lost, n, 8)))


def _on_guests(numbers: str, statement: str, n: int, played: Callable[[Path], list[str]]) -> Row:
    """A row that needs guests of this host: `played` gives a line for each failure."""
    from tests.emulated.guests import missing

    if lacking := missing():
        return Row(numbers, statement, 0, 0, left_out=lacking)
    with folder() as place:
        wrong = played(place)
    show(wrong)
    return Row(numbers, statement, n, len(wrong))


def guest_kills() -> Row:
    """The same with guests of this host."""
    from tests.app.cloud_walk import GUEST, OWNED, kills

    return _on_guests("P1", "killed at random on guests: 0 left", 10,
                      lambda folder: kills(folder, 10, SEED, (GUEST, OWNED)).wrong)  # fmt: skip


def makers_killed() -> Row:
    """Whoever starts guests is killed while it does."""
    from tests.emulated.guests import killed_makers

    return _on_guests("P1", "a guest whose maker was killed is found and ended", 60,
                      lambda folder: killed_makers(60, folder, SEED))  # fmt: skip


def guests_die() -> Row:
    """Guests whose client never comes back."""
    from tests.emulated.guests import powers_off

    return _on_guests("P5", "small image: a guest powers itself off by its time to live and a minute", 50,
                      lambda folder: powers_off(50, folder))  # fmt: skip


def debian_guests_die() -> Row:
    """The same with the real cloud-init, and without a network from when its timer is armed."""
    from tests.emulated.guests import no_debian, powers_off

    if lacking := no_debian():
        return Row("P5", "cloud-init arms the end of a guest", 0, 0, left_out=lacking)
    # One at a time: where processors are translated a boot alone takes minutes, and more of them beside another.
    n = 50 if LONG else 3
    return _on_guests("P5", "real cloud-init, network cut: a guest powers itself off by its time to live and a minute",
                      n, lambda folder: powers_off(n, folder, image="debian", at_once=1))  # fmt: skip


def stopped() -> Row:
    """One, two and three signals at every phase of a study on two clouds."""
    from tests.app.test_stopping import signals

    n = 400 if LONG else 120
    with folder() as place:
        toll = signals(place, n, SEED)
    show(toll.wrong)
    return Row("P8", "signals leave nothing that is not said", n, len(toll.wrong))


def swept() -> Row:
    """Sweeps among look-alikes."""
    from tests.app.test_sweep import misjudged

    return Row("P6", "1,000 look-alikes survive, 200 of 200 studies are found", 1200, misjudged(200, 1000, SEED))


def swept_on_ec2() -> Row:
    """The same among 1,000 look-alikes in an emulated EC2."""
    from tests.emulated.ec2 import ec2
    from tests.emulated.pointed import pointed
    from tests.provider.test_aws_lists import leftovers_amid

    n = 1000
    with pointed(ec2()) as cloud:
        return Row("P6", "1,000 look-alikes survive in an emulated EC2", n, len(leftovers_amid(cloud, n)))


def unreadable() -> Row:
    """Tags that fail, are empty or cut short."""
    from tests.app.test_sweep import wrongly_deleted

    n = 10_000
    return Row("P7", "nothing is destroyed on missing or unreadable tags", n, wrongly_deleted(n, SEED))


def wrong_hosts() -> Row:
    """Machines that show another host key."""
    from tests.agent.wrong_hosts import wrong_keys

    toll = wrong_keys(200, SEED)
    failed = toll.n - toll.refused + (toll.logins > 0) + (toll.input_bytes > 0)
    return Row("P23", "wrong host keys are refused before anything is sent", toll.n, failed)


def silent_lines() -> Row:
    """Lines that go silent, slow or mad at any byte."""
    from tests.agent.black_holes import black_holes

    toll = black_holes(500, SEED)
    untried = toll.untried()
    show([*toll.odd, *untried])
    failed = len(toll.odd) + (toll.late_s > 5) + (toll.grown_bytes > 64 * 2**20) + len(untried)
    return Row("P24", f"no call outlives its deadline by 5 s (the latest: {toll.late_s:.1f} s)", toll.n, failed)


def silent_clouds() -> Row:
    """Calls of the SDK into a black hole."""
    from tests.provider.test_aws_faults import late

    n = 500
    return Row("P24", "no call to a provider outlives its deadline", n, len(late(n)))


def _agent(numbers: str, statement: str, *named: str, cases: int | None = None) -> Row:
    """A row of the agent's own tests."""
    from tests.agent.cargo import agent_tests

    done = agent_tests(*named, cases=cases)
    show(done.left_out)
    if done.failed:
        show(done.out[-4000:].splitlines())
    return Row(numbers, statement, done.ran, done.failed)


def capped() -> Row:
    """Bytes, packets, rates and time that an agent was given at most."""
    return _agent("P15", "tests of the agent: caps hold, whatever the other side does", "p15")


def strangers() -> Row:
    """Who is not the peer of a trial, or claims to be."""
    n = 1_000_000 if LONG else 100_000
    statement = f"tests of the agent: strangers get nothing from it ({n} bad attempts), and it talks to its peer only"
    return _agent("P25 P26 P27", statement, "p25", "p26", "p27", cases=n)


def hostile_bytes() -> Row:
    """Hostile bytes at each surface of the agent."""
    n = 1_000_000 if LONG else 100_000
    return _agent("P28", f"tests of the agent: {n} hostile inputs to each, no panic", "p28", cases=n)


def leases_end() -> Row:
    """Agents whose lease ends."""
    return _agent("P30", "tests of the agent: it leaves when its lease ends", "p30")


def poisoned_prices() -> Row:
    """Price lists that were poisoned by hand, in the list and on the way."""
    from tests.cost.badly_served import SERVED, badly_served
    from tests.cost.poisoned import POISONED, poisoned

    wrong = [f"{kind}, {name}: {why}" for kind, name in POISONED if (why := poisoned(kind, name))]
    wrong += [f"{name}: {why}" for name in SERVED if (why := badly_served(name))]
    show(wrong)
    return Row("P13", "poisoned price lists refused, or their price unknown", len(POISONED) + len(SERVED), len(wrong))


def mutated_prices() -> Row:
    """The same lists changed at random."""
    from tests.cost.mutated import mutated

    n = 20_000 if LONG else 1000
    wrong = _seeded(mutated, n)
    show(wrong)
    return Row("P13", "price lists changed at random tell no price that is not in them", n, len(wrong))


ROWS = (
    slices, wholes, kills, winners, ties, looks, selection, seed_studies, simulated_histories, quotes, bills,
    answers_lost, cloud_rows.answers_lost_everywhere,
    *map(cloud_rows.crash_walk, KINDS), cloud_rows.cloud_kills, cloud_rows.all_clouds_kills, cloud_rows.group_kills,
    cloud_rows.namespace_kills, guest_kills, stopped,
    makers_killed, guests_die, debian_guests_die, swept, swept_on_ec2, cloud_rows.swept_everywhere, unreadable,
    wrong_hosts, cloud_rows.wrong_hosts_everywhere, silent_lines, silent_clouds, capped, strangers, hostile_bytes,
    leases_end, strangers_folders,
    poisoned_prices, mutated_prices, storage_servers, storage_kills, *service_rows.ROWS,
)  # fmt: skip


def main() -> int:
    """Run every row and print it; with names of rows, only these."""
    heed()
    known = {check.__name__: check for check in ROWS}
    if sys.argv[1:] == ["--last"]:
        ran = record()
        sys.stdout.write("".join(f"{name:32} {ran.get(name, 'not since the record began')}\n" for name in known))
        return 0
    if unknown := [name for name in sys.argv[1:] if name not in known]:
        sys.stderr.write(f"no such row: {', '.join(unknown)}; known are {', '.join(known)}\n")
        return 2
    broken, began = 0, time.monotonic()
    for name in sys.argv[1:] or known:
        since = time.monotonic()
        row = known[name]()
        broken += row.word == "BROKEN"
        remember(name, row, time.monotonic() - since)
        why = f": {row.left_out}" if row.left_out else ""
        sys.stdout.write(
            f"{row.numbers:12} {row.word:8} {row.failures}/{row.n} failed  seed {SEED}  "
            f"{time.monotonic() - since:.0f} s  {row.statement}{why}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{broken} broken, {time.monotonic() - began:.0f} s in all\n")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
