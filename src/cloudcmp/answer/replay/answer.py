"""The cheapest machine and policy that serve a load within its limit, and what would change that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cloudcmp.answer.replay.lives import MOST
from cloudcmp.answer.replay.owned import Places, owned_base, places_of
from cloudcmp.answer.replay.policies import MOST_DRAWS, Replayed, Server, by_money, outcome_of, replayed
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey
from cloudcmp.model.replay import (
    Choice,
    Lack,
    LaunchTimes,
    Load,
    MachineType,
    OwnedBase,
    PolicyOutcome,
    Rules,
    ScaleAnswer,
    Variant,
)

OTHER_LOADS = (0.8, 1.2)
_FEWER_DRAWS = 20
_STRICTER = 10.0
_UTILISATION = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """One machine with every policy, replayed with all draws."""

    load: Load
    server: Server
    rules: Rules
    every: tuple[Replayed, ...]

    @classmethod
    def of(cls, load: Load, server: Server, rules: Rules, seed: int, draws: int = MOST_DRAWS) -> "_Case":
        return cls(load, server, rules, tuple(replayed(load, server, rules, seed, draws)))

    def with_load(self, load: Load, seed: int) -> "_Case":
        """The same with another load, and fewer draws."""
        return self.of(load, self.server, self.rules, seed, _FEWER_DRAWS)

    def with_server(self, server: Server, seed: int) -> "_Case":
        """The same with another machine, and fewer draws."""
        return self.of(self.load, server, self.rules, seed, _FEWER_DRAWS)

    def with_rules(self, rules: Rules, seed: int) -> "_Case":
        """The same with other rules, and fewer draws."""
        return self.of(self.load, self.server, rules, seed, _FEWER_DRAWS)

    def variant(self, what: str) -> Variant:
        """The cheapest policy as a variant of the answer."""
        best = self.outcomes()[0]
        money = None if best.money is None else best.money.value
        return Variant(what, best.policy, best.idle, best.most, self.rules.utilisation, money)

    def outcomes(self) -> tuple[PolicyOutcome, ...]:
        """The outcomes, cheapest first."""
        return by_money([outcome_of(self.load, self.server, self.rules, one) for one in self.every])

    @property
    def draws(self) -> int:
        """The most draws of a policy."""
        return max(len(one.over) for one in self.every)


def scaled(
    load: Load, machines: Sequence[tuple[MachineType, Server]], left: Sequence[tuple[OfferKey, Lack]], rules: Rules, *,
    seed: int, launch_time: str, currency: str, owned_cost: float | None = None, notes: tuple[str, ...] = (),
) -> ScaleAnswer:  # fmt: skip
    """Replay a load on each machine and by each policy; the cheapest that keeps the limit comes first.

    Machines without a price come after those with one, by their hours. `machines` is not empty.

    Raises UserMistake if a load needs more machines than are replayed, or if owned machines lack a price to compare.
    """
    cases = []
    for machine, server in machines:
        _check_size(load, server, rules)
        cases.append((machine, _Case.of(load, server, rules, seed)))
    choices = sorted(
        ((Choice(machine, case.outcomes()), case) for machine, case in cases), key=lambda one: _rank(one[0])
    )
    best, case = choices[0]
    others = {factor: case.with_load(load.scaled(factor), seed) for factor in OTHER_LOADS}
    return ScaleAnswer(
        seconds=load.seconds,
        rows=len(load.times),
        requests=load.requests,
        mean=load.requests / load.seconds,
        peak=float(load.rates.max()),
        rules=rules,
        launch_time=launch_time,
        seed=seed,
        draws=case.draws,
        currency=currency if best.machine.price is not None else "",
        choices=tuple(one for one, _ in choices),
        variants=tuple(_variants(best.machine, case, others, seed)),
        left_out=tuple(left),
        owned=None if owned_cost is None else _owned(case, others, owned_cost),
        simulated=any(machine.simulated for machine, _ in machines),
        notes=notes,
    )


def _rank(one: Choice) -> tuple[bool, float]:
    money = one.best.money
    return money is None, one.best.machine_hours if money is None else money.value


def _most_machines(load: Load, capacity: float, rules: Rules) -> float:
    """The most machines of any policy, also under the other loads and utilisations."""
    least = max(rules.utilisation - _UTILISATION, rules.utilisation / 2)
    return max(OTHER_LOADS) * float(load.rates.max()) / (capacity * least)


def _check_size(load: Load, server: Server, rules: Rules) -> None:
    most = _most_machines(load, server.capacity, rules)
    if most > MOST:
        what = f"{server.capacity:g} requests/s a machine makes {most:,.0f} machines of this load"
        raise UserMistake.at("--capacity", what, "give a larger capacity, or the load in larger units")


def _variants(machine: MachineType, case: _Case, others: Mapping[float, _Case], seed: int) -> Iterator[Variant]:
    """Yield the answer under other loads, capacities, launch times, utilisations and limits, each alone."""
    for factor, other in others.items():
        yield other.variant(f"load {_signed(factor)}")
    bounds = machine.capacity.bounds
    if bounds is None:
        ends = [(f"capacity {_signed(share)}", machine.capacity.value * share) for share in (0.9, 1.1)]
    else:
        ends = [(f"capacity {end:.4g}/s (an end of its interval)", end) for end in (bounds.low, bounds.high)]
    for what, capacity in ends:
        if _most_machines(case.load, capacity, case.rules) > MOST:
            continue
        yield case.with_server(replace(case.server, capacity=capacity), seed).variant(what)
    known = case.server.launches
    if len(known.usable) > 1:
        for word, at in (
            ("as the fastest", int(known.usable.argmin())),
            ("as the slowest", int(known.usable.argmax())),
        ):
            alike = replace(case.server, launches=_all_like(known, at))
            yield case.with_server(alike, seed).variant(f"every launch {word}")
    for share in (case.rules.utilisation - _UTILISATION, case.rules.utilisation + _UTILISATION):
        if case.rules.utilisation / 2 <= share <= 1:
            yield case.with_rules(replace(case.rules, utilisation=share), seed).variant(
                f"utilisation {share * 100:.3g} %"
            )
    for limit in (case.rules.over * _STRICTER, case.rules.over / _STRICTER):
        yield replace(case, rules=replace(case.rules, over=limit)).variant(f"limit {limit * 100:.3g} %")


def _all_like(known: LaunchTimes, at: int) -> LaunchTimes:
    """Launch times that are all as one of the measured ones."""
    running = None if known.running is None else known.running[at : at + 1]
    return LaunchTimes(known.usable[at : at + 1], running, fixed=True)


def _signed(factor: float) -> str:
    return f"{(factor - 1) * 100:+.0f} %"


def _owned(case: _Case, others: Mapping[float, _Case], cost: float) -> OwnedBase:
    if case.server.price is None:
        raise UserMistake.at("--owned-cost", "no price of the cloud machine is known", "add a source with its price")
    return owned_base(cost, _places(case), [(factor, _places(other)) for factor, other in others.items()])


def _places(case: _Case) -> tuple[Places, ...]:
    """The places of each policy with its idle machines."""
    outcomes = {one.policy: one for one in case.outcomes()}
    return tuple(places_of(case.load, case.server, one, outcomes[one.policy].idle) for one in case.every)
