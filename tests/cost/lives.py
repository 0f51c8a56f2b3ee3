"""Lives of studies on markets at random, and what is billed for them by a count of its own.

Nothing here uses the product's arithmetic of money: time is counted step by step, tiers gigabyte by gigabyte.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from tests.cost.market import Market, market, written
from tests.plan.clouds import MONDAY, host_of_any, study_text

from cloudcmp import plan as planner
from cloudcmp.cost.quote import Market as Known
from cloudcmp.cost.quote import with_quote
from cloudcmp.execute.spending import extra_costs_of
from cloudcmp.model.lease import LeaseEvent, LeaseNote, LeaseRow
from cloudcmp.model.plan import Candidate, Plan, unit_cost
from cloudcmp.provision import accrued_cost, charges, committed_cost

TIMER_S = 60


@dataclass(frozen=True)
class Life:
    """One machine: when it was asked for, gone, and made another type (whole s), and what it sent."""

    launch: int
    number: int
    candidate: Candidate
    began_s: int
    ended_s: int
    resized_s: tuple[int, ...] = ()
    sent: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Played:
    """A study that was quoted and then lived; `low` and `high` bound the truth where clocks differ a little."""

    about: str
    expected: Decimal
    worst: Decimal
    truth: Fraction
    low: Fraction
    high: Fraction
    guarded: Decimal
    held: Decimal
    moves: bool
    told: tuple[str, ...]


def play(seed: int, *, faults: bool) -> Played:
    """One study: planned and quoted by the product, lived and billed here."""
    rng = random.Random(seed)
    where = market(rng)
    study = study_text(written(where, rng))
    plan = planner.make(study, offerings_of=where.offerings_of, host_of=host_of_any, start_at=MONDAY)
    plan = with_quote(plan, Known(lambda _: where.billing, where.rate_of))
    assert plan.quote.expected_cost is not None, plan.quote.notes
    assert plan.quote.worst_cost is not None, plan.quote.notes
    lives = list(_lives(plan, rng, where, faults=faults))
    shorter, longer = (list(_scaled(lives, share)) for share in (Fraction(99, 100), Fraction(101, 100)))
    phase = rng.randrange(3600)
    used = rng.choice((0, 50, 500, 60_000)) if faults else 0
    hours = rng.choice((672, 696, 720, 744))
    bounds = [
        where.bill(some, plan, at, 730, 0, spot=moves)
        for some in (shorter, longer)
        for at in (0, 1800, 3599)
        for moves in (True, False)
    ]
    rows, now = list(_rows(plan, lives, where.billing.anew_s)), MONDAY + 10**8
    terms, extra_costs = {"aws": where.ending}, extra_costs_of(plan)
    done = accrued_cost(charges(rows, now), terms, "USD", extra_costs)
    open_ = [row for row in rows if row.event is not LeaseEvent.GONE]
    held = committed_cost(charges(open_, max(row.at for row in open_)), terms, "USD", extra_costs)
    assert done is not None
    assert held is not None
    return Played(
        f"seed {seed}: {where.told}", (plan.quote.with_terms or plan.quote.expected_cost).amount,
        plan.quote.worst_cost.amount,
        where.bill(lives, plan, phase, hours, used), min(bounds), max(bounds), done.amount, held.amount,
        not where.capped and any(map(_spot, plan.candidates)), plan.quote.notes,
    )  # fmt: skip


def _spot(one: Candidate) -> bool:
    return dict(one.options).get("market") == "spot"


def _lives(plan: Plan, rng: random.Random, where: Market, *, faults: bool) -> Iterator[Life]:
    """Every machine's life: as planned, or as late and as hindered as its lease lets it be."""
    for launch in plan.launches:
        one, stay = plan.candidates[launch.candidate], plan.usage[launch.candidate]
        for number in range(stay.machines):
            lease_s = stay.worst_s - TIMER_S
            life_s = _fate(rng, stay.expected_s, lease_s) if faults else stay.expected_s
            began = int(launch.start_s) + (rng.randrange(300) if faults else 0)
            each_s = stay.after_s / max(1, stay.starts)
            planned = [int(stay.expected_s - (stay.starts - at) * each_s) for at in range(stay.starts)]
            times = sorted(rng.randrange(1, max(2, int(life_s))) for _ in planned) if faults else planned
            sent = ()
            if number == 0:
                share = rng.choice((0.0, 1.0, rng.random())) if faults else None
                sent = tuple(
                    (one.path, one.expected_bytes if share is None else int(share * one.most_bytes))
                    for one in stay.traffic
                )
            ended = began + int(life_s)
            if faults and _spot(one):
                ended = where.taken_s(began, ended)
            yield Life(launch.index, number, one, began, ended, tuple(times), sent)


def _fate(rng: random.Random, expected_s: float, lease_s: float) -> float:
    """How long a machine lives: taken early, as planned, at its deadlines, deleted late, or ended by its own timer.

    The last is what befalls one whose answer was lost, whose controller died, or slept with its lid closed.
    """
    fates = (rng.uniform(1, expected_s), expected_s, rng.uniform(expected_s, lease_s), lease_s, lease_s + TIMER_S)
    return max(1.0, rng.choice(fates))


def _scaled(lives: list[Life], share: Fraction) -> Iterator[Life]:
    for one in lives:
        more = 1 if share > 1 else -1
        end = one.began_s + max(1, int((one.ended_s - one.began_s) * share) + more)
        cuts = tuple(max(1, int(at * share) + more) for at in one.resized_s)
        yield Life(one.launch, one.number, one.candidate, one.began_s, end, cuts, one.sent)


def _rows(plan: Plan, lives: list[Life], anew_s: float) -> Iterator[LeaseRow]:
    """The ledger's rows of these lives; what restarts cost is in the time to live, as a launch asks for it."""
    for one in lives:
        stay, sold = plan.usage[one.candidate.index], one.candidate.offering
        slot = f"launch-{one.launch}" + (f".{one.number + 1}" if one.number else "")
        dearest = max((kind.price.amount_per_hour for kind in (sold, *stay.becomes) if kind.price), default=Decimal(0))
        extra = (unit_cost(one.candidate) or Decimal(0)) - (sold.price.amount_per_hour if sold.price else Decimal(0))
        lease_s = stay.worst_s - TIMER_S + stay.starts * anew_s

        def row(event: LeaseEvent, at: float, *notes: LeaseNote, slot: str = slot, price: Decimal = dearest + extra,
                ttl_s: float = lease_s) -> LeaseRow:  # fmt: skip
            return LeaseRow(
                slot, 1, event, "aws", "eu", "instance", "n", slot, MONDAY + at, "i", price, "USD", ttl_s,
                notes=frozenset(notes),
            )  # fmt: skip

        yield row(LeaseEvent.INTENT, one.began_s, LeaseNote.ENDS_BY_ITSELF)
        yield row(LeaseEvent.CREATED, one.began_s + 1)
        for at in one.resized_s:
            yield row(LeaseEvent.CREATED, one.began_s + at, LeaseNote.STARTED_AGAIN)
        yield row(LeaseEvent.GONE, one.ended_s)


def broken(found: Played, *, faults: bool) -> list[str]:
    """What a study says against its quote, a line each."""
    lines = []
    said = any(note.startswith("the worst case is no bound") for note in found.told)
    if said != found.moves:
        lines.append(f"{found.about}: {'it is' if said else 'it is not'} said that the worst case is no bound")
    if found.moves:
        return lines
    if found.truth > Fraction(found.worst):
        lines.append(f"{found.about}: {float(found.truth):.6f} billed, at worst {found.worst}")
    if found.truth > Fraction(found.guarded):
        lines.append(f"{found.about}: {float(found.truth):.6f} billed, {found.guarded} by the guard's count")
    if found.truth > Fraction(found.held):
        lines.append(f"{found.about}: {float(found.truth):.6f} billed, {found.held} were held for it")
    if not faults and not found.low * Fraction(9, 10) <= Fraction(found.expected) <= found.high * Fraction(11, 10):
        lines.append(
            f"{found.about}: {float(found.low):.6f} to {float(found.high):.6f} billed, expected {found.expected}"
        )
    return lines


def wrong(n: int, seed: int) -> list[str]:
    """Plays n studies, every other one with faults; a line for each that says something against its quote."""
    lines: list[str] = []
    for number in range(n):
        faults = number % 2 == 1
        lines += broken(play(seed * 1_000_003 + number, faults=faults), faults=faults)
    return lines
