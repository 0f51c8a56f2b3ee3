"""Figures of platforms: response and finishing times, cold starts, and how fast instances came under load."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from cloudcmp.model.platform import (
    Centre,
    ColdStart,
    Page,
    PageFigure,
    PlatformRun,
    Request,
    ScaleOut,
    Stage,
)
from cloudcmp.stats import describe

ENOUGH_INSTANCES = 6
"""From so many values on a median has a distribution-free interval at 95 %."""
TASKS = frozenset({Page.CPU, Page.MEMORY, Page.DISK})
_PART = 0.2


def centre_of(requests: Sequence[Request], value: Callable[[Request], float | None]) -> Centre | None:
    """The median of a value of some requests; None without any.

    The unit of replication is an instance: values of one process resemble each other. With fewer than six instances,
    the median and its interval are those of the requests, and `of_instances` is false.
    """
    by_instance: dict[str, list[float]] = {}
    for one in requests:
        if (found := value(one)) is not None and one.handler is not None:
            by_instance.setdefault(one.handler.instance, []).append(found)
    if not by_instance:
        return None
    each = [one for values in by_instance.values() for one in values]
    of_instances = len(by_instance) >= ENOUGH_INSTANCES
    values = [describe.median(one) for one in by_instance.values()] if of_instances else each
    bounds = describe.median_interval(values)
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    return Centre(describe.median(values), low, high, len(each), len(by_instance), of_instances)


def page_figures(run: PlatformRun) -> tuple[PageFigure, ...]:
    """The figures of each page of each platform in the rounds, without the first request of an instance.

    A first request is a cold start: it counts there, see `cold_starts`.
    """
    rounds = [one for one in run.requests if one.stage is Stage.ROUNDS]
    figures = []
    for platform in range(len(run.platforms)):
        own = [one for one in rounds if one.platform == platform]
        for page in dict.fromkeys(one.page for one in own):
            figures.append(_page_figure(platform, page, [one for one in own if one.page is page]))
    order = list(Page)
    return tuple(sorted(figures, key=lambda one: (order.index(one.page), one.platform)))


def _page_figure(platform: int, page: Page, some: Sequence[Request]) -> PageFigure:
    warm = [one for one in some if is_warm(one)]
    task = centre_of(warm, lambda one: one.handler.task_s if one.handler else None) if page in TASKS else None
    return PageFigure(
        platform,
        page,
        centre_of(warm, lambda one: one.response_s),
        task,
        sum(not one.reason for one in some),
        len(some),
        any(one.handler is not None and one.handler.disk_in_memory for one in some),
    )


def is_warm(one: Request) -> bool:
    """True for an answer of a process that had answered before."""
    return not one.reason and one.handler is not None and not one.handler.first


def outside_s(one: Request) -> float | None:
    """The response time without the handler's own, s: network, platform and start; None without a whole answer."""
    if one.response_s is None or one.handler is None or one.handler.took_s is None:
        return None
    return one.response_s - one.handler.took_s


def cold_starts(run: PlatformRun) -> tuple[ColdStart, ...]:
    """How much longer the first request of each new instance took than warm ones, for each platform.

    Both are without the handler's own time, and the warm ones are those of the same page in the rounds. Does not see a
    start that no request waited for, nor that a new process does its first work more slowly.
    """
    return tuple(_cold_start(run, platform) for platform in range(len(run.platforms)))


def _cold_start(run: PlatformRun, platform: int) -> ColdStart:
    warm = warm_medians(run, platform)
    values = [value for _, value in first_requests(run, platform)]
    warm_s = warm.get(Page.PIXEL)
    if not values:
        return ColdStart(platform, (), None, warm_s)
    bounds = describe.median_interval(values)
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    count = len(values)
    return ColdStart(platform, tuple(values), Centre(describe.median(values), low, high, count, count, True), warm_s)


def first_requests(run: PlatformRun, platform: int) -> Iterator[tuple[Request, float]]:
    """Yield each first request of a process of a platform, with the time by which it exceeds warm ones of its page."""
    warm = warm_medians(run, platform)
    for one in run.requests:
        took_s = outside_s(one)
        if one.platform == platform and one.handler and one.handler.first and took_s is not None and one.page in warm:
            yield one, took_s - warm[one.page]


def warm_medians(run: PlatformRun, platform: int) -> dict[Page, float]:
    """The median time outside the handler of each page's warm requests in the rounds, s."""
    by_page: dict[Page, list[float]] = {}
    for one in run.requests:
        if one.platform == platform and one.stage is Stage.ROUNDS and is_warm(one):
            took_s = outside_s(one)
            if took_s is not None:
                by_page.setdefault(one.page, []).append(took_s)
    return {page: describe.median(values) for page, values in by_page.items()}


def scale_outs(run: PlatformRun) -> tuple[ScaleOut, ...]:
    """How instances and answers grew after the step of load, for each platform that had one."""
    loads = {at: [one for one in run.requests if one.platform == at and one.stage is Stage.LOAD]
             for at in range(len(run.platforms))}  # fmt: skip
    return tuple(_scale_out(at, run.load, some) for at, some in loads.items() if some)


def _scale_out(platform: int, asked: int, some: Sequence[Request]) -> ScaleOut:
    began = min(one.at_s for one in some)
    ends = sorted((one.at_s + one.response_s - began, one.handler.instance) for one in some
                  if one.response_s is not None and one.handler is not None)  # fmt: skip
    seen: dict[str, float] = {}
    for end_s, instance in ends:
        seen.setdefault(instance, end_s)
    # The last answers come after the last requests: a rate is taken within the time in which requests were sent.
    lasted_s = max(one.at_s for one in some) - began
    refusals = Counter(one.reason for one in some if one.reason)
    return ScaleOut(
        platform=platform,
        asked=asked,
        lasted_s=lasted_s,
        points=tuple(seen.values()),
        ok=len(ends),
        started=len(some),
        rate_before=_rate((end_s for end_s, _ in ends), 0.0, lasted_s * _PART),
        rate_after=_rate((end_s for end_s, _ in ends), lasted_s * (1 - _PART), lasted_s),
        refusals=tuple(refusals.most_common()),
    )


def _rate(times: Iterable[float], begin: float, end: float) -> float:
    return sum(begin <= at < end for at in times) / (end - begin) if end > begin else 0.0
