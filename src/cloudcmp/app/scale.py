"""Replays a load through measured launch times, capacities and prices: the cheapest policy that keeps a limit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.answer.choice.from_study import key_of
from cloudcmp.answer.replay.answer import scaled
from cloudcmp.answer.replay.sentences import with_sentences
from cloudcmp.answer.replay.servers import parsed_rule, servers_of
from cloudcmp.app.option_values import money_per_month, parsed, share
from cloudcmp.app.plan import billing_of
from cloudcmp.app.recommend import sold
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey
from cloudcmp.model.price import Purchase
from cloudcmp.model.replay import Rules, ScaleAnswer
from cloudcmp.model.trial import Outcome
from cloudcmp.store.load_trace import read_load
from cloudcmp.units import parse_seconds

PROBE = "scaling"


@dataclass(frozen=True, slots=True)
class ScaleQuestion:
    """What is asked of a load, as text: each machine's capacity, the limit, and the policies' numbers.

    `capacity` is requests per second, or the column that has them. `over` is the share of requests that may be over
    target; `owned_cost` the price of an owned machine a month, `120 USD/month`.
    """

    capacity: str
    over: str = "0.1 %"
    utilisation: str = "70 %"
    watch: str = "60 s"
    cool_down: str = "5 min"
    launch_time: str = "drawn"
    owned_cost: str | None = None
    seed: int = 1


def scale(
    sources: Sequence[str], load: Path, asked: ScaleQuestion, *, purchase: Purchase = Purchase.ON_DEMAND,
    progress: Callable[[str], None] = lambda _: None, anonymise: bool = False,
) -> ScaleAnswer:  # fmt: skip
    """Replay a load on every machine of some sources whose launches were measured; the answer is in its first choice.

    Sources are folders of studies, tables of offerings, or `prices`, joined as by `recommend`.

    Raises UserMistake for a trace, a source or an option that cannot be read, if no launch was measured, and for a
    capacity that no source has.
    """
    rules, rule, capacity = _rules(asked), parsed_rule(asked.launch_time), _capacity(asked.capacity)
    owned = None if asked.owned_cost is None else money_per_month("--owned-cost", asked.owned_cost, "120 USD/month")
    progress(f"reading {load}")
    trace = read_load(load)
    market = sold(sources, purchase=purchase, progress=progress)
    if owned is not None and market.currency not in {"", owned.currency}:
        what = f"it is in {owned.currency} and the prices are in {market.currency}"
        raise UserMistake.at("--owned-cost", what, f"write it in {market.currency}")
    machines, left = servers_of(market, capacity, rule, _failures(sources), billing_of)
    progress(f"replaying {len(trace.times):,} rows of load on {len(machines)} machine types")
    found = scaled(
        trace, machines, left, rules, seed=asked.seed, launch_time=asked.launch_time, currency=market.currency,
        owned_cost=None if owned is None else float(owned.amount), notes=market.notes,
    )  # fmt: skip
    found = with_sentences(found, trace)
    if not anonymise:
        return found
    from cloudcmp.report.anonymity import of_market

    return of_market(market.keys, sources).rewritten(found)


def _failures(sources: Sequence[str]) -> dict[OfferKey, list[float]]:
    """How long each failed launch of a machine took until it was given up (s), by the studies among the sources."""
    from cloudcmp.store import StudyStore

    found: dict[OfferKey, list[float]] = {}
    for source in sources:
        if not Path(source).is_dir():
            continue
        with StudyStore.open(Path(source), write=False) as store:
            plan, attempts = store.plan, store.attempts()
        last = {one.trial: one for one in attempts if not one.interrupted}
        for trial in plan.trials:
            attempt = last.get(trial.index)
            if trial.probe == PROBE and attempt is not None and attempt.outcome is not Outcome.OK:
                key = key_of(plan.candidates[plan.launches[trial.launch].candidate])
                found.setdefault(key, []).append(attempt.ended_at - attempt.started_at)
    return found


def _rules(asked: ScaleQuestion) -> Rules:
    return Rules(
        utilisation=share("--utilisation", asked.utilisation, most=1.0, example="5 %"),
        watch_s=_seconds("--watch", asked.watch),
        cool_down_s=_seconds("--cool-down", asked.cool_down),
        over=share("--over", asked.over, most=0.5, example="5 %"),
    )


def _seconds(option: str, text: str) -> float:
    seconds = parsed(option, text, parse_seconds)
    if seconds < 0:
        raise UserMistake.at(option, f"{text!r} is less than nothing", "write e.g. '60 s'")
    return seconds


def _capacity(text: str) -> float | str:
    try:
        rate = float(text)
    except ValueError:
        return text
    if not (math.isfinite(rate) and rate > 0):
        raise UserMistake.at("--capacity", f"{text!r} is not more than zero", "write requests per second, such as 250")
    return rate
