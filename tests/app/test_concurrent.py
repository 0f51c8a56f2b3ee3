"""Looks side by side: a cloud that hangs is told as such, in time, and holds up neither the others nor whoever leaves.

The clouds are emulations of the tests' own (tests/emulated); here one of them answers far too late.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.app.concurrent import run_concurrently
from tests.emulated.digitalocean import digitalocean
from tests.emulated.faults import Fault
from tests.emulated.linode import linode
from tests.emulated.longtail import Faults

HANGS = Faults(at=(Fault("*", "late", times=10_000, seconds=600.0),))
# The deadlines are shortened, so that no test waits a minute: all else is the command as it is.
SHORT = """
import sys
from cloudcmp.app.check import preflight as checking
from cloudcmp.app import sweep as sweeping
checking.LOOK_S = float(sys.argv.pop(1))
sweeping.sweep.__kwdefaults__["within_s"] = checking.LOOK_S
sys.argv[0] = "cloudcmp"
from cloudcmp.cli.entry import main
main()
"""


@pytest.fixture
def clouds() -> Iterator[dict[str, str]]:
    """What leads to two emulated clouds: DigitalOcean's hangs at every call, Linode's answers."""
    with digitalocean(HANGS) as hanging, linode() as quick:
        yield {**hanging.environ, **quick.environ}


def begun(within_s: float, environ: Mapping[str, str], home: Path, *words: str) -> "subprocess.Popen[str]":
    home.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", SHORT, str(within_s), *words], env={**os.environ, "HOME": str(home), **environ},
        cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_cloud_that_hangs_is_a_finding_and_the_other_is_told_in_full(clouds: dict[str, str], tmp_path: Path) -> None:
    out, err = begun(8.0, clouds, tmp_path, "check", "digitalocean", "linode", "--json").communicate(timeout=60)
    findings = json.loads(out)["data"]["findings"]
    late = [one for one in findings if one["provider"] == "digitalocean" and one["what"] == "answer"]
    assert [(one["ok"], one["text"]) for one in late] == [(False, "it did not answer within 8 s")]
    assert "network" in late[0]["next"]
    told = {one["what"]: one["ok"] for one in findings if one["provider"] == "linode"}
    assert told["credentials"] is True
    assert "answer" not in told
    assert err == ""


def test_who_is_waited_for_is_told_aside_with_the_time_left(clouds: dict[str, str], tmp_path: Path) -> None:
    out, err = begun(3.0, clouds, tmp_path, "check", "linode", "digitalocean").communicate(timeout=60)
    (line,) = err.splitlines()
    assert re.fullmatch(r"waiting for (linode, )?digitalocean: [01] of 2 answered, at most \d\.\d s left", line)
    assert "waiting" not in out
    assert out.index("linode") < out.index("digitalocean"), "as they were named"


def test_all_that_is_told_fits_a_terminal_and_no_mark_is_broken(clouds: dict[str, str], tmp_path: Path) -> None:
    words = {key: value for key, value in clouds.items() if not key.startswith("DIGITALOCEAN")}
    process = begun(30.0, {**words, "COLUMNS": "80"}, tmp_path, "check", "linode", "vultr", "qemu", "local", "ssh")
    out, _ = process.communicate(timeout=60)
    assert max(map(len, out.splitlines())) <= 80
    assert "? unknown" in out
    assert "vultr     credentials  ! not ok" in out
    assert "a study could not start on vultr: see credentials" in out
    assert process.returncode == 1


def test_a_dry_sweep_names_the_place_that_hangs_and_lists_the_other(clouds: dict[str, str], tmp_path: Path) -> None:
    process = begun(3.0, clouds, tmp_path, "sweep", "digitalocean", "linode", "--json")
    out, _ = process.communicate(timeout=60)
    (line,) = json.loads(out)["data"]["unlisted"]
    assert "digitalocean: it did not answer within 3 s" in line
    assert process.returncode == 3


@pytest.mark.parametrize("verb", ["check", "sweep"])
def test_p08_who_interrupts_a_look_at_a_cloud_that_hangs_leaves_at_once(
    clouds: dict[str, str], tmp_path: Path, verb: str
) -> None:
    process = begun(300.0, clouds, tmp_path, verb, "digitalocean", "linode")
    assert process.stderr is not None
    assert re.match(r"waiting for .*digitalocean", process.stderr.readline())
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - asked < 20.0  # the cloud would answer after ten minutes
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in out + err


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.01, 600.0]), max_size=5))
@settings(max_examples=20, deadline=None)
def test_exactly_those_are_late_that_are_not_over(takes_s: dict[str, float]) -> None:
    over: list[str] = []

    async def look(name: str) -> None:
        await asyncio.sleep(takes_s[name])
        over.append(name)

    async def all_of_them() -> frozenset[str]:
        return await run_concurrently({name: look(name) for name in takes_s}, 0.1)

    late = asyncio.run(all_of_them())
    assert late == {name for name, seconds in takes_s.items() if seconds > 1.0}
    assert {*over} == {*takes_s} - late


def test_what_a_look_raises_is_raised_and_cuts_the_others_short() -> None:
    cut: list[str] = []

    async def wrong() -> None:
        raise ZeroDivisionError

    async def long() -> None:
        try:
            await asyncio.sleep(600.0)
        finally:
            cut.append("long")

    async def both() -> Any:
        return await run_concurrently({"long": long(), "wrong": wrong()}, 600.0)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(both())
    assert cut == ["long"]


def test_the_time_left_is_told_after_two_seconds_then_every_ten_and_never_negative() -> None:
    told: list[str] = []
    now = [0.0]

    def clock() -> float:
        now[0] += 0.5
        return now[0]

    async def long() -> None:
        await asyncio.sleep(600.0)

    async def waited(within_s: float) -> frozenset[str]:
        looks = {"one": long(), "other": asyncio.sleep(0.0)}
        return await run_concurrently(looks, within_s, told.append, clock)

    # Each look at the clock is half a second: real pauses are cut to nothing by an event loop that does not wait.
    async def hurried() -> frozenset[str]:
        wait = asyncio.wait

        async def at_once(tasks: Any, **how: Any) -> Any:
            return await wait(tasks, **{**how, "timeout": min(how["timeout"], 0.001)})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio, "wait", at_once)
            return await waited(25.0)

    assert asyncio.run(hurried()) == {"one"}
    assert told == [
        "waiting for one: 1 of 2 answered, at most 23 s left",
        "waiting for one: 1 of 2 answered, at most 13 s left",
        "waiting for one: 1 of 2 answered, at most 3.0 s left",
    ]
