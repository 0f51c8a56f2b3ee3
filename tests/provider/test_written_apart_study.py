"""Whole studies of a service that one machine writes and another reads, as a user runs them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.app.warm import SHORT
from tests.emulated.boot import Boot, Machine, ssh_boot
from tests.emulated.ec2 import ec2
from tests.emulated.ec2_moto import Account
from tests.needs import needs_machines
from tests.provider.study_runs import cloudcmp

pytestmark = pytest.mark.usefixtures("agent")

STUDY = """\
schema: 1
question: How soon does one machine read what another has written?
candidates:
{candidates}probes:
  - {{probe: consistency, params: {{service: [{services}], writer: {writers}, duration_s: 0.4}}}}
launches: 1
runs: 1
budget: 5 USD
seed: 1
"""
CANDIDATE = "  - {{provider: aws, region: us-east-1, service: {}, from: {}, prices: {{requests: 1 USD/1000000}}}}\n"
MACHINE = "{offering: t3.micro, price: 0.0104 USD/h}"


def study(there: str, writers: str, *services: str) -> str:
    """A study of services that are read from somewhere."""
    candidates = "".join(CANDIDATE.format(service, there) for service in services)
    return STUDY.format(candidates=candidates, services=", ".join(services), writers=writers)


def facts_of(folder: Path) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(folder / "study.db")) as database:
        return [json.loads(facts) for (facts,) in database.execute("SELECT facts FROM attempt")]


def check(ran: Any, folder: Path, writer: str, *services: str) -> None:
    """The study has a value in every cell, the bound of each, and a report that says who wrote."""
    assert ran.code == 0, ran.out + ran.err
    found = {one["cell"]: one for one in ran.json["data"]["estimates"] if one["n_started"]}
    assert [one["cell"] for one in found.values() if (one["n_ok"], one["n_started"]) != (1, 1)] == []
    assert {
        f"{metric} change=write;read=eventual;service={service};writer={writer}"
        for metric in ("consistency_time_s", "stale_read_ratio")
        for service in services
    } <= set(found)
    delays = ran.json["data"]["services"]["delays"]
    assert all((one["way_s"] is not None) == ("writer=" in one["cell"]) for one in delays)
    assert all(0 < one["way_s"] < 5 for one in delays if "writer=" in one["cell"])
    page = (folder / "out" / "report.html").read_text()
    assert "way of the answer: at most" in page


def beside(folder: Path) -> Boot:
    """Machines that reach each other at one address, because a connection to any of loopback comes from that one."""
    boot = ssh_boot(folder)

    def one(user_data: str, id: str) -> Machine:
        machine: Any = boot(user_data, id)
        machine.inside = "127.0.0.1"
        return machine  # type: ignore[no-any-return]

    return one


@needs_machines
def test_a_table_is_read_on_one_machine_and_written_on_another(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(study(MACHINE, "zone", "table"))
    with ec2(boot=beside(tmp_path / "machines")) as cloud:
        moto = f"http://127.0.0.1:{cloud.account.port}"
        environ = {"AWS_ENDPOINT_URL_DYNAMODB": moto}
        ran = cloudcmp([cloud], tmp_path, "run", "study.yaml", "--out", "out", "--json", waits=SHORT, **environ)
        check(ran, tmp_path, "zone", "table")
        made = [call for call in cloud.calls("RunInstances") if "DryRun" not in call.params]
        assert len(made) == 2
        assert cloud.alive() == []
        secret = cloud.account.secret.encode()
    for facts in facts_of(tmp_path / "out"):
        assert facts["notes"]["writer_operations"] >= facts["notes"]["changes"] > 0
        assert len(facts["zones"]) == 2
    assert "written on another machine (zone)" in (tmp_path / "out" / "report.html").read_text()
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and secret in path.read_bytes()]


def test_from_this_machine_another_process_writes(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(study("local", "[here, loopback]", "table", "queue"))
    account = Account()
    environ = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{account.port}", "AWS_ACCESS_KEY_ID": account.key_id,
        "AWS_SECRET_ACCESS_KEY": account.secret, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    ran = cloudcmp((), tmp_path, "run", "study.yaml", "--out", "out", "--json", **environ)
    check(ran, tmp_path, "loopback", "table", "queue")
    cells = {one["cell"] for one in ran.json["data"]["estimates"] if one["n_started"]}
    assert "consistency_time_s change=write;read=eventual;service=table" in cells
    assert "written by another process (no network)" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "study.yaml").write_text(study("local", "zone", "table"))
    refused = cloudcmp((), tmp_path, "plan", "study.yaml", **environ)
    assert refused.code == 2
    says = "writer: zone cannot be measured on one machine; write writer: loopback, or take another provider"
    assert says in " ".join(refused.err.split())


def test_on_simulated_clouds_the_two_machines_are_simulated_too(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(study(MACHINE, "[here, zone]", "table", "blob", "queue"))
    ran = cloudcmp((), tmp_path, "run", "study.yaml", "--on", "simulated", "--out", "out", "--json")
    check(ran, tmp_path, "zone", "table", "blob", "queue")
