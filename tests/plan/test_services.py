"""Services as candidates: who plays which role, what is leased and quoted, and what is refused."""

import json
import re
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.command import cloudcmp
from tests.plan.clouds import planned as planned_on

from cloudcmp import study
from cloudcmp.catalog import fill
from cloudcmp.cost.service_operations import protocol_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import Machine, Role, Service, ServiceKind, Vantage, machines_of
from cloudcmp.model.codec import from_json, to_json
from cloudcmp.model.plan import Candidate, Plan, PlannedTrial
from cloudcmp.model.price import Item, Unit
from cloudcmp.plan import cast_of, check_runnable, service_caps
from cloudcmp.plan.service_use import FASTEST_S, LOOKS, MOST_BYTES_PER_S
from cloudcmp.provider.registry import store_of
from cloudcmp.provider.simulated.cloud import offerings
from cloudcmp.study.quantities import unit_prices

BLOB = "{provider: simulated, region: nimbus, service: blob, from: {offering: small}, prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}}"  # noqa: E501
DEARER = BLOB.replace("nimbus", "stratus").replace("0.09", "0.12")
DOWNLOADS = "[{probe: blob, params: {op: download, size_bytes: 1000000}}]"


def planned(candidates: str, **how: Any) -> Plan:
    """The plan on what the simulated clouds sell."""
    return planned_on(candidates, offerings_of=lambda _, region: offerings(region), **how)


def read(candidate: str, probes: str = DOWNLOADS) -> object:
    text = f"schema: 1\nquestion: which?\ncandidates: [{candidate}]\nprobes: {probes}\n"
    return study.read_text(text, "s.yaml", providers=("simulated", "aws", "gcp"))


def test_a_service_is_asked_by_a_client_on_the_machine_that_it_is_seen_from() -> None:
    plan = planned(f"[{BLOB}, {DEARER}]", probes=DOWNLOADS)
    one = plan.candidates[0]
    assert (one.id, one.offering.name) == ("simulated/nimbus/blob from small", "small")
    for trial in plan.trials:
        client, asked = trial.cast
        assert (client.role, client.target) == (Role.CLIENT, Machine(1))
        region = plan.candidates[plan.launches[trial.launch].candidate].offering.region
        assert (asked.role, asked.target) == (Role.SERVICE, Service(ServiceKind.BLOB, "simulated", region))
        assert from_json(PlannedTrial, to_json(trial)) == trial


def test_requests_and_bytes_are_quoted_apart_from_the_machine_that_asks() -> None:
    plan = planned(f"[{BLOB}, {DEARER}]", probes=DOWNLOADS)
    usage = {(one.item, one.op): one for one in plan.usage[0].service}
    asked = usage[Item.REQUEST, "download"]
    assert abs(usage[Item.EGRESS, "download"].expected - 1_000_000 * asked.expected) <= 1_000_000
    assert asked.most > asked.expected > 0
    filled = usage[Item.REQUEST, "upload"]
    assert filled.expected == filled.most == 16 * 2  # the blobs of the working set, for each run
    about = [(line.item, line.about) for line in plan.quote.lines if "nimbus" in line.item or "nimbus" in line.about]
    assert ("instance small, simulated/nimbus", "simulated/nimbus/blob from small, the machine that asks") in about
    requests = [line for line in plan.quote.lines if line.item == "request blob, simulated/nimbus"]
    assert {line.price for line in requests} == {Decimal(5)}
    sent = (asked.expected + filled.expected) * len(plan.launches) // 2
    assert sum(line.quantity for line in requests if line.quantity is not None) == Decimal(sent) / 10**6


def test_each_operation_and_size_is_a_use_of_its_own() -> None:
    plan = planned(f"[{BLOB}]", probes="[{probe: blob, params: {op: [download, upload], size_bytes: [1024, 4096]}}]")
    uses = {(one.item, one.op, one.size_bytes): one.expected for one in plan.usage[0].service}
    assert len(uses) == 6  # two requests of each size, and what each download moves
    for size in (1024, 4096):
        moved = uses[Item.EGRESS, "download", size]
        assert moved == pytest.approx(size * uses[Item.REQUEST, "download", size], abs=size)


def test_a_load_uses_a_request_for_each_row_and_a_rate_is_what_it_says() -> None:
    table = BLOB.replace("service: blob", "service: table").replace(", moved: 0.09 USD/GB", "")
    plan = planned(f"[{table}]", probes="[{probe: load, params: {entries: 5000}}]", rest="runs: 1\n")
    (rows,) = plan.usage[0].service
    assert (rows.op, rows.expected) == ("load", 5000)
    paced = "[{probe: table, params: {op: get, rate_per_s: 70, read: strong}}]"
    gets, rows = planned(f"[{table}]", probes=paced, rest="runs: 1\n").usage[0].service
    assert (gets.op, gets.read) == ("get", "strong")
    assert (rows.op, rows.expected) == ("put", 1000)
    assert 700 <= gets.expected < 710
    raised = planned(f"[{table}]", probes="[{probe: table, params: {concurrency: [1, max]}}]", rest="runs: 1\n")
    assert raised.usage[0].service[0].most > 0


@given(
    size=st.integers(1, 10**9),
    lanes=st.sampled_from(["1", "7", "32", "max"]),
    rate=st.sampled_from(["closed", "1", "250"]),
    op=st.sampled_from(["download", "upload"]),
)
def test_the_caps_of_its_trials_hold_what_was_quoted_at_most(size: int, lanes: str, rate: str, op: str) -> None:
    params = f"op: {op}, size_bytes: {size}, concurrency: {lanes if rate == 'closed' else 8}, rate_per_s: {rate}"
    plan = planned(f"[{BLOB}]", probes=f"[{{probe: blob, params: {{{params}}}}}]", rest="launches: 1\nruns: 2\n")
    uses, caps = plan.usage[0].service, [service_caps(one) for one in plan.trials]
    requests = [one for one in uses if one.item is Item.REQUEST]
    assert sum(one.most for one in requests) <= sum(one["operations"] for one in caps) + len(requests)
    moved = sum(one.most for one in uses if one.item is Item.EGRESS)
    assert moved <= sum(one["bytes"] for one in caps)
    assert all(0 <= one.expected <= one.most for one in uses)
    for trial, held in zip(plan.trials, caps, strict=True):
        least = (16 + LOOKS) * size
        assert held["bytes"] <= least + max(MOST_BYTES_PER_S, 250 * size) * trial.expected_s + size
        assert held["operations"] <= 16 + LOOKS + max(32 / FASTEST_S, 250) * trial.expected_s + 1


def test_a_service_without_prices_has_an_unknown_cost_and_is_not_free() -> None:
    bare = BLOB.replace(", prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}", "")
    plan = planned(f"[{bare}]", probes=DOWNLOADS)
    assert plan.quote.expected_cost is None
    assert any("request blob" in note for note in plan.quote.notes)


def test_only_probes_of_its_kind_are_run_on_a_service_and_on_machines_only_those_of_no_candidate() -> None:
    probes = "[{probe: blob}, {probe: table}, {probe: consistency, params: {service: [blob, queue]}}, {probe: fma}]"
    both = f"[{BLOB}, {{provider: simulated, region: nimbus, offering: medium}}]"
    plan = planned(both, probes=probes)
    ran = {(plan.launches[one.launch].candidate, one.probe, dict(one.params).get("service")) for one in plan.trials}
    assert {probe for at, probe, _ in ran if at == 0} == {"blob", "consistency"}
    assert {kind for at, probe, kind in ran if at == 0 and probe == "consistency"} == {"blob"}
    assert {probe for at, probe, _ in ran if at == 1} == {"table", "consistency", "fma"}
    assert {kind for at, probe, kind in ran if at == 1 and probe == "consistency"} == {"queue"}


def test_a_service_without_a_driver_is_refused_before_anything_is_made() -> None:
    plan = planned(f"[{BLOB}]", probes=DOWNLOADS)
    elsewhere = replace(plan.candidates[0], runner="gcp", store="")
    with pytest.raises(UserMistake) as refused:
        check_runnable(replace(plan, candidates=(elsewhere,)), ("gcp",))
    assert any("data sets" in fault.what for fault in refused.value.faults)


def test_a_probe_of_services_needs_a_service() -> None:
    plan = planned("[{provider: aws, region: eu, offering: small, price: 0.1 USD/h}]", probes=DOWNLOADS)
    with pytest.raises(UserMistake, match="it is a machine, and blob measures a service"):
        check_runnable(plan, ("aws",))


TABLE = "{provider: gcp, region: eu, service: table, from: {offering: wide}, prices: {requests: 1 USD/1000000}}"
"""A table of Google's, which has two services of that kind."""


def tables(*apis: str) -> tuple[Candidate, ...]:
    """The candidates for tables of these APIs; an empty one is not written."""
    written = ", ".join(TABLE.replace("table,", f"table, api: {api}," if api else "table,") for api in apis)
    return planned_on(f"[{written}]", probes="[{probe: table}]").candidates


def test_tables_of_one_provider_that_differ_in_their_api_alone_are_told_apart() -> None:
    own, named, other = tables("", "firestore", "bigtable")
    assert [one.service.api for one in (own, named, other) if one.service] == ["firestore", "firestore", "bigtable"]
    assert own.id == "gcp/eu/firestore table from wide"
    assert (named.id, other.id) == (f"{own.id} #2", "gcp/eu/bigtable table from wide")
    assert str(own.service) == "firestore table of gcp/eu"
    assert [protocol_of(one.service) for one in (own, other) if one.service] == ["firestore", "bigtable"]


def test_the_service_of_a_plan_that_was_written_before_there_were_apis_is_still_read() -> None:
    old = json.loads(to_json(tables("")[0]))
    del old["service"]["api"]
    read_back = from_json(Candidate, json.dumps(old))
    assert read_back.service == Service(ServiceKind.TABLE, "gcp", "eu")
    assert store_of("gcp", ServiceKind.TABLE) == store_of("gcp", ServiceKind.TABLE, "firestore")


def nodes(prices: str) -> Plan:
    """The plan of three launches of Bigtable, whose data sets are nodes."""
    table = TABLE.replace("table,", "table, api: bigtable,").replace("{requests: 1 USD/1000000}", prices)
    table = table.replace("offering: wide", "offering: wide, price: 0.1 USD/h")
    return planned_on(f"[{table}]", probes="[{probe: table}]", rest="launches: 3\nbudget: 900 USD\n")


def test_a_service_of_nodes_costs_each_hour_that_a_launch_begins_and_no_request() -> None:
    plan, machine = nodes("{nodes: 0.65 USD/h}"), nodes("{requests: 1 USD/1000000, nodes: 0.65 USD/h}")
    (line,) = [one for one in plan.quote.lines if one.item.startswith("capacity")]
    assert (line.item, line.quantity, line.price) == ("capacity Bigtable Node, gcp/eu", Decimal(3), Decimal("0.65"))
    assert not [one for one in plan.quote.lines if one.item.startswith("request")]
    assert plan.quote.worst_cost is not None
    assert plan.usage[0].worst_s < 7200
    assert plan.quote.worst_cost.amount >= 3 * Decimal("0.65")
    assert [one.item for one in machine.quote.lines if one.item.startswith("request")], "a price of the study's own"


def test_nodes_without_a_price_are_told() -> None:
    plan = nodes("{requests: 1 USD/1000000}")
    assert plan.quote.worst_cost is None
    with pytest.raises(UserMistake) as refused:
        check_runnable(plan, ("gcp",), ("gcp", "gcp-bigtable"))
    says = (
        "price: no price is known for the nodes of gcp/eu/bigtable table from wide; "
        "cloudcmp fetch gcp --region eu; or write prices: {nodes: 0.65 USD/h}"
    )
    assert says in [fault.line() for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("candidate", "dearest"),
    [
        (TABLE, "put"),
        (TABLE.replace(", prices: {requests: 1 USD/1000000}", ""), "query"),
        (TABLE.replace("table,", "table, api: bigtable,").replace(", prices: {requests: 1 USD/1000000}", ""), "put"),
    ],
)
def test_requests_of_several_kinds_are_quoted_as_the_dearest_of_the_service(candidate: str, dearest: str) -> None:
    plan = planned_on(f"[{candidate}]", probes="[{probe: consistency, params: {service: table}}, {probe: load}]")
    assert {one.op for one in plan.usage[0].service} - {"delete", "get"} == {dearest, "load"}


def test_where_each_deletion_is_billed_the_removal_of_all_rows_is_in_the_quote() -> None:
    probes = "[{probe: table, params: {op: [get, put], entries: [100, 3000]}}, {probe: load, params: {entries: 5000}}]"
    usage = {one.op: one for one in planned_on(f"[{TABLE}]", probes=probes).usage[0].service if one.read == ""}
    assert (usage["delete"].expected, usage["delete"].most, usage["get"].most) == (8000, 8000, 8000)
    other = planned_on(f"[{TABLE.replace('table,', 'table, api: bigtable,')}]", probes=probes).usage[0].service
    assert "delete" not in {one.op for one in other}


@pytest.mark.parametrize("api", ["firestore", "bigtable"])
def test_each_api_has_a_driver_of_its_own_or_is_refused_in_one_line(api: str) -> None:
    plan = planned_on(f"[{TABLE.replace('table,', f'table, api: {api},')}]", probes="[{probe: table}]")
    store = store_of("gcp", ServiceKind.TABLE, api)
    assert plan.candidates[0].store == (store or "")
    with pytest.raises(UserMistake) as refused:  # at least because there is no driver of gcp's machines
        check_runnable(plan, ())
    lines = [fault.line() for fault in refused.value.faults if "data sets" in fault.what]
    says = f"gcp/eu/{api} table from wide: no driver makes data sets in this service yet; use --on simulated"
    assert lines == ([] if store else [says])


@pytest.mark.parametrize(
    ("candidate", "says"),
    [
        (BLOB.replace("from: {offering: small}, ", ""), "a service is seen from a machine"),
        (BLOB.replace("service: blob", "service: blobs"), "service"),
        (BLOB.replace("service: blob, ", "offering: small, "), "from is for a service"),
        (BLOB.replace("from: {offering: small}", "from: {offering: small}, count: 2"), "count is not a service's"),
        (BLOB.replace("0.005 USD/1000", "0 USD/1000"), "zero"),
        (BLOB.replace("0.09 USD/GB", "0.09 EUR/GB"), "several currencies"),
        (BLOB.replace("0.09 USD/GB", "0.09 USD/h"), "is not for GB"),
        (BLOB.replace("moved: 0.09 USD/GB", "nodes: 0.09 USD/GB"), "is not for h"),
        (BLOB.replace("service: blob", "service: table, api: firestore"), "this service has no such other"),
        (TABLE.replace("service: table", "service: queue, api: bigtable"), "this service has no such other"),
        (
            TABLE.replace("service: table", "service: table, api: datastore"),
            "api: firestore, api: bigtable or api: cosmos-table",
        ),
        (
            TABLE.replace("service: table", "service: table, api: cosmos-table"),
            "write api: firestore or api: bigtable, or leave",
        ),
        ("{provider: gcp, offering: wide, api: bigtable}", "api is for a service"),
    ],
)
def test_what_does_not_go_with_a_service_is_told_with_its_place(candidate: str, says: str) -> None:
    with pytest.raises(UserMistake) as refused:
        read(candidate)
    assert any(says in fault.line() and fault.where.startswith("s.yaml:") for fault in refused.value.faults)


def test_an_operation_with_a_price_of_its_own_is_quoted_at_that() -> None:
    prices = "{requests: 0.4 USD/1000000, put: 5 USD/1000000, moved: 0.09 USD/GB}"
    table = f"{{provider: simulated, region: nimbus, service: table, from: {{offering: small}}, prices: {prices}}}"
    plan = planned(f"[{table}]", probes="[{probe: table, params: {op: [get, put, query]}}, {probe: load}]")
    usage = {one.op: one.expected for one in plan.usage[0].service}
    assert set(usage) == {"get", "put", "query", "load"}
    requests = [line for line in plan.quote.lines if line.item.startswith("request")]
    dear = [line for line in requests if line.price == Decimal(5)]
    assert {line.price for line in requests} == {Decimal("0.4"), Decimal(5)}
    assert len(dear) == sum(one.op == "put" for one in plan.usage[0].service)
    only = planned(f"[{table.replace('requests: 0.4 USD/1000000, ', '')}]", probes="[{probe: table}]")
    prices_of = {line.price for line in only.quote.lines if line.item.startswith("request")}
    assert prices_of == {Decimal(5)}  # of a get nothing is known: it counts as the dearest


def test_an_open_loop_and_a_search_for_the_most_have_a_number_of_requests() -> None:
    probes = "[{probe: blob, params: {op: list, rate_per_s: 20}}, {probe: blob, params: {op: list, concurrency: max}}]"
    requests = next(one for one in planned(f"[{BLOB}]", probes=probes).usage[0].service if one.op == "list")
    assert requests.expected == pytest.approx(2 * 10 * (20 + 32 / 0.05), rel=0.05)


@given(st.decimals("0.0001", "1000", places=4), st.integers(1, 10**6))
def test_a_price_of_requests_is_for_a_million(amount: Decimal, count: int) -> None:
    (found,) = unit_prices({"requests": f"{amount} USD/{count}"})
    assert found.unit is Unit.MILLION
    assert float(found.amount) == pytest.approx(float(amount) / count * 1e6)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("path", ["loopback", "zone", "region"])
def test_both_ends_of_a_transfer_have_machines_of_their_own_but_over_loopback(path: str, single: bool) -> None:
    cast = cast_of("tcp", fill("tcp", {"path": path}), "aws", "eu", single=single)
    assert {one.role for one in cast} == {Role.SERVER, Role.CLIENT}
    assert machines_of(cast) == (2 if path != "loopback" and not single else 1)


def test_probes_from_afar_look_from_a_vantage() -> None:
    cast = cast_of("page", fill("page", {"vantage": "asia"}), "aws", "eu")
    assert [(one.role, one.target) for one in cast] == [
        (Role.VANTAGE, Vantage("asia")),
        (Role.ENDPOINT, Service(ServiceKind.HTTP, "aws", "eu")),
    ]
    assert cast_of("fma", fill("fma", {}), "aws", "eu") == ()


def test_a_blob_store_seen_from_a_machine_runs_from_the_study_file_to_the_report(tmp_path: Path) -> None:
    text = f"schema: 1\nquestion: which?\ncandidates:\n  - {BLOB}\n  - {DEARER}\nprobes: {DOWNLOADS}\nlaunches: 6\n"
    (tmp_path / "s.yaml").write_text(text)
    ran = cloudcmp("run", "s.yaml", "--out", "out", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)["data"]
    costs = {one["candidate"]: one["cost_per_task"]["amount"] for one in data["estimates"] if "latency" in one["cell"]}
    assert [Decimal(costs[at]) for at in (0, 1)] == [Decimal("0.000095"), Decimal("0.000125")]
    rows = (
        sqlite3.connect(tmp_path / "out" / "study.db")
        .execute("SELECT slot, event FROM lease WHERE kind = 'data-set' ORDER BY rowid")
        .fetchall()
    )
    made = {slot for slot, event in rows if event == "CREATED"}
    assert len(made) == 12
    assert made == {slot for slot, event in rows if event == "GONE"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "blob from small" in page
    assert "SIMULATED" in page


def test_requests_that_are_sent_from_here_are_counted_beside_a_rented_machine_and_those_to_here_are_not(
    tmp_path: Path,
) -> None:
    billed = "{provider: aws, region: us-east-1, service: blob, from: local, prices: {requests: 5 USD/1000000}}"
    here = "{provider: s3, service: blob, endpoint: 'http://127.0.0.1:9', from: local}"
    rented = "{provider: aws, region: us-east-1, offering: c7i.large, price: 0.10 USD/h}"
    probes = "[{probe: blob, params: {op: list, duration_s: 0.1}}, {probe: int}]"
    lines = {}
    for name, some in {"with": (billed, here, rented), "without": (here, rented)}.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(
            f"schema: 1\nquestion: which?\ncandidates: [{', '.join(some)}]\nprobes: {probes}\nbudget: 9 USD\n"
        )
        data = cloudcmp("plan", file, "--json").json["data"]
        lines[name] = (Decimal(data["quote"]["worst_cost"]["amount"]), " ".join(data["quote"]["notes"]))
    assert lines["with"][0] > lines["without"][0]
    for _, notes in lines.values():
        assert re.search(r"leaves out s3/127\.0\.0\.1:9/blob from local \w+: they have no price", notes)
