"""Figures of platforms: response and finishing times, cold starts, and how fast instances came under load."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

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


def outside_task_s(one: Request) -> float | None:
    """The response time without the task's, s: what platform, network and start took; None without a whole answer."""
    if one.response_s is None or one.handler is None:
        return None
    return one.response_s - (one.handler.task_s or 0.0)


def cold_starts(run: PlatformRun) -> tuple[ColdStart, ...]:
    """How much longer the first request of each new instance took than warm ones, for each platform.

    Both are without the task's own time; warm ones are those of the same page in the rounds, or of any page that is a
    task where the rounds lack it, since what is left of a task's request is that of a small page. The first request of
    a process that had been idle before it arrived still counts: `age_s` tells. Does not see a start that no request
    waited for.
    """
    return tuple(_cold_start(run, platform) for platform in range(len(run.platforms)))


def _cold_start(run: PlatformRun, platform: int) -> ColdStart:
    own = [one for one in run.requests if one.platform == platform and not one.reason]
    small = [one for one in own if one.page is not Page.TWO_MB]
    warm = [value for one in small if is_warm(one) and one.stage is not Stage.LOAD
            and (value := outside_task_s(one)) is not None]  # fmt: skip
    if not warm:
        return ColdStart(platform, (), None, None)
    warm_s = describe.median(warm)
    first = [one for one in small if one.handler is not None and one.handler.first]
    values = tuple(value - warm_s for one in first if (value := outside_task_s(one)) is not None)
    if not values:
        return ColdStart(platform, (), None, warm_s)
    bounds = describe.median_interval(values)
    low, high = (bounds.low, bounds.high) if bounds else (None, None)
    count = len(values)
    return ColdStart(platform, values, Centre(describe.median(values), low, high, count, count, True), warm_s)


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
