"""Sweeps and cleanups over all emulated clouds at once: from an empty home, among look-alikes, with one unreachable."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.cloud_walk import OWNED, Stand, rented
from tests.app.clouds import Sky, clouds, unable
from tests.app.test_stopping import LONG, leases
from tests.app.warm import SHORT, Job, warmth
from tests.emulated.decoys import DECOYS, OURS
from tests.emulated.kinds import KINDS, LARGE, kind
from tests.slices import long, some

ALL = LARGE
needs_studies = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")


def swept(sky: Sky, home: Path, *words: str) -> Job:
    """`cloudcmp sweep` of all these clouds, where nothing but their credentials is known; it has ended."""
    home.mkdir(exist_ok=True)
    pointed = {name: value for cloud in sky.clouds.values() for name, value in cloud.environ.items()}
    kept = {name: sky.environ[name] for name in ("PATH", "PYTHONPATH", "COLUMNS", "TERM") if name in sky.environ}
    job = warmth().start(["sweep", *sky.clouds, *words], {**kept, **pointed, "HOME": str(home)}, sky.folder, SHORT)
    job.wait()
    return job


def died(stand: Stand) -> Path:
    """The folder of a study whose controller died when everything was there."""
    (stand.sky.folder / "study.yaml").write_text(LONG % "".join(stand.candidates))
    out = stand.folder()
    assert stand.begin("run", out, f"cloud.after_create:{stand.leased}").wait() == -9
    return out


def document(job: Job) -> Any:
    """The JSON document that a command printed first."""
    said = job.said()
    return json.JSONDecoder().raw_decode(said[said.index("{") :])[0]["data"]


def swept_amid(folder: Path, which: Sequence[str], n: int) -> list[str]:
    """Plants so many look-alikes in each cloud, and what one old study left; sweeps all at once; what is wrong."""
    wrong: list[str] = []
    with clouds(folder, which, cheap=True) as sky:
        for name, cloud in sky.clouds.items():
            place = kind(name)
            for number in range(n):
                tags = DECOYS[number // len(place.planted) % len(DECOYS)]
                what = place.planted[number % len(place.planted)]
                cloud.plant(what, place.region, f"cloudcmp-study-a-launch-{number}-1", tags)
        sky.foreign = sky.there()
        for name, cloud in sky.clouds.items():
            for what in kind(name).planted:
                cloud.plant(what, kind(name).region, f"cloudcmp-old-1-{what}-1", OURS)
        ours = len(sky.left())
        wrong += [] if ours >= sum(len(kind(name).planted) for name in which) else [f"only {ours} were planted"]
        home = folder / "empty"
        dry = swept(sky, home)
        wrong += [] if dry.code() == 0 and len(sky.left()) == ours else [f"dry: {dry.code()}: {dry.said()[-2000:]}"]
        done = swept(sky, home, "--delete")
        wrong += [] if done.code() == 0 else [f"exit code {done.code()}: {done.said()[-2000:]}"]
        wrong += [f"left: {one}" for one in sky.left()] + sky.harm()
        wrong += [f"the home holds {one.name}" for one in home.iterdir()]
    return wrong


def test_p06_look_alikes_at_every_cloud_survive_and_leftovers_go(tmp_path: Path) -> None:
    assert swept_amid(tmp_path / "sky", tuple(KINDS), 20) == []


@long  # on one cloud each day: tests/app/test_sweep_ec2.py
@needs_studies
def test_p06_a_study_on_all_clouds_whose_folder_is_lost_is_ended_by_its_tag(tmp_path: Path) -> None:
    with Stand(tmp_path / "stand", rented(*ALL)) as stand:
        out, sky = died(stand), stand.sky
        left = sky.left()
        assert {(one.split()[0], one.split()[1]) for one in left} >= {(name, "instance") for name in ALL}
        shutil.rmtree(out)
        home = tmp_path / "home"
        found = document(swept(sky, home, "--json"))["found"]
        (tag,) = {one["study"] for one in found} - {"another"}
        assert {one["provider"] for one in found if one["study"] == tag} == set(ALL)
        done = swept(sky, home, "--study", tag, "--delete")
        assert done.code() == 0, done.said()
        assert "0 left, 0 kept." in " ".join(done.said().split())
        assert sky.left() == []
        assert list(home.iterdir()) == []
        assert stand.seen() == []


@long
@needs_studies
@pytest.mark.parametrize("cloud", some(ALL, 1, 0))
def test_p11_cleanup_ends_all_but_what_is_at_an_unreachable_cloud_and_says_so(cloud: str, tmp_path: Path) -> None:
    """Without waiting for the one, so that the others end at once; and all of it once that one is back."""
    others = [name for name in ALL if name != cloud][:1]
    with Stand(tmp_path, (*rented(cloud, *others), OWNED)) as stand:
        out, sky = died(stand), stand.sky
        with sky.offline(cloud):
            job = stand.begin("cleanup", out, give_up_s=2.0, grace_s=0.5)
            assert job.wait() == 3, job.said()
        told = " ".join(job.said().split())
        open_ones = {name: id for name, (id, event) in leases(out).items() if event not in {"GONE", "REFUSED"}}
        assert open_ones
        assert [name for name, id in open_ones.items() if (id or name) not in told] == []
        assert sky.left()
        assert {one.split()[0] for one in sky.left()} == {cloud}
        assert "USD/h" in told
        assert "Traceback" not in told
        assert stand.mend("cleanup", out) == []


@long
@needs_studies
@pytest.mark.parametrize("cloud", some(ALL, 1, 1))
def test_p06_a_sweep_that_cannot_reach_one_cloud_ends_what_is_at_the_others_and_says_so(
    cloud: str, tmp_path: Path
) -> None:
    which = (cloud, *[name for name in ALL if name != cloud][:1])
    with clouds(tmp_path / "sky", which, cheap=True) as sky:
        for name in which:
            for what in kind(name).planted:
                sky.clouds[name].plant(what, kind(name).region, f"cloudcmp-old-1-{what}-1", OURS)
        with sky.offline(cloud):
            job = swept(sky, tmp_path / "home", "--delete")
        assert job.code() == 3, job.said()
        assert f"{cloud}" in job.said()
        assert "Traceback" not in job.said()
        assert {one.split()[0] for one in sky.left()} == {cloud}
        assert swept(sky, tmp_path / "home", "--delete").code() == 0
        assert sky.left() + sky.harm() == []
