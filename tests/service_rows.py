"""Rows of `make promises` on services: watching, evidence, what clients felt, and simulated worlds."""

import shutil

import pytest

from tests.rows import LONG, SEED, Row, folder, show


def watch_kills() -> Row:
    """Real watchers that are killed at random moments."""
    from tests.cli.watcher_process import killed
    from tests.emulated.scripted_http import scripted

    n = 500 if LONG else 30
    with folder() as place, scripted() as service:
        toll = killed(service.url(), place / "w", n, SEED)
    return Row("P16", f"no stored sample of a killed watcher is lost ({toll.told} were told)", n, toll.lost)


def watched_weeks() -> Row:
    """Weeks of a sample a minute on a virtual clock, with deaths, power failures, reboots and steps of the clock."""
    from tests.execute.watched_week import lost_in_week

    n = 40 if LONG else 4
    wrong = []
    for seed in range(n):
        with folder() as place, pytest.MonkeyPatch.context() as patch:
            wrong += lost_in_week(place / "w", SEED + seed, patch, every_s=60.0, kill=0.003)
    show(wrong[:20])
    return Row("P16 P17", "a week of watching loses nothing acknowledged, and gaps are written down", n, len(wrong))


def flipped_evidence() -> Row:
    """Every bit of a file of evidence, flipped by itself."""
    from cloudcmp.store.watch.read import FILE
    from tests.evidence import by_program, faults, written

    with folder() as place:
        path = written(place / "w", 20, (10,)) / FILE
        whole = path.read_bytes()
        n, missed = 0, []
        for at in range(len(whole)):
            number = whole.count(b"\n", 0, at) + 1
            for bit in range(8):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
                n += 1
                if not any(f"{FILE}:{number}:" in line for line in faults(place / "w")):
                    missed.append(f"bit {bit} of byte {at}")
            if at % 97 == 0 or LONG:
                n += 1
                missed += [f"byte {at}, by the program"] if by_program(place / "w").returncode == 0 else []
        shutil.rmtree(place / "w")
    show(missed[:20])
    return Row("P18", "a flipped bit of evidence is found and named", n, len(missed))


def felt_by_clients() -> Row:
    """The estimate of a server beside a prober outside, over delays, losses and sizes."""
    from tests.app.felt_outside import disagreements
    from tests.emulated.lossy_link import missing

    statement = "what a server's kernel tells of its clients' waiting agrees with a prober outside"
    if lacking := missing():
        return Row("-", statement, 0, 0, left_out=lacking)
    cases = [
        {"delay_s": delay, "loss": loss, "size": size}
        for delay in (0.005, 0.03) for loss in (0.0, 0.02, 0.05) for size in (2000, 100_000)
    ]  # fmt: skip
    wrong = [line for case in cases for line in disagreements(1500 if LONG else 400, **case)]
    show(wrong)
    return Row("-", statement, len(cases), len(wrong), 1)


def simulated_queues() -> Row:
    """Simulations of queues whose mean theory knows: M/M/1, M/M/1 with processor sharing, M/M/4."""
    from tests.answer.world.test_queues import SYSTEMS, covered

    n = 1000 if LONG else 100
    missed = [n - covered(kind, load, range(n), 12.0) for kind in SYSTEMS for load in (0.5, 0.8)]
    show([f"missed of {n} at loads .5 and .8, by system: {missed}"])
    return Row("-", "the interval of a simulated queue holds the mean of theory, but in a twelfth", n * len(missed),
               sum(missed), n * len(missed) // 12)  # fmt: skip


ROWS = (watch_kills, watched_weeks, flipped_evidence, felt_by_clients, simulated_queues)
