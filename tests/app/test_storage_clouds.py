"""One study asks AWS, Azure and Google at their servers, and the page has the figures and tables of CloudCmp."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cloudcmp.cost.service_operations import charged_names
from cloudcmp.model.price import Item
from tests.cli.command import cloudcmp
from tests.servers.services import STORES, Standing, standing
from tests.slices import long

STUDY = Path(__file__).parents[2] / "studies" / "storage-clouds.yaml"
CLOUDS = tuple(store for store in STORES if store.startswith(("aws-", "azure-", "gcp-")))
UNITS = {Item.REQUEST: "10^6", Item.CAPACITY: "h", Item.STORAGE: "GB month", Item.EGRESS: "GB"}
PROTOCOLS = {
    "aws,us-east-1": ("s3", "dynamodb", "sqs"),
    "azure,eastus": ("azure-blob", "azure-table", "azure-queue"),
    "gcp,us-east4": ("gcs", "firestore", "bigtable", "pubsub"),
}
FIGURES = ("table-latency", "blob-latency", "service-clients", "blob-concurrency", "queue-latency")
"""Figure 5 is of stale reads, and no emulator has any: its numbers are in a table."""
TABLES = ("Cost of an operation", "Highest throughput", "Time to consistency", "Availability")


def prices() -> str:
    """A list with invented prices of all that the three clouds' services bill."""
    rows = {
        f'{place},"{name}",0.0{at},USD,{UNITS[item]},{item.value},{"internet" if item is Item.EGRESS else ""}': None
        for place, protocols in PROTOCOLS.items()
        for protocol in protocols
        for at, (item, name) in enumerate(charged_names(protocol), start=1)
    }
    return "\n".join(("provider,region,name,amount,currency,unit,item,to", *rows))


@pytest.fixture
def clouds() -> Iterator[Standing]:
    """Every service of the three clouds; skips where the server of one cannot be had."""
    with standing(CLOUDS) as found:
        if found.absent:
            pytest.skip("; ".join(found.absent))
        yield found


@long
def test_three_clouds_are_asked_the_same_and_no_cell_of_the_service_table_is_missing(
    clouds: Standing, agent: Path, tmp_path: Path
) -> None:
    environ = {**clouds.environ, "HOME": str(tmp_path), "CLOUDCMP_AGENT": str(agent)}
    (tmp_path / "prices.csv").write_text(prices())
    assert cloudcmp("fetch", "--from", "prices.csv", "--as", "csv", cwd=tmp_path, **environ).code == 0
    ran = cloudcmp("run", STUDY, "--short", "--out", "out", "--json", cwd=tmp_path, within_s=900, **environ)
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)["data"]
    ids = [one["id"].partition(" from ")[0].split("/") for one in data["candidates"]]
    asked = {f"{provider} {service}" for provider, _, service in ids}
    assert asked == {
        *(f"{cloud} {kind}" for cloud in ("aws", "azure") for kind in ("blob", "table", "queue")),
        "gcp blob", "gcp firestore table", "gcp bigtable table", "gcp queue",
    }  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "out" / "study.db")) as base:
        assert base.execute("SELECT trial, outcome, why FROM attempt WHERE outcome <> 'ok'").fetchall() == []
    measured = {one["candidate"] for one in data["estimates"] if one["n_ok"]}
    assert measured == set(range(len(data["candidates"])))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert [name for name in FIGURES if f'id="figure-{name}"' not in page] == []
    assert [caption for caption in TABLES if f"<caption>{caption}" not in page] == []
    for service in clouds.services:
        assert (service.left(), service.touched()) == (set(), []), service.store
