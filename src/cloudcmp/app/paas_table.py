"""The requests of a measurement of platforms as a tidy table: an offering for each platform, a launch for each process.

Rounds are left out: one process answers in many of them, and a launch belongs to one.
"""

from collections.abc import Iterator

from cloudcmp.analysis.platforms import TASKS, first_requests, is_warm
from cloudcmp.model.platform import PlatformRun, Request, Stage
from cloudcmp.store.tidy import TidyCell, TidyColumns, TidyPlace

NO_INSTANCE = "none"
"""The launch of requests that no process answered."""
_OUTCOMES = ("ok", "failed")
Row = tuple[int, str, TidyCell, float | None, float]


def table_of(run: PlatformRun) -> TidyColumns:
    """Responses and tasks of the warm requests of the rounds, failures, and each cold start, all in seconds."""
    import numpy as np

    rows = list(_rows(run))
    places = {one: at for at, one in enumerate(dict.fromkeys((platform, instance) for platform, instance, *_ in rows))}
    cells = {one: at for at, one in enumerate(dict.fromkeys(cell for _, _, cell, *_ in rows))}
    return TidyColumns(
        places=tuple(TidyPlace("", "", run.platforms[at].name, instance, None, "") for at, instance in places),
        cells=tuple(cells),
        outcomes=_OUTCOMES,
        place=np.array([places[platform, instance] for platform, instance, *_ in rows], np.int32),
        cell=np.array([cells[cell] for _, _, cell, *_ in rows], np.int32),
        outcome=np.array([value is None for *_, value, _ in rows], np.int32),
        value=np.array([np.nan if value is None else value for *_, value, _ in rows], np.float64),
        time=np.array([at for *_, at in rows], np.float64),
    )


def _rows(run: PlatformRun) -> Iterator[Row]:
    for one in run.requests:
        if one.stage is Stage.ROUNDS and (one.reason or is_warm(one)):
            yield from _request(run, one)
    for platform in range(len(run.platforms)):
        for one, cold_s in first_requests(run, platform):
            cell = TidyCell("cold_start_s", "", "s", "lower", "yes")
            yield platform, _instance(one), cell, cold_s, run.started_at + one.at_s


def _request(run: PlatformRun, one: Request) -> Iterator[Row]:
    at = run.started_at + one.at_s
    response_s = None if one.reason else one.response_s
    response = TidyCell("handler_response_s", f"page={one.page.value}", "s", "lower")
    yield one.platform, _instance(one), response, response_s, at
    if one.page in TASKS and one.handler is not None and one.handler.task_s and response_s is not None:
        task = TidyCell("handler_task_s", f"task={one.page.value}", "s", "lower")
        yield one.platform, _instance(one), task, one.handler.task_s, at


def _instance(one: Request) -> str:
    return one.handler.instance if one.handler is not None else NO_INSTANCE
