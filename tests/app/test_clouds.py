"""Studies on several clouds: emulated ones with SSH servers as machines, a machine of one's own, and real guests."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from cloudcmp.errors import CloudcmpError
from cloudcmp.provider.qemu.image import cache_folder, small_image
from cloudcmp.provider.qemu.program import find_program
from tests.app.cloud_walk import kills, walk
from tests.app.clouds import Sky, clouds, unable
from tests.emulated.boot import told
from tests.emulated.guests import missing
from tests.emulated.kinds import KINDS, kind
from tests.slices import long, some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

OWNED = "  - {provider: ssh, offering: box}\n"
GUESTS = "  - {provider: qemu, region: local, offering: 1cpu-128mb, count: 2}\n"
STUDY = """\
schema: 1
question: Where does it run best, rented, owned or in a guest?
candidates:
%(candidates)sprobes:
  - {probe: int, params: {threads: one, duration_s: 0.2}}
%(between)s  - {probe: scaling, params: {count: %(counts)s}}
launches: 1
runs: 1
budget: 1 USD
"""
BETWEEN = """\
  - {probe: rtt, params: {path: zone, duration_s: 0.2}}
  - {probe: tcp, params: {path: zone, duration_s: 0.2}}
"""


def no_guests() -> str:
    """Why no guest can be booted here, empty where it can; the first time fetches and builds what they need."""
    if missing():
        return str(missing())
    try:
        small_image(cache_folder())
        find_program(cache_folder())
    except CloudcmpError as error:
        return str(error)
    return ""


def keys_kept(sky: Sky) -> list[str]:
    """Machines that ended with the host key of their user data, which others may read (P23)."""
    given = {
        told(kind(name).user_data(call))[0].public
        for name, cloud in sky.clouds.items()
        for call in kind(name).machines(cloud)
    }
    shown = {one: one.read_text().strip() for one in sky.folder.glob("machines/*/*/.machine/host_key.pub")}
    some = [] if shown else ["no machine's host key was seen"]
    return some + [f"{file.parts[-3]} kept its host key" for file, key in shown.items() if key in given]


def reasons(study: Path) -> list[tuple[str, str]]:
    """The outcomes of the attempts that were not ok, and why."""
    with contextlib.closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as database:
        return database.execute("SELECT outcome, why FROM attempt WHERE outcome IS NOT 'ok'").fetchall()


def wrong(folder: Path, cloud: str, others: str) -> list[str]:
    """All that is wrong with one study from launch to report, on a cloud and beside it."""
    where, counts = kind(cloud), "[1, 2]" if "count: 2" in others else "1"
    with clouds(folder, (cloud,)) as sky:
        (folder / "study.yaml").write_text(
            STUDY
            % {
                "candidates": where.rented(where.also) + others,
                "counts": counts,
                "between": "" if where.alone else BETWEEN,
            }
        )
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        assert ran.code == 0, ran.out + ran.err
        data = ran.json["data"]
        found = [f"left: {one}" for one in [*data["left"], *sky.left()]] + sky.harm() + sky.bodies()
        found += [f"without intent: {one}" for one in sky.unwritten]
        figures = [one for one in data["estimates"] if one["n_started"]]
        if short := [one["cell"] for one in figures if one["n_ok"] != one["n_started"]]:
            found += [f"{short}: {reasons(sky.folder / 'out' / 'study.db')}"]
        measured = {(one["candidate"], one["cell"].split()[0]) for one in figures}
        pairs = range(0, len(data["candidates"]), 2)  # rented machines and guests, of which each launch takes two
        wanted = {
            (n, cell)
            for n in pairs
            for cell in ("scaling_latency_s", *(() if where.alone else ("rtt_s", "tcp_bytes_per_s")))
        }
        wanted |= {(n, "int_op_per_s") for n in range(len(data["candidates"]))}
        found += [f"not measured: {one}" for one in sorted(wanted - measured)]
        made = where.machines(sky.clouds[cloud])
        machines = 1 if where.alone else 2
        found += [] if len(made) == machines else [f"{len(made)} machines were asked for, not {machines}"]
        found += keys_kept(sky)
        report = (folder / data["report"]).read_text()
        found += [f"{word} is not in the report" for word in (where.offering, "box") if word not in report]
        return found


@pytest.mark.parametrize("cloud", some(tuple(KINDS), 1, 0))
def test_p01_p05_one_study_runs_on_rented_and_owned_machines(cloud: str, tmp_path: Path) -> None:
    assert wrong(tmp_path / "sky", cloud, OWNED) == []


@long  # guests from launch to report: tests/provider/test_qemu_guests.py
def test_p01_p05_one_study_runs_on_rented_and_owned_machines_and_on_guests(tmp_path: Path) -> None:
    if why := no_guests():
        pytest.skip(f"no guest can be booted here: {why}")
    assert wrong(tmp_path / "sky", "aws", OWNED + GUESTS) == []


@long
def test_p01_a_study_on_two_clouds_that_died_leaves_nothing_after_cleanup(tmp_path: Path) -> None:
    points = some(["cloud.after_create", "lease.after_commit"], 1, 0)
    toll = walk(tmp_path, points, most=2)
    assert toll.wrong == []
    assert toll.deaths == 2 * len(points)


@long
def test_p01_one_that_died_goes_on_and_leaves_nothing(tmp_path: Path) -> None:
    points = some(["cloud.after_destroy", "finish.after_commit"], 1, 1)
    toll = walk(tmp_path, points, mend="resume", most=1)
    assert toll.wrong == []
    assert toll.deaths == len(points)


def test_p01_a_cleanup_that_dies_is_done_again(tmp_path: Path) -> None:
    points = some(["cloud.before_destroy", "cloud.after_gone"], 1, 0)
    toll = walk(tmp_path, points, verb="cleanup", most=1)
    assert toll.wrong == []
    assert toll.deaths == len(points)


@long
@pytest.mark.parametrize("seed", some([20260105, 20260106], 1, 0))
def test_p01_p16_controllers_killed_at_any_moment_leave_nothing_and_lose_nothing(seed: int, tmp_path: Path) -> None:
    toll = kills(tmp_path, 2, seed)
    assert toll.wrong == []
    assert toll.deaths == 2
