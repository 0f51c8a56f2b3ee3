"""Renders a first study as lines and a table of prices."""

import shlex
from collections.abc import Iterator, Sequence

from cloudcmp.catalog import METRICS
from cloudcmp.cost.figures import price_of
from cloudcmp.model.metric import Better
from cloudcmp.model.offering import Offering
from cloudcmp.model.start import FetchedPrices, StarterStudy
from cloudcmp.study.starter import PRICE, has_work, left_out
from cloudcmp.units import Money, format_money, format_seconds


def fetched_line(one: FetchedPrices) -> str:
    """The fetched prices of a cloud in one line."""
    if one.fault:
        return f"no prices of {one.provider} were fetched, continuing without them: {one.fault}"
    return f"fetched {one.prices:,} prices of {one.provider} in {one.region}"


def prices_table(found: Sequence[Offering]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of the cheapest offerings by price list."""
    rows = [(f"{one.provider} {one.name}", one.region, size_words(one), _per_hour(one), _dated(one)) for one in found]
    return ("offering", "region", "size", "an hour", "price of"), list(rows)


def size_words(one: Offering) -> str:
    """The vCPUs and memory of an offering whose size is known."""
    return f"{one.vcpus:g} vCPUs, {one.memory_gib:g} GiB"


def _per_hour(one: Offering) -> str:
    return "unknown" if one.price is None else f"{one.price.amount_per_hour.normalize():f} {one.price.currency}"


def _dated(one: Offering) -> str:
    return "unknown" if one.price is None else f"{one.price.as_of or 'undated'}"


def written_lines(found: StarterStudy) -> Iterator[str]:
    """Yield the files that were written, one line each."""
    yield f"written: {found.path}"
    if found.schema is not None:
        yield f"written: {found.schema}, with which editors complete and check it"
    else:
        yield f"editors cannot check it: {found.schema_fault}"


def summary_lines(found: StarterStudy) -> Iterator[str]:
    """Yield the time and cost of the study, and notes about it, one line each."""
    quote, answers = found.plan.quote, found.answers
    runs = "1 run" if found.form.runs == 1 else f"{found.form.runs} runs"
    if not found.clouds:
        yield (
            "no cloud is usable, so three INVENTED clouds are compared: all numbers are planted, nothing is created "
            "and nothing is billed; this cannot choose a real machine"
        )
    yield f"{len(found.plan.candidates)} candidates, {found.form.launches} rounds, {runs} on each launch"
    for one in found.plan.candidates:
        if one.differs:
            yield f"{one.id} differs from the requested size: {', '.join(one.differs)}"
    if not found.clouds:
        yield f"expected time: simulated: seconds; on real clouds {format_seconds(quote.expected_s)}"
    else:
        yield f"expected time: {format_seconds(quote.expected_s)}"
    yield from _money_lines(quote.worst_cost, answers.budget, billed=bool(found.clouds))
    if dropped := left_out(answers, found.form):
        yield f"left out, because the budget is too small: {', '.join(dropped)}"
    yield from _price_lines(found)
    yield from found.left_out
    yield from quote.notes


def _price_lines(found: StarterStudy) -> Iterator[str]:
    """Yield what is compared by work for money, if the price matters, and the prices that this lacks."""
    names = [name for name in found.form.matters if has_work(name)]
    if PRICE not in found.answers.matters or not names:
        return
    if not any(name in names for name in found.answers.matters):
        yield f"added for the price: {' and '.join(names)}, because money is compared by the work that it buys"
    prices = {one.id: price_of(one) for one in found.plan.candidates}
    currencies = sorted({price.currency for price in prices.values() if price is not None})
    unknown = [name for name, price in prices.items() if price is None]
    if len(currencies) == 1 and len(prices) - len(unknown) > 1:
        yield f"price: a second verdict, on the work that 1 {currencies[0]} buys, for {', '.join(names)}"
    elif len(currencies) > 1:
        yield f"price: not compared, because prices are in {' and '.join(currencies)}"
    if unknown:
        yield f"price: not compared while it is unknown: {', '.join(unknown)}"


def _money_lines(worst: Money | None, budget: Money, *, billed: bool) -> Iterator[str]:
    if not billed:
        if worst is not None:
            yield f"at the planted prices: {format_money(worst)} at worst, of {format_money(budget)}"
        yield "the budget is not enforced on simulated clouds, because they bill nothing"
    elif worst is None:
        yield "worst case: unknown, because a price is unknown; until then nothing is created"
    else:
        yield f"worst case: {format_money(worst)} of {format_money(budget)}"


def next_commands(found: StarterStudy) -> list[str]:
    """The commands to run next, in order."""
    folder = found.path.with_suffix("")
    unknown = found.clouds and found.plan.quote.worst_cost is None
    missing = [f"cloudcmp fetch {name} --region {region}" for name, region in found.unlisted if name in found.clouds]
    return [
        *(missing if unknown else []),
        f"cloudcmp plan {found.path}",
        *([f"cloudcmp check {found.path}"] if found.clouds else []),
        f"cloudcmp run {found.path} --out {folder}",
        f"cloudcmp report {folder} --open",
        shlex.join(["cloudcmp", "recommend", str(folder), *_objective(found)]),
    ]


def _objective(found: StarterStudy) -> tuple[str, str]:
    """What a recommendation from the study asks for: its first measurement, for the price if that matters."""
    cell = found.plan.decide[0].cell
    metric = METRICS[cell.split(" ")[0]]
    if metric.is_rate and PRICE in found.answers.matters:
        return "--minimise", f"cost per {cell}"
    return ("--maximise" if metric.better is Better.HIGHER else "--minimise"), cell
