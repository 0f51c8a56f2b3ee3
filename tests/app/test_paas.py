"""A measurement of platforms that is interrupted keeps what it has."""

import time
from pathlib import Path

import pytest

from cloudcmp.app.paas import PaasQuestion, measure, platforms_of, save
from cloudcmp.execute.platforms.connection import target_of
from cloudcmp.execute.platforms.rounds import Course
from cloudcmp.model.platform import PlatformRun, Stage
from tests.execute.local_platforms import TOKEN, Plan, cloud_run


def test_what_was_measured_before_an_interruption_is_kept(tmp_path: Path) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    kept: list[PlatformRun] = []
    with cloud_run(Plan(), tmp_path) as local:
        asked = PaasQuestion(rounds=1, idle_times=3)
        course = Course(time.perf_counter(), sleep=interrupt)
        with pytest.raises(KeyboardInterrupt):
            measure(platforms_of([f"one={local.url}"]), [target_of(local.url, TOKEN)], asked, lambda _: None, course,
                    kept.append)  # fmt: skip
    (run,) = kept
    assert [one.stage for one in run.requests] == [Stage.FIRST, *[Stage.ROUNDS] * 5]
    # Five responses, three tasks, and the cold start of the first request.
    assert save(run, tmp_path / "kept.csv") == 9
