"""Whole studies of Bigtable, seen from this machine: measured, answered, and nothing left, also if one is killed."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud.bigtable_admin_v2 import types
from tests.agent.made_data_sets import serving_or_skip
from tests.app.storage_kills import study_tag
from tests.cli.command import COMMAND, cloudcmp
from tests.emulated.bigtable_instances import BigtableInstances, bigtable_instances
from tests.servers.serving import Served
from tests.slices import long

from cloudcmp.provider.gcp.bigtable_sdk import INSTANCE, TABLE, BigtableSdk

STUDY = """\
schema: 1
question: Which of two equal tables answers sooner?
candidates:
  - {provider: gcp, region: europe-west1, service: table, api: bigtable, name: one, from: local, prices: PRICES}
  - {provider: gcp, region: europe-west1, service: table, api: bigtable, name: two, from: local, prices: PRICES}
probes:
  - {probe: table, params: {op: [get, query], entries: 50, duration_s: 0.3 s}}
  - {probe: load, params: {entries: 150}}
decide:
  - table_latency_s percentile=50;op=get
launches: 2
budget: 5 USD
"""
LOOK_ALIKES = ("cloudcmp-mine", f"cloudcmp-{'ab' * 12}", "another")
LABELS = {"cloudcmp-study": "another-study", "cloudcmp-schema": "1", "cloudcmp-data-set": "cloudcmp-mine"}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """An empty emulator of tables."""
    with serving_or_skip("bigtable") as one:
        yield one


@pytest.fixture
def instances(server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[BigtableInstances]:
    """An emulator of instances before it, with some that must survive everything."""
    with bigtable_instances(server.host("bigtable")) as one:
        monkeypatch.setenv("BIGTABLE_EMULATOR_HOST", one.host)
        client = BigtableSdk("gcp").make_client(INSTANCE)
        for id in LOOK_ALIKES:
            cluster = types.Cluster(location="projects/cloudcmp/locations/europe-west1-b", serve_nodes=1)
            made = types.Instance(display_name="somebody's", labels=LABELS)
            client.create_instance(
                parent="projects/cloudcmp", instance_id=id, instance=made, clusters={"cluster": cluster}
            )
        yield one


def names(instances: BigtableInstances) -> set[str]:
    return {one.rpartition("/")[2] for one in instances.instances}


def study(folder: Path, prices: str = "{nodes: 0.65 USD/h}") -> Path:
    file = folder / "study.yaml"
    file.write_text(STUDY.replace("PRICES", prices))
    return file


def test_a_study_runs_is_answered_and_leaves_nothing(agent: Path, instances: BigtableInstances, tmp_path: Path) -> None:
    environ = {"BIGTABLE_EMULATOR_HOST": instances.host, "CLOUDCMP_AGENT": str(agent)}
    ran = cloudcmp("run", study(tmp_path), "--out", tmp_path / "out", **environ)
    assert ran.code == 0, ran.out + ran.err
    assert ", all ok" in ran.out
    assert "table get latency" in ran.out
    assert (instances.asked.count("create"), instances.asked.count("delete")) == (4 + len(LOOK_ALIKES), 4)
    assert names(instances) == set(LOOK_ALIKES)


@long  # with instances each day, above
def test_a_study_runs_where_there_are_tables_only(agent: Path, server: Served, tmp_path: Path) -> None:
    environ = {"BIGTABLE_EMULATOR_HOST": server.host("bigtable"), "CLOUDCMP_AGENT": str(agent)}
    ran = cloudcmp("run", study(tmp_path), "--out", tmp_path / "out", **environ)
    assert ran.code == 0, ran.out + ran.err
    assert ", all ok" in ran.out
    os.environ["BIGTABLE_EMULATOR_HOST"] = server.host("bigtable")
    try:
        parent = "projects/cloudcmp/instances/cloudcmp"
        assert list(BigtableSdk("gcp").make_client(TABLE).list_tables(parent=parent)) == []
    finally:
        del os.environ["BIGTABLE_EMULATOR_HOST"]


def test_the_plan_counts_the_nodes_and_a_budget_below_them_is_refused(tmp_path: Path) -> None:
    file = study(tmp_path, "{nodes: 1.30 USD/h}")
    planned = cloudcmp("plan", file)
    assert "5.20 USD" in planned.out, planned.out + planned.err
    ran = cloudcmp("run", file, "--out", tmp_path / "out")
    assert (ran.code, "the worst case of 5.200000 USD is not within it" in ran.err) == (2, True), ran.err


@long  # every store's data sets are killed in the row storage_kills; a slice each day: tests/app/test_storage.py
@pytest.mark.parametrize("way", ["cleanup", "sweep"])
def test_what_a_killed_study_leaves_is_found_and_look_alikes_survive(
    agent: Path, instances: BigtableInstances, way: str, tmp_path: Path
) -> None:
    environ = {"BIGTABLE_EMULATOR_HOST": instances.host, "CLOUDCMP_AGENT": str(agent)}
    home, other = tmp_path / "home", tmp_path / "empty"
    home.mkdir()
    other.mkdir()
    words = [COMMAND, "run", str(study(tmp_path)), "--out", str(tmp_path / "out")]
    running = subprocess.Popen(
        words, env={**os.environ, **environ, "HOME": str(home)}, cwd=tmp_path, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not names(instances) - set(LOOK_ALIKES) and time.monotonic() < until and running.poll() is None:
        time.sleep(0.02)
    time.sleep(0.2)
    running.send_signal(signal.SIGKILL)
    _, err = running.communicate()
    left = names(instances) - set(LOOK_ALIKES)
    assert left, err.decode()
    if way == "cleanup":
        ended = cloudcmp("cleanup", tmp_path / "out", HOME=str(home), **environ)
    else:
        tag = study_tag(tmp_path / "out")
        ended = cloudcmp("sweep", "gcp-bigtable", "--delete", "--study", tag, HOME=str(other), **environ)
    assert ended.code == 0, ended.out + ended.err
    assert names(instances) == set(LOOK_ALIKES)
