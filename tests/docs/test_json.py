"""docs/reference/json.md names every key that the verbs print."""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cost.bills import Usage, focus_rows, write
from tests.docs.pages import DOCS, ROOT
from tests.emulated.scripted_http import scripted
from tests.needs import CLOUD_SETTINGS

from cloudcmp.cli.entry import main
from cloudcmp.model.passive import FeltTimes, Figure
from cloudcmp.model.safety import Spend
from cloudcmp.model.watch_summary import Outage
from cloudcmp.store import StudyStore

PAGE = DOCS / "reference" / "json.md"
NAMED = frozenset(re.findall(r"`([a-z_0-9]+)`", PAGE.read_text(encoding="utf-8")))
STUDY = """\
schema: 1
question: Which of two simulated clouds?
candidates:
  - {provider: simulated, region: nimbus, offering: medium, truth: {cells: {udp_loss_ratio: 1 %}, faults: {hang: 1 %}}}
  - {provider: simulated, region: stratus, match: {vcpus: 2, memory_gib: 4}}
probes:
  - {probe: fma}
  - {probe: udp, params: {path: zone}}
  - {probe: task}
  - {command: {name: mine, run: "true", files: [two.yaml]}}
decide: [fma_flop_per_s, {cell: udp_loss_ratio, margin: 0.5 %}]
budget: 50 USD
sessions: [{name: day, days: all, hours: 09:00-17:00, timezone: UTC}]
"""


class Typist:
    """Types commands and reads the document that each prints."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def types(self, *words: str, code: int = 0) -> dict[str, Any]:
        self._monkeypatch.setattr(sys, "argv", ["cloudcmp", *words, "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        told = self._capsys.readouterr()
        assert ended.value.code == code, told.out + told.err
        document: dict[str, Any] = json.loads(told.out)
        return document


@pytest.fixture
def typist(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typist:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.yaml").write_text(STUDY, encoding="utf-8")
    return Typist(tmp_path, capsys, monkeypatch)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _unnamed(document: dict[str, Any]) -> set[str]:
    return set(_keys(document)) - NAMED


def test_every_key_of_a_study_is_named(typist: Typist) -> None:
    assert _unnamed(typist.types("plan", "two.yaml")) == set()
    ran = typist.types("run", "two.yaml", "--out", "two")
    assert ran["schema"] == "cloudcmp.run/1"
    assert ran["data"]["finished"]
    assert _unnamed(ran) == set()
    compared = typist.types("compare", "two")
    assert {one["decides"] for one in compared["data"]["comparisons"]} == {True, False}
    assert _unnamed(compared) == set()
    assert _unnamed(typist.types("compare", "two", "--steadiness")) == set()
    assert _unnamed(typist.types("history", "two", "two", "--by", "launch")) == set()
    for words in (("report", "two"), ("cleanup", "two")):
        assert _unnamed(typist.types(*words)) == set()


SCALING = """\
schema: 1
question: How fast do machines come?
candidates:
  - {provider: simulated, region: nimbus, offering: small}
  - {provider: simulated, region: nimbus, offering: small, count: 2}
probes: [{probe: scaling, params: {count: [1, 2]}}]
launches: 4
budget: 50 USD
"""
SERVICES = """\
schema: 1
question: Which of two simulated services?
candidates:
  - {provider: simulated, region: nimbus, service: blob, from: {offering: small},
     prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}
  - {provider: simulated, region: stratus, service: blob, from: {offering: small}}
probes:
  - {probe: blob, params: {op: download, client: [native, sdk-python]}}
  - {probe: consistency, params: {service: blob}}
launches: 3
budget: 50 USD
"""


def test_every_key_of_a_prediction_is_named(typist: Typist) -> None:
    profiled = typist.types("profile", "--runs", "2", "--out", "app.yaml", "true")
    assert _unnamed(profiled) == set()
    home, cpus = profiled["data"]["home"], profiled["data"]["cpus"]
    rows = [f"{home['provider']},{home['region']},{home['name']},{cpus}", f"cloud,r,fast,{cpus}", "cloud,r,tiny,"]
    lines = [f"{row},int_op_per_s,threads=one,op/s,higher,{100 + at},{at}" for row in rows for at in range(6)]
    head = "provider,region,offering,vcpus,metric,params,unit,better,value,round"
    Path("speeds.csv").write_text("\n".join([head, *lines]), encoding="utf-8")
    assert _unnamed(typist.types("predict", "app.yaml", "speeds.csv")) == set()


FLEET = """\
resource,provider,offering,region,count,usd_per_hour,cpu_p95_percent,committed_until
a,cloud,big,r,2,0.4,40,
b,cloud,big,r,1,0.4,30,2999-01-01
c,cloud,gone,r,1,0.4,30,
"""


def test_every_key_of_a_fleet_is_named(typist: Typist) -> None:
    offers = ["provider,offering,region,usd_per_hour,memory_gib,arch,speed", "cloud,big,r,0.4,4,arm64,100",
              "cloud,small,r,0.2,4,arm64,60", "cloud,tiny,r,0.1,4,arm64,54"]  # fmt: skip
    Path("offers.csv").write_text("\n".join(offers), encoding="utf-8")
    Path("fleet.csv").write_text(FLEET, encoding="utf-8")
    asked = ("recommend", "offers.csv", "--fleet", "fleet.csv", "--metric", "speed")
    for words in (asked, (*asked, "--spread", "3 %")):
        told = typist.types(*words)
        assert told["data"]["fleet"]["moves"]
        assert _unnamed(told) == set()


def test_every_key_of_services_is_named_and_an_operation_has_its_cost(typist: Typist) -> None:
    (typist.folder / "blobs.yaml").write_text(SERVICES, encoding="utf-8")
    ran = typist.types("run", "blobs.yaml", "--out", "blobs")
    assert _unnamed(ran) == set()
    found = ran["data"]["services"]
    assert {key for key, some in found.items() if some} == {
        "clients", "counts", "delays", "limits", "operation_costs"
    }  # fmt: skip
    priced, unpriced = found["operation_costs"]
    assert (priced["candidate"], priced["op"], priced["cost"]["amount"]) == (0, "download", "0.00000509216")
    machine = float(ran["data"]["candidates"][0]["offering"]["price"]["amount_per_hour"])
    assert float(priced["break_even_per_hour"]) == pytest.approx(machine / (5e-6 + 1024 * 0.09e-9))
    assert (unpriced["cost"], unpriced["break_even_per_hour"]) == (None, None)


def test_every_key_of_money_is_named() -> None:
    # What costs nothing has no such part, so that no command that can be typed here shows it.
    assert {field.name for field in fields(Spend)} <= NAMED


def test_every_key_of_exchanged_tables_is_named(typist: Typist) -> None:
    typist.types("run", "two.yaml", "--short", "--out", "two")
    assert _unnamed(typist.types("export", "two", "--out", "two.csv")) == set()
    assert _unnamed(typist.types("export", "two", "--bundle", "two-bundle")) == set()
    assert _unnamed(typist.types("import", "two-bundle", "--out", "again")) == set()


def test_every_key_of_gaps_and_prices_is_named(typist: Typist) -> None:
    typist.types("run", "two.yaml", "--out", "two")
    found = typist.types("gaps", "two", "--provider", "nimbus")
    assert found["data"]["gaps"]
    assert _unnamed(found) == set()
    rows = [f"a,t{at},0.{at + 1},{2 ** (at % 4)},{at % 5 + 2}" for at in range(12)]
    (typist.folder / "offers.csv").write_text(
        "\n".join(["provider,offering,usd_per_hour,vcpus,memory_gib", *rows]), encoding="utf-8"
    )
    found = typist.types("recommend", "offers.csv", "--machines", "4", "--minimise", "cost per total vcpus")
    assert found["data"]["several"]["against"] == []
    assert _unnamed(found) == set()
    found = typist.types("prices", "offers.csv")
    assert found["data"]["offers"]
    assert _unnamed(found) == set()


def test_every_key_of_a_replay_is_named(typist: Typist) -> None:
    (typist.folder / "scale.yaml").write_text(SCALING, encoding="utf-8")
    (typist.folder / "trace.csv").write_text("time,requests_per_s\n0,100\n60,900\n120,100\n", encoding="utf-8")
    typist.types("run", "scale.yaml", "--out", "scale")
    found = typist.types("scale", "scale", "--load", "trace.csv", "--capacity", "100", "--owned-cost", "9 USD/month")
    assert found["data"]["owned"]["at_loads"]
    assert found["data"]["left_out"]
    assert _unnamed(found) == set()


def test_every_key_of_regions_and_moves_is_named(typist: Typist) -> None:
    at = [(0, 0), (10, 10), (30, 20), (50, 0), (40, -70), (-30, 140)]
    rows = [f"v{v},{lat},{lon},{p},r{s},{3 * s},{5 * s},DE,{10 + abs(lat - 3 * s) + abs(lon - 5 * s)}"
            for v, (lat, lon) in enumerate(at) for p in "ab" for s in range(3)]  # fmt: skip
    head = "vantage,vantage_lat,vantage_lon,provider,region,site_lat,site_lon,site_country,ms"
    Path("times.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    Path("people.csv").write_text("name,lat,lon,people\nx,5,5,10\ny,45,-60,20\n", encoding="utf-8")
    Path("egress.csv").write_text("provider,region,usd_per_gb\n,r0,0.1\n,r1,0.2\n,r2,0.3\n", encoding="utf-8")
    Path("cdn.yaml").write_text("name: c\nhit_ratio: 0.5\nedge: 9 ms\nprices: [{per_gb: 0.1}]\n", encoding="utf-8")
    found = typist.types("regions", "times.csv", "--people", "people.csv", "--sites", "2", "--egress", "egress.csv",
                         "--gb", "2", "--cdn", "cdn.yaml")  # fmt: skip
    assert found["data"]["certainty"] is not None
    assert found["data"]["delivered"]
    assert _unnamed(found) == set()
    found = typist.types("predict", "move", "--size", "9 TB", "--to", "aws/us-east-1", "--rate", "1 Gbit/s")
    assert found["data"]["shipments"]


def test_every_key_of_a_watch_is_named(typist: Typist) -> None:
    with scripted() as service:
        found = typist.types("watch", service.url("/503"), "--every", "50ms", "--for", "1s", "--out", "watched")
        assert found["data"]["watched"][0]["summary"]["outages"]
        found = typist.types("watch", service.url(), "--every", "50ms", "--for", "1s", "--out", "well")
    assert found["data"]["watched"][0]["summary"]["percentiles"]
    assert _unnamed(found) == set()
    assert {field.name for kind in (Outage, FeltTimes, Figure) for field in fields(kind)} <= NAMED


UTILITY = """\
utility:
  speed: {of: speed, weight: 0.5, midpoint: 70, slope: 4, better: higher}
  memory: {of: memory_gib, weight: 0.5, curve: menasce-ngo throughput, scale: 4}
menasce_ngo:
  budget: 60
  response: {weight: 0.3, alpha: 60, beta: 0.5, from: 0.1, to: 10}
  throughput: {weight: 0.3, alpha: 5, to: 100}
  availability: {weight: 0.4, beta: 4, to: 0.9999}
"""


def test_every_key_of_service_levels_is_named(typist: Typist) -> None:
    Path("utility.yaml").write_text(UTILITY, encoding="utf-8")
    offers = "provider,offering,region,usd_per_hour,memory_gib,speed\na,b,r,0.4,4,100\na,c,r,0.2,4,60\na,d,r,0.1,,54\n"
    Path("offers.csv").write_text(offers, encoding="utf-8")
    rows = [f"{1777593600 + 600 * at},{int(at % 999 > 9)},0.1" for at in range(7 * 144)]
    Path("watch.csv").write_text("\n".join(["time,ok,seconds", *rows]), encoding="utf-8")
    found = typist.types(
        "sla", "watch.csv", "offers.csv", "--claim", "availability >= 50 % a day", "--credits", "aws-ec2-instance",
        "--bill", "9 USD", "--utility", "utility.yaml", "--loss", "9 USD/h", "--one-zone", "1 USD/month", "--two-zones",
        "3 USD/month",
    )  # fmt: skip
    for key in ("claims", "credits", "utility", "levels", "nines"):
        assert found["data"][key], key
    assert found["data"]["claims"][0]["budget"]["burns"]
    assert found["data"]["utility"]["left_out"]
    assert _unnamed(found) == set()
    planned = typist.types("sla", "--claim", "availability >= 99 % a day")
    assert planned["data"]["planned"][0]["requirement"]["days"]
    assert _unnamed(planned) == set()


def test_every_key_of_a_simulated_world_is_named(typist: Typist) -> None:
    for name in ("delgado-twitter", "photo-site"):
        text = (ROOT / "studies" / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8")
        (typist.folder / "world.yaml").write_text(text.replace("duration: 24 h", "duration: 1 h"), encoding="utf-8")
        variants = ("--variant", "thesis") if "thesis" in text else ()
        found = typist.types("simulate", "world.yaml", "--runs", "2", *variants)
        assert _unnamed(found) == set()


def test_every_key_of_the_wide_area_is_named(typist: Typist) -> None:
    rows = [f"v{at},{provider},{provider}{at % 2},,,rtt,{20 + at}" for at in range(8) for provider in "pq"]
    rows += ["v0,p,,web.example,192.0.2.1,dns,", "v0,p,,web.example,192.0.2.1,rtt,900", "v0,p,p0,,,page,70"]
    (typist.folder / "times.csv").write_text(
        "\n".join(["vantage,provider,region,name,address,phase,ms", *rows]) + "\n", encoding="utf-8"
    )
    (typist.folder / "places.csv").write_text("vantage,lat,lon,country,network\nv0,-12,-77,PE,AS1\n", encoding="utf-8")
    found = typist.types("wan", "times.csv", "--vantages", "places.csv", "--over", "21 ms")
    assert all(found["data"][key] for key in ("pairs", "reached", "missing", "names", "pages", "curves", "page_curves"))
    assert _unnamed(found) == set()


def test_every_key_of_a_look_is_named(typist: Typist) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b".")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            found = typist.types("wan", "--to", f"http://127.0.0.1:{server.server_port}", "--to", "http://127.0.0.1:9")
        finally:
            server.shutdown()
    assert [bool(one["times"]) for one in found["data"]["looks"]] == [True, False]
    assert _unnamed(found) == set()


def test_every_key_of_published_tables_is_named(typist: Typist) -> None:
    assert _unnamed(typist.types("published", "deval-2017")) == set()
    assert _unnamed(typist.types("published", "deval-2017", "--sessions")) == set()


def test_every_key_of_what_guards_money_is_named(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(CLOUD_SETTINGS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(typist.folder))  # a sweep asks every cloud
    monkeypatch.setenv("NO_GCE_CHECK", "true")  # google-auth looks for a metadata server of theirs otherwise
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for words in (("check", "simulated"), ("check", "--live", "simulated"), ("sweep",)):
        assert _unnamed(typist.types(*words)) == set()


KINDS = ("providers", "offerings", "prices", "probes", "suites", "metrics", "tools", "credits", "studies")


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_rows_of_text(typist: Typist, kind: str) -> None:
    data = typist.types("list", kind)["data"]
    assert data["kind"] == kind
    assert all(isinstance(cell, str) for row in data["rows"] for cell in row.values())


def test_a_mistake_is_a_document_too(typist: Typist) -> None:
    told = typist.types("compare", "nothing-here", code=2)
    assert told["data"] is None
    assert _unnamed(told) == set()
    assert told["errors"][0]["next"]


def test_every_key_of_a_bill_is_named(typist: Typist) -> None:
    typist.types("run", "two.yaml", "--out", "two")
    used = [Usage("i-0aaa", "1"), Usage("i-0bbb", "2", study="other"), Usage("i-0ccc", "1", study="two", type="tax")]
    with StudyStore.open(typist.folder / "two", write=False) as store:
        used.append(Usage("i-0ddd", "1", study=store.tag))
        used.append(Usage("i-0ddd", "-1", study=store.tag, type="credit"))
    write(typist.folder / "bill.csv", focus_rows(used))
    billed = typist.types("reconcile", "two", "--bill", "bill.csv", code=1)  # no simulated machine is on a bill
    assert billed["data"]["alarms"]
    assert len(billed["data"]["lines"]) == 2
    assert _unnamed(billed) == set()


def test_every_key_of_a_first_study_is_named(typist: Typist) -> None:
    begun = typist.types("start", "--yes", "--out", "first.yaml")
    assert begun["data"]["study"] == "first.yaml"
    assert _unnamed(begun) == set()
