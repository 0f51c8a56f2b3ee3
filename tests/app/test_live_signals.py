"""Signals for `check --live`: once all that was made is ended, twice what is left is listed, always in words.

The cloud is an emulation, see clouds.py.
"""

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudcmp.cli.output import guarded
from tests.app.clouds import Sky, clouds, unable
from tests.app.test_stopping import SECOND_S, unsaid
from tests.app.warm import SHORT, Job, warmth
from tests.slices import long, some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

LIVE = ("check", "--live", "aws", "--budget", "1 USD", "--region", "us-east-1", "--offering", "t3.micro",
        "--price", "0.0104 USD/h", "--allow", "127.0.0.1/32")  # fmt: skip


@pytest.fixture
def sky(tmp_path: Path) -> Iterator[Sky]:
    with clouds(tmp_path, cheap=True) as one:
        yield one


def begun(sky: Sky, *more: str) -> Job:
    """A try-out that has made a machine."""
    job = warmth().start([*LIVE, *more], sky.environ, sky.folder, SHORT)
    _until(job, lambda: any(" instance " in one for one in sky.left()))
    return job


def _until(job: Job, so) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 60.0
    while not so():
        assert job.code() is None, job.said()
        assert time.monotonic() < end, job.said()
        time.sleep(0.02)


def folders(sky: Sky) -> list[Path]:
    return list((sky.folder / "cloudcmp-studies").iterdir())


@long
@pytest.mark.parametrize("numbers", some([(signal.SIGTERM,), (signal.SIGINT,), (signal.SIGHUP, signal.SIGHUP)], 1, 2))
def test_p08_one_signal_ends_a_try_out_and_nothing_is_left(sky: Sky, numbers: tuple[int, ...]) -> None:
    job = begun(sky)
    for number in numbers:
        job.kill(number)
    assert job.wait(60.0) == 130, job.said()
    assert sky.left() == []
    assert "Stopped on request: " in job.said()
    assert "Everything that was created is confirmed gone." in job.said()
    assert "Traceback" not in job.said()
    assert "run --resume" not in job.said()
    assert folders(sky) == []


@long
def test_p08_a_second_signal_leaves_a_try_out_with_the_list_of_what_is_left(sky: Sky) -> None:
    sky.cloud.inject("RunInstances", "late", first=2, seconds=60.0)  # the machine is there, its answer is lost
    job = begun(sky)
    with sky.offline():  # so that nothing can be seen gone
        time.sleep(1.0)  # in which other promises are tried, and nothing more is asked for
        job.kill(signal.SIGTERM)
        _until(job, lambda: "once more to leave at once" in job.said())
        time.sleep(0.3)
        job.kill(signal.SIGTERM)
        began = time.monotonic()
        assert job.wait(30.0) == 130, job.said()
        assert time.monotonic() - began < SECOND_S
    assert "Traceback" not in job.said()
    (folder,) = folders(sky)
    assert sky.left()
    assert unsaid(sky, folder, " ".join(job.said().split())) == []
    assert f"end it with: cloudcmp cleanup {folder.relative_to(sky.folder)}" in job.said()
    assert sky.cloudcmp("cleanup", folder, within_s=60.0).code == 0  # nothing else needs to be looked for
    assert sky.left() == []


def test_p08_who_stops_a_try_out_before_anything_is_made_waits_for_no_answer(sky: Sky) -> None:
    sky.cloud.inject("RunInstances", "late", seconds=30.0)  # a dry run: whether it may be done
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before = len(sky.cloud.calls("RunInstances"))
        job = warmth().start(LIVE, sky.environ, sky.folder, SHORT)
        _until(job, lambda n=before: len(sky.cloud.calls("RunInstances")) > n)
        assert "checking first: aws" in job.said()
        job.kill(number)
        began = time.monotonic()
        assert job.wait(60.0) == 130, job.said()
        assert time.monotonic() - began < SECOND_S
        assert job.said().splitlines()[-1] == "interrupted", number
        assert not (sky.folder / "cloudcmp-studies").exists()
    assert sky.left() == []


def test_p08_a_task_that_is_cut_short_is_an_interruption_and_advises_only_what_helps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def cut(error: BaseException):  # type: ignore[no-untyped-def]
        def action() -> None:
            raise error

        return action

    assert guarded(cut(asyncio.CancelledError()), ["check", "--live", "aws"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert guarded(cut(KeyboardInterrupt()), ["run", "s.yaml"]) == 130
    assert "run --resume" in capsys.readouterr().err
