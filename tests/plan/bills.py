"""Simulated studies that are run to their end and then billed by their ledgers, beside what their plans said."""

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

from cloudcmp.app import plan as planning
from cloudcmp.app import run as running
from cloudcmp.execute.teardown import RunEnd
from cloudcmp.model.offering import Billing
from cloudcmp.report.progress import Silence

_STUDY = """\
schema: 1
question: What does it cost?
candidates:
{candidates}
probes:
{probes}
launches: {launches}
runs: {runs}
seed: {seed}
"""
_FAULTS = "{capacity: 0.2, preemption: 0.05, hang: 0.1, garbage: 0.1, lost_answer: 0.2}"
_PROBES = ("fma", "int", "tcp")
_ALONE = ("fma", "int", "lu")  # what takes no second machine


@dataclass(frozen=True)
class Bill:
    """What a study was to cost, and what its machines did by the ledger; `machines` were paid for."""

    about: str
    expected: Decimal
    worst: Decimal
    paid: Decimal
    machines: int


def bills(n: int, seed: int, folder: Path, *, faults: bool) -> list[Bill]:
    """Run so many studies at random, each under other terms of billing, with planted faults or without.

    Without faults each has one machine at a time: all simulated clouds share one clock, on which the waits of machines
    that come side by side add up, so that each seems to live longer than it would.
    """
    return [_bill(seed * 1_000_003 + number, folder / f"study-{number}", faults) for number in range(n)]


def wrong(found: list[Bill], *, faults: bool) -> list[str]:
    """A line for each study that cost more than its worst case, or without faults another sum than expected."""
    lines = [f"{one.about}: {one.paid} paid, at worst {one.worst}" for one in found if one.paid > one.worst]
    if not faults:
        far = [one for one in found if abs(one.paid / one.expected - 1) > Decimal("0.1")]
        lines += [f"{one.about}: {one.paid} paid, expected {one.expected}" for one in far]
    return lines


def _bill(seed: int, folder: Path, faults: bool) -> Bill:
    chance = random.Random(seed)
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(_written(chance, seed, faults))
    terms = Billing(*chance.choice([(60.0, 1.0), (60.0, 60.0), (600.0, 60.0), (3600.0, 3600.0)]))
    with patch.object(planning, "billing_of", lambda _: terms):
        plan, text = planning.plan_file(folder / "study.yaml", on=None, short=False, seed=None)
    ending = running.start(plan, text, folder / "out", work=None, wait=False, progress=Silence(), leave=_leave)
    assert ending.finished
    assert ending.left == ()
    paid, machines = paid_for(folder / "out", terms.minimum_s, terms.step_s)
    assert plan.quote.expected_cost is not None
    assert plan.quote.worst_cost is not None
    about = f"seed {seed}, {terms.minimum_s:g} s and steps of {terms.step_s:g} s"
    return Bill(about, plan.quote.expected_cost.amount, plan.quote.worst_cost.amount, paid, machines)


def _written(chance: random.Random, seed: int, faults: bool) -> str:
    places = [(region, size) for region in ("nimbus", "stratus", "cumulus") for size in ("small", "medium")]
    candidates, probes = [], []
    for region, size in chance.sample(places, chance.randint(1, 3) if faults else 1):
        boot = f"boot_s: {chance.uniform(5, 200):.0f} s"
        truth = f"{boot}, faults: {_FAULTS}" if faults else boot
        where = f"provider: simulated, region: {region}, offering: {size}"
        count = chance.randint(1, 3) if faults else 1
        candidates.append(f"  - {{{where}, count: {count}, truth: {{{truth}}}}}")
    for name in chance.sample(_PROBES if faults else _ALONE, chance.randint(1, 2)):
        probes.append(f"  - {{probe: {name}, params: {{duration_s: {chance.uniform(1, 120):.0f} s}}}}")
    return _STUDY.format(
        candidates="\n".join(candidates), probes="\n".join(probes), launches=chance.randint(1, 8),
        runs=chance.randint(1, 3), seed=seed % 2**31,
    )  # fmt: skip


def paid_for(folder: Path, minimum_s: float, step_s: float) -> tuple[Decimal, int]:
    """The bill for all that a ledger says was there, counted step by step, and how many machines that were.

    From when it was asked for until it was seen gone: without the product's own arithmetic of money and of leases.
    """
    with closing(sqlite3.connect(f"file:{folder / 'study.db'}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT slot, attempt, event, at, price_per_hour FROM lease ORDER BY id").fetchall()
    lives: dict[tuple[str, int], dict[str, tuple[float, str]]] = {}
    for slot, attempt, event, at, price in rows:
        lives.setdefault((slot, attempt), {})[event] = (at, price)
    total, machines = Decimal(0), 0
    for life in lives.values():
        if "REFUSED" in life or "DELETE_ASKED" not in life:  # never there
            continue
        machines += 1
        used_s = life["GONE"][0] - life["INTENT"][0]
        paid_s = minimum_s
        while paid_s < used_s:
            paid_s += step_s
        total += Decimal(life["INTENT"][1]) * Decimal(repr(paid_s)) / 3600
    return total, machines


def _leave(ending: RunEnd) -> NoReturn:
    raise RuntimeError(f"nobody sent a signal, and yet: {ending.reason}")
