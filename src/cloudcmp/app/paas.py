"""Measures platforms that run our handler: finishing times, cold starts, scaling under load, limits and cost."""

import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cloudcmp.analysis import platforms as analysis
from cloudcmp.app.option_values import above_zero
from cloudcmp.app.paas_costs import completed, costs_of
from cloudcmp.cost.platform_bills import RULES, PlatformBill, parse_bill
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.execute.platforms.connection import Connection, Target, target_of
from cloudcmp.execute.platforms.limits import Bounds, find_limit
from cloudcmp.execute.platforms.rounds import Course, ask_after_idle, ask_in_rounds, step_load
from cloudcmp.model.platform import (
    Limit,
    LimitKind,
    Page,
    Platform,
    PlatformFigures,
    PlatformRun,
    Request,
    Stage,
)
from cloudcmp.units import format_seconds, parse_bytes, parse_seconds

MOST_PLATFORMS, MOST_ROUNDS, MOST_LOAD, MOST_IDLE = 32, 1000, 500, 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class PaasQuestion:
    """What is asked of platforms: rounds, first requests after idle times, a step of load, and the search for limits.

    `limits` is None for no search. `bills` are texts `NAME=RULE,...`, see `platform_bills.parse_bill`.
    """

    rounds: int = 20
    idle_times: int = 0
    idle_s: float = 960.0
    load: int = 0
    load_s: float = 30.0
    limits: Bounds | None = None
    bills: tuple[str, ...] = ()
    token: str = ""
    seed: int = 1


def paas(
    named: Sequence[str], asked: PaasQuestion, *, progress: Callable[[str], None] = lambda _: None,
    interrupted: Callable[[PlatformRun], None] = lambda _: None,
) -> PlatformFigures:  # fmt: skip
    """Measure platforms, `URL` or `NAME=URL` each, and work out all figures; `interrupted` as in `measure`.

    Raises UserMistake for a text that is no URL, a number out of its bounds, and an address at which something else
    than our handler answers; OutsideFault if nothing answers there.
    """
    from cloudcmp.provider.common.authorities import trusted

    platforms = platforms_of(named)
    bills = _bills(asked.bills, platforms)
    _check(asked, len(platforms))
    targets = [target_of(one.url, asked.token, trusted()) for one in platforms]
    run = measure(platforms, targets, asked, progress, interrupted=interrupted)
    return figures_of(run, bills)


def platforms_of(named: Sequence[str]) -> tuple[Platform, ...]:
    """The platforms of texts `URL` or `NAME=URL`; raises UserMistake for a name that is none, or is there twice."""
    found = []
    for text in named:
        name, equals, url = text.partition("=")
        if not equals or "/" in name or ":" in name:
            name, url = "", text
        elif not _NAME.fullmatch(name):
            raise UserMistake.at(text, f"{name!r} is no name of a platform", "use letters, digits, dots and dashes")
        found.append(Platform(name or _host(url), url))
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserMistake.at(twice, "two platforms have this name", "name each, such as one=https://one.example.org")
    if len(found) > MOST_PLATFORMS:
        raise UserMistake.at("cloudcmp paas", f"{len(found)} platforms are too many", f"give at most {MOST_PLATFORMS}")
    return tuple(found)


def _host(url: str) -> str:
    target_of(url)
    return urlsplit(url).netloc[:40]


def _bills(texts: Sequence[str], platforms: Sequence[Platform]) -> Mapping[int, PlatformBill]:
    places = {one.name: at for at, one in enumerate(platforms)}
    bills: dict[int, PlatformBill] = {}
    for text in texts:
        name, equals, rule = text.partition("=")
        if not equals or name not in places:
            known = ", ".join(places)
            what = f"{name!r} is none of the platforms"
            raise UserMistake.at("--bill", what, f"write NAME=RULE with NAME of {known} and RULE of {', '.join(RULES)}")
        bills[places[name]] = parse_bill(rule)
    return bills


def _check(asked: PaasQuestion, platforms: int) -> None:
    bounds = (("--rounds", asked.rounds, 1, MOST_ROUNDS), ("--cold-starts", asked.idle_times, 0, MOST_IDLE),
              ("--load", asked.load, 0, MOST_LOAD), ("--idle", asked.idle_s, 0, 86_400.0),
              ("--load-time", asked.load_s, 1, 600.0))  # fmt: skip
    for option, value, least, most in bounds:
        if not (math.isfinite(value) and least <= value <= most):
            raise UserMistake.at(option, f"{value:g} is not between {least:g} and {most:g}", "choose a number in it")
    if not platforms:
        raise UserMistake.at("cloudcmp paas", "no URL is given", "write e.g. cloudcmp paas https://handler.example.org")


def measure(
    platforms: Sequence[Platform], targets: Sequence[Target], asked: PaasQuestion, progress: Callable[[str], None],
    course: Course | None = None, interrupted: Callable[[PlatformRun], None] = lambda _: None,
) -> PlatformRun:  # fmt: skip
    """Send all requests, in this order: one each, rounds, idle times, load, limits.

    `interrupted` gets what there is if the measurement is interrupted, which then goes on being raised.

    Raises UserMistake and OutsideFault if the first request to a platform is not answered by our handler.
    """
    course, started_at = course or Course(time.perf_counter()), time.time()
    connections = [Connection(one, course.clock) for one in targets]
    found: list[Request] = []
    limits: list[Limit] = []
    try:
        for request in _requests(course, platforms, targets, connections, asked, progress):
            found.append(request)
        limits.extend(_limits(connections, platforms, asked, progress))
    except KeyboardInterrupt:
        interrupted(PlatformRun(tuple(platforms), tuple(found), (), started_at, asked.seed, asked.load))
        raise
    finally:
        for connection in connections:
            connection.close()
    return PlatformRun(tuple(platforms), tuple(found), tuple(limits), started_at, asked.seed, asked.load)


def _requests(
    course: Course, platforms: Sequence[Platform], targets: Sequence[Target], connections: Sequence[Connection],
    asked: PaasQuestion, progress: Callable[[str], None],
) -> Iterator[Request]:  # fmt: skip
    order = random.Random(asked.seed)
    for at, connection in enumerate(connections):
        yield _first(course, connection, at, platforms[at])
    if asked.limits is not None:
        _check_limits(connections, platforms)
    yield from ask_in_rounds(course, connections, list(Page), asked.rounds, order, progress)
    yield from ask_after_idle(course, connections, asked.idle_times, asked.idle_s, order, progress)
    for at, target in enumerate(targets if asked.load else ()):
        progress(f"{platforms[at].name}: {asked.load} requests in flight for {format_seconds(asked.load_s)}")
        yield from step_load(course, target, at, asked.load, asked.load_s)


def _first(course: Course, connection: Connection, at: int, platform: Platform) -> Request:
    one = course.ask(connection, at, Stage.FIRST, Page.PIXEL)
    if one.reason == "status 401":
        raise UserMistake.at(platform.url, "the handler wants a token", "set CLOUDCMP_SERVE_TOKEN to the handler's own")
    if one.response_s is None and not one.reason.startswith("status"):
        raise OutsideFault.at(platform.url, f"no answer: {one.reason}", "see that the handler runs and can be reached")
    if one.handler is None:
        what = f"something answers ({one.reason})" if one.reason else "something answers"
        next_ = "deploy `cloudcmp-agent serve`, see docs/how-to/measure-a-platform.md"
        raise UserMistake.at(platform.url, f"{what}, and it is not our handler", next_)
    return one


def _check_limits(connections: Sequence[Connection], platforms: Sequence[Platform]) -> None:
    for connection, platform in zip(connections, platforms, strict=True):
        if connection.get("/wait?seconds=0").reason == "status 403":
            raise UserMistake.at(platform.url, "its handler finds no limits", "start it with --limits")


def _limits(
    connections: Sequence[Connection], platforms: Sequence[Platform], asked: PaasQuestion,
    progress: Callable[[str], None],
) -> Iterator[Limit]:  # fmt: skip
    for at, connection in enumerate(connections if asked.limits is not None else ()):
        for kind in LimitKind:
            progress(f"{platforms[at].name}: looking for the limit of {kind.value}")
            yield find_limit(connection, at, kind, asked.limits or Bounds())


def figures_of(run: PlatformRun, bills: Mapping[int, PlatformBill]) -> PlatformFigures:
    """All figures of a measurement, with the cost of each page on the platforms that have a rule."""
    memory = tuple(_memory_of(run, at) for at in range(len(run.platforms)))
    return PlatformFigures(
        run=run,
        pages=analysis.page_figures(run),
        cold_starts=analysis.cold_starts(run),
        scale_outs=analysis.scale_outs(run),
        costs=costs_of(run, {at: completed(bill, memory[at]) for at, bill in sorted(bills.items())}),
        memory_bytes=memory,
    )


def _memory_of(run: PlatformRun, platform: int) -> int | None:
    """The memory that the handler says it may use; None if it says none, or several."""
    sizes = {one.handler.memory_bytes for one in run.requests if one.platform == platform and one.handler}
    return sizes.pop() if len(sizes) == 1 else None


def save(run: PlatformRun, path: Path) -> int:
    """Write every request as a tidy table, which `cloudcmp import` reads; returns the number of rows.

    Raises UserMistake if another file has the name.
    """
    from cloudcmp.app.paas_table import table_of
    from cloudcmp.store import tidy
    from cloudcmp.store.output_files import check_replaceable
    from cloudcmp.store.tidy_write import write_csv

    check_replaceable(path, "tidy table", tidy.is_tidy)
    table = table_of(run)
    write_csv(path, table)
    return len(table.value)


def seconds(option: str, text: str) -> float:
    """The seconds of an option's text; raises UserMistake."""
    return above_zero(option, text, parse_seconds, "60 s")


def size(option: str, text: str) -> int:
    """The bytes of an option's text; raises UserMistake."""
    return above_zero(option, text, parse_bytes, "64 MB")
