"""Prints a simulated service: its fastest deployment first, then response times, what printed tables say, and cost."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from cloudcmp.model.scenario import Arrivals, Mode, Scenario, ServiceTimes
from cloudcmp.model.simulation import (
    CentreUse,
    DeploymentTimes,
    Found,
    Outcome,
    Reach,
    RunMean,
    SearchLack,
    SetOption,
    Simulation,
)
from cloudcmp.report.grids import Grid
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import Money, counted, format_quantity, format_seconds

ORIGIN = "SIMULATED"
_ACROSS = 4
"""More deployments than these stand below each other."""
_SETS = 12
_GROWS = "*"
_WHOLE_PERCENT = 0.095
"""From here on a percentage is shown without decimals."""
NEAR = 0.03
"""A simulated mean this near to a printed one counts as the same."""


def show_simulation(console: Console, found: Simulation) -> None:
    """Print a simulation."""
    say(console, f"{found.scenario.question or found.scenario.name} [{ORIGIN}]", "bold")
    say(console, basis(found.scenario), "dim")
    say(console, "")
    for label, text, style in lines(found):
        labelled(console, label, text, style)
    for at, text in enumerate(found.cautions):
        labelled(console, "MIND" if not at else "", text, "yellow")
    for grid in grids(found):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)


def basis(scenario: Scenario) -> str:
    """How it was simulated, with the seed."""
    one = "messages" if scenario.mode is Mode.MESSAGES else "requests one by one"
    if scenario.mode is Mode.MESSAGES and scenario.grouping[0] > 1:
        one = f"messages of {scenario.grouping[0]:,} requests"
    runs = counted(scenario.runs, "run")
    return f"seed {scenario.seed} | {runs} of {_span(scenario)} | {one}, sent {_SENT[scenario.arrivals]}"


_SENT = {Arrivals.TOGETHER: "by all users of a base at once", Arrivals.SPREAD: "at random times"}


def _span(scenario: Scenario) -> str:
    """The simulated time."""
    hours = scenario.duration_s / 3600
    return f"{hours:g} h" if hours >= 1 else format_seconds(scenario.duration_s)


def lines(found: Simulation) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of the answer: label, text and style."""
    if found.found is not None:
        yield "ANSWER", _search_words(found, found.found), "bold"
    ordered = sorted(found.outcome.deployments, key=lambda one: (bool(one.overloaded), one.overall.value))
    yield "FASTEST" if len(ordered) > 1 else "MEAN", _fastest(ordered), "" if found.found is not None else "bold"
    scenario = found.scenario
    for outcome in (found.outcome, *found.variants):
        if outcome.printed:
            yield "PRINTED" if outcome is found.outcome else "", _printed_words(scenario, outcome), ""
    times = "" if scenario.service.times is ServiceTimes.FIXED else " on average, exponential"
    yield (
        "SERVICE",
        f"{format_quantity(scenario.service.seconds, 's')} for a request{times}: {scenario.service.source}",
        "",
    )
    same = scenario.latency.source == scenario.bandwidth.source
    sources = [scenario.latency.source] if same else [scenario.latency.source, scenario.bandwidth.source]
    yield "NETWORK", f"latency: {sources[0]}; bandwidth: {'the same' if same else sources[1]}", ""
    yield "POLICY", f"broker: {scenario.broker}; machines: {scenario.balancing}, {scenario.discipline}", ""
    for one in found.variants:
        yield "VARIANT", f"{one.name}: {one.why}", ""
    left = [one.name for one in scenario.variants if one.name not in {each.name for each in found.variants}]
    if left:
        yield "MORE", f"--variant {' --variant '.join(repr(one) for one in left)} simulates it beside this", "dim"


def _fastest(ordered: Sequence[DeploymentTimes]) -> str:
    first = ordered[0]
    if first.overloaded:
        return f"none holds: {_growing(first)}{' and every other one has such a queue' if len(ordered) > 1 else ''}"
    words = f"{first.name} answers in {mean_words(first.overall)} ms over all requests"
    if len(ordered) < 2:
        return words
    second = ordered[1]
    return f"{words}; {_growing(second) if second.overloaded else f'{second.name} in {mean_words(second.overall)} ms'}"


def _growing(one: DeploymentTimes) -> str:
    """That a deployment has no mean, because a queue in it grows."""
    return f"the queue of {' and '.join(one.overloaded)} grows without end in {one.name}"


def _printed_words(scenario: Scenario, outcome: Outcome) -> str:
    """How many printed means the simulation comes near to, and the furthest."""
    assert scenario.published is not None
    near = sum(abs(one.difference) <= NEAR for one in outcome.printed)
    of = f"variant {outcome.name}: " if outcome.name else ""
    words = f"{of}{near} of {len(outcome.printed)} means of table {scenario.published.table} within {NEAR * 100:g} %"
    furthest = max(outcome.printed, key=lambda one: abs(one.difference))
    row = dict(scenario.published.rows)[furthest.row]
    return f"{words}; furthest: {row} of {furthest.deployment}, {_percent(furthest.difference)}"


def _percent(change: float) -> str:
    """A change in percent; one that rounds to nothing has no sign."""
    text = f"{change * 100:+.1f} %"
    return "0.0 %" if text[1:] == "0.0 %" else text


def mean_words(mean: RunMean | None, factor: float = 1e3, digits: int = 1) -> str:
    """A mean with half the width of its interval, in ms or another unit; a dash if there is none."""
    if mean is None:
        return "-"
    value = f"{mean.value * factor:.{digits}f}"
    return value if mean.high is None else f"{value} ±{(mean.high - mean.value) * factor:.{digits}f}"


def money_words(money: Money | None) -> str | None:
    """An amount to the cent, or to three digits; None if unknown."""
    if money is None:
        return None
    return f"{money.amount:,.2f}" if money.amount >= 1 else f"{float(money.amount):.3g}"


def grids(found: Simulation) -> Iterator[Grid]:
    """Yield the tables of a simulation."""
    yield _times(found.outcome, found.scenario.runs)
    if found.outcome.printed:
        yield _printed(found.scenario, found.outcome)
    yield _centres(found.scenario, found.outcome)
    for one in found.variants:
        yield _variant(found.outcome, one)
        if one.printed:
            yield _printed(found.scenario, one)
    if found.found is not None:
        yield _sets(found.scenario, found.found)


def _times(outcome: Outcome, runs: int) -> Grid:
    bases = [one.base for one in outcome.deployments[0].bases]
    rows = [("all", *(_mean_cell(one, one.overall) for one in outcome.deployments))]
    for at, base in enumerate(bases):
        rows.append((base, *(_mean_cell(one, one.bases[at].mean) for one in outcome.deployments)))
    rows.append(("fastest", *(f"{one.lowest * 1e3:.1f}" for one in outcome.deployments)))
    rows.append(("slowest", *(f"{one.highest * 1e3:.1f}" for one in outcome.deployments)))
    note = "all: weighted by requests; fastest and slowest: single ones"
    if runs > 1:
        note = f"±: 95 % interval of the simulation itself, {runs} runs; {note}"
    if any(one.overloaded for one in outcome.deployments):
        note += f"; {_GROWS}: a queue grows, so that the mean is that of this span alone"
    title = f"Mean response times in ms [{ORIGIN}]"
    if len(outcome.deployments) <= _ACROSS:
        return Grid(title, ("users", *(Head(one.name) for one in outcome.deployments)), tuple(rows), note)
    turned = tuple(zip(*rows, strict=True))[1:]
    names = [one.name for one in outcome.deployments]
    heads: tuple[str | Head, ...] = ("deployment", *(Head(row[0]) for row in rows))
    return Grid(title, heads, tuple((name, *row) for name, row in zip(names, turned, strict=True)), note)


def _mean_cell(deployment: DeploymentTimes, mean: RunMean) -> str:
    """A mean; one that grows with the simulated span is given without an interval, and marked."""
    return _growing_mean(mean) if deployment.overloaded else mean_words(mean)


def _growing_mean(mean: RunMean) -> str:
    return f"{mean.value * 1e3:,.0f}{_GROWS}"


def _printed(scenario: Scenario, outcome: Outcome) -> Grid:
    assert scenario.published is not None
    short = dict(scenario.published.rows)
    rows = tuple(
        (one.deployment, "all" if short[one.row] == "overall" else short[one.row], f"{one.printed * 1e3:.2f}",
         mean_words(one.simulated, digits=2), _percent(one.difference))
        for deployment in outcome.deployments for one in outcome.printed if one.deployment == deployment.name
    )  # fmt: skip
    of = f", variant {outcome.name}" if outcome.name else ""
    title = f"Table {scenario.published.table} of {scenario.published.document} beside the simulation{of}, ms"
    return Grid(title, ("deployment", "users", Head("printed"), Head("simulated"), Head("difference")), rows)


def _variant(own: Outcome, variant: Outcome) -> Grid:
    """The means of a variant, and by how much each moves."""
    before = {(one.name, base.base): base.mean for one in own.deployments for base in one.bases}
    before |= {(one.name, "all"): one.overall for one in own.deployments}
    heads: list[str | Head] = ["users"]
    columns = []
    for one in variant.deployments:
        means = [("all", one.overall), *((base.base, base.mean) for base in one.bases)]
        columns.append([_moved(mean, before.get((one.name, name))) for name, mean in means])
        heads.append(Head(one.name))
    names = ["all", *(one.base for one in variant.deployments[0].bases)]
    rows = tuple(zip(names, *columns, strict=True))
    return Grid(f"Variant {variant.name}: means in ms, and by how much they move [{ORIGIN}]", tuple(heads), rows)


def _moved(mean: RunMean, before: RunMean | None) -> str:
    move = "" if before is None else f" ({_percent(mean.value / before.value - 1)})"
    return f"{mean.value * 1e3:.1f}{move}"


def _centres(scenario: Scenario, outcome: Outcome) -> Grid:
    many = len(outcome.deployments) > 1
    rows = []
    for one in outcome.deployments:
        for each in one.centres:
            rows.append((
                *([one.name] if many else []), each.centre, str(each.machines), _millions(each.requests),
                _processing(each), _busy(each.busy), money_words(each.machine_cost),
                money_words(each.transfer_cost),
            ))  # fmt: skip
    currency = next((one.cost.currency for one in outcome.deployments if one.cost), "")
    heads: tuple[str | Head, ...] = ("centre", Head("n"), Head("requests"), Head("processing"), Head("busy"),
                                     Head("machines"), Head("transfer"))  # fmt: skip
    heads = ("deployment", *heads) if many else heads
    note = (
        f"of one run of {_span(scenario)}: n machines; millions of requests; processing in ms; busy: "
        f"% of processor time; cost of machines and transfer{f' in {currency}' if currency else ' (no prices)'}"
    )
    return Grid(f"Data centres [{ORIGIN}]", heads, tuple(rows), note)


def _millions(requests: float) -> str:
    """A number in millions with two decimals, or two digits of a small one."""
    return f"{requests / 1e6:,.2f}" if requests >= 1e4 else f"{requests / 1e6:.2g}"


def _processing(one: CentreUse) -> str:
    mean = one.processing
    return _growing_mean(mean) if mean is not None and one.busy >= 1 else mean_words(mean)


def _busy(share: float) -> str:
    """A share of processor time in percent, with two digits or all that are whole."""
    return f"{share * 100:.2g}" if share < _WHOLE_PERCENT else f"{share * 100:,.0f}"


_REACH = {Reach.MEETS: "meets it", Reach.MISSES: "misses it", Reach.CANNOT_TELL: "cannot tell"}


def _search_words(found: Simulation, result: Found) -> str:
    aim, need = aim_words(found.scenario)
    if result.choice is not None:
        return f"{' and '.join(result.choice.centres)}: {aim} {need}; {_figure(found.scenario, result.choice)}"
    if result.lack is SearchLack.UNDECIDED:
        return f"cannot tell yet which set has {aim} {need}: intervals of the simulation are too wide; more --runs help"
    assert found.scenario.search is not None
    sets = f"no set of at most {counted(found.scenario.search.choose, 'data centre')} comes {need}"
    holding = [one for one in result.options if not one.overloaded]
    if not holding:
        return f"{sets}: each is asked for more than it can do"
    best = min(holding, key=lambda one: one.overall.value)
    return f"{sets}; the fastest over all is {' and '.join(best.centres)}"


def aim_words(scenario: Scenario) -> tuple[str, str]:
    """What a search is for, and the need that a set has to meet."""
    wanted = scenario.search
    assert wanted is not None
    if wanted.budget is not None:
        money = f"{money_words(wanted.budget)} {wanted.budget.currency}"
        return "the least response time", f"for at most {money} in {_span(scenario)}"
    assert wanted.target_s is not None
    where = "at each base" if wanted.each else "over all requests"
    time = format_quantity(wanted.target_s, "s")
    if wanted.share is not None:
        return "the least cost", f"with {wanted.share * 100:g} % of requests within {time} {where}"
    return "the least cost", f"with a mean of at most {time} {where}"


def _figure(scenario: Scenario, option: SetOption) -> str:
    where = "over all requests" if option.worst == "overall" else f"in {option.worst}, its furthest base"
    cost = f"; {money_words(option.cost)} {option.cost.currency}" if option.cost else ""
    if scenario.search and scenario.search.share is not None:
        return f"{mean_words(option.figure, 100, 2)} % {where}{cost}"
    return f"{mean_words(option.figure)} ms {where}{cost}"


def _sets(scenario: Scenario, result: Found) -> Grid:
    assert scenario.search is not None
    share = scenario.search.share is not None
    rows = tuple(_set_row(one, share=share) for one in result.options[:_SETS])
    more = len(result.options) - len(rows)
    currency = next((one.cost.currency for one in result.options if one.cost), "cost")
    heads = ("data centres", "furthest", Head("% within" if share else "its mean"), Head("all"), Head(currency), "")
    note = "cannot tell: the target is within the interval" + (f"; {more} more sets in --json" if more > 0 else "")
    return Grid(f"Sets of data centres: {' '.join(aim_words(scenario))} [{ORIGIN}]", heads, rows, note)


def _set_row(one: SetOption, *, share: bool) -> tuple[str | None, ...]:
    figure = mean_words(one.figure, 100, 2) if share else mean_words(one.figure)
    overall, reach = mean_words(one.overall), _REACH[one.reach]
    if one.overloaded:
        figure = figure if share else _growing_mean(one.figure)
        overall, reach = _growing_mean(one.overall), "overloaded"
    return " and ".join(one.centres), one.worst, figure, overall, money_words(one.cost), reach
