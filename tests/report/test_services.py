"""The section of storage services, of a simulated study with planted services: figures, tables, page."""

import csv
import io
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.report.conftest import candidate
from tests.slices import long

from cloudcmp.app.study_view import view as view_of
from cloudcmp.model.cast import Service, ServiceKind
from cloudcmp.model.cell import Cell
from cloudcmp.model.plan import Candidate
from cloudcmp.model.services import Delays, Limit, Limiter, OperationCounts, Services
from cloudcmp.model.view import View
from cloudcmp.report.charts import services as charts
from cloudcmp.report.charts.base import Figure, Styles
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import operation_costs, services
from cloudcmp.report.sheets.sheet import Sheet
from cloudcmp.study.quantities import unit_prices

PLANTED = (
    "stale_read_ratio read=eventual: {mean: 40 %, cov: 1 %, between: 1 %}, table_throttled_ratio op=get: 0, "
    "table_throttled_ratio op=query: {mean: 2 %, cov: 1 %, between: 1 %}"
)
STUDY = f"""\
schema: 1
name: services
question: Which?
candidates:
  - {{provider: simulated, region: nimbus, service: table, from: {{offering: small}}, truth: {{cells: {{{PLANTED}}}}},
     prices: {{get: 0.13 USD/100000, put: 0.31 USD/100000}}}}
  - {{provider: simulated, region: stratus, service: table, from: {{offering: small}}}}
  - {{provider: simulated, region: nimbus, service: blob, from: {{offering: small}},
     truth: {{cells: {{"blob_latency_s client=native": 40 ms, "blob_latency_s client=sdk-python": 100 ms}}}}}}
  - {{provider: simulated, region: nimbus, service: queue, from: {{offering: small}}}}
launches: 6
runs: 1
probes:
  - {{probe: table, params: {{op: [get, query], entries: 100000, concurrency: [1, 32]}}}}
  - {{probe: blob, params: {{client: [native, sdk-python]}}}}
  - {{probe: queue}}
  - {{probe: propagation}}
  - {{probe: consistency, params: {{service: table, read: [eventual, strong]}}}}
"""

Measured = tuple[View, str, dict[str, Figure]]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The view of the study, its page, and its figures of services."""
    folder = tmp_path_factory.mktemp("services")
    (folder / "s.yaml").write_text(STUDY)
    ran = cloudcmp("run", "s.yaml", "--out", "out", cwd=folder)
    assert ran.code == 0, ran.err
    view = view_of(folder / "out")
    return view, (folder / "out" / "report.html").read_text(encoding="utf-8"), drawn(view)


def drawn(view: View) -> dict[str, Figure]:
    study = StudyView.of(view)
    return {one.name: one for one in charts.figures(study, Styles.of(study))}


def texts(sheet: Sheet | None) -> list[list[str]]:
    assert sheet is not None
    return [[field.text for field in row.fields] for row in sheet.rows]


def named(view: View, caption: str) -> Sheet:
    return next(one for one in services.sheets(StudyView.of(view)) if one.caption.startswith(caption))


def test_a_study_of_services_shows_all_of_it(measured: Measured) -> None:
    _, page, figures = measured
    section = page[page.index('id="services"') : page.index('id="asked"')]
    for name in (
        "table-latency",
        "consistency",
        "blob-latency",
        "service-clients",
        "table-concurrency",
        "queue-latency",
    ):
        assert f'id="figure-{name}"' in section
        assert "[SIMULATED]" in figures[name].title
    for caption in ("Cost of an operation", "Highest throughput from one machine", "What another client costs",
                    "Time to consistency", "Availability"):  # fmt: skip
        assert f"<caption>{caption} [SIMULATED]</caption>" in section
    assert page.count('id="figure-table-latency"') == 1


def test_figures_name_only_their_own_candidates_and_carry_their_data(measured: Measured) -> None:
    found = measured[2]
    for figure in found.values():
        assert figure.rows
        assert {len(row) for row in figure.rows} == {len(figure.columns)}
    shown = set(re.findall(r">([a-z/]+)</text>", found["table-latency"].svg))
    assert {"nimbus", "stratus"} <= shown
    assert "n 6, 6/6 ok" in found["table-latency"].caption
    medians = {row[1]: row for row in found["table-concurrency"].rows if row[2] == 32}
    assert all(row[5] < row[4] < row[6] for row in medians.values())  # type: ignore[operator]


def test_planted_staleness_is_where_the_curve_begins(measured: Measured) -> None:
    view, _, _ = measured
    first, _ = (one for one in view.services.delays if "read=eventual" in one.cell)
    assert first.x_s[0] == 0
    assert first.share[0] == pytest.approx(0.6, abs=0.03)
    rows = texts(named(view, "Time to consistency"))
    assert rows[1][0] == "simulated/nimbus/table from small"
    assert float(rows[1][1].removesuffix(" %")) == pytest.approx(40, abs=1)
    assert rows[1][3] == "at once"
    assert rows[1][4].endswith("ms")
    strong = next(at for at, row in enumerate(rows) if "strong" in row[0])
    assert rows[strong + 1][1:4] == ["0 %", "246", "at once"]
    assert "strong read" in measured[2]["consistency"].caption  # not drawn, and said so


@long
def test_the_factor_of_a_client_is_the_planted_one(measured: Measured) -> None:
    (row,) = [one for one in texts(named(measured[0], "What another client costs")) if len(one) > 1]
    assert row[1] == "sdk-python client"
    assert float(row[4].removeprefix("×")) == pytest.approx(2.5, rel=0.05)


def test_clients_are_beside_each_other_in_one_unit_and_under_whole_titles(measured: Measured) -> None:
    view = measured[0]
    # The agent takes microseconds here, and the library a hundred times as long.
    quick = [
        replace(one, x_s=tuple(x_s / 400 for x_s in one.x_s)) if "client=native" in one.params else one
        for one in view.cdfs
    ]
    svg = drawn(replace(view, cdfs=tuple(quick)))["service-clients"].svg
    assert len(set(re.findall(r">([a-zµ]+), logarithmic", svg))) == 1
    assert ">sdk-python client</tspan>" in svg


def test_failures_and_limiters_are_those_that_were_planted(measured: Measured) -> None:
    view, _, _ = measured
    rows = texts(named(view, "Availability"))
    assert [row[0] for row in rows if len(row) == 1] == [
        "blob download", "consistency table", "propagation", "queue send", "table get", "table query",
    ]  # fmt: skip
    counts = {one.operation: one for one in view.services.counts if one.candidate == 0}
    assert counts["table get"].throttled == 0
    assert counts["table query"].throttled / counts["table query"].operations == pytest.approx(0.02, rel=0.05)
    limits = {(one.candidate, one.cell): one.limiter for one in view.services.limits}
    of_query = {limiter for (at, cell), limiter in limits.items() if at == 0 and "op=query" in cell}
    assert of_query == {Limiter.THROTTLE}


def service(index: int, kind: str, price: str, prices: dict[str, str]) -> Candidate:
    one = candidate(index, "c1", f"{kind} from C1.1", price)
    return replace(one, service=Service(ServiceKind(kind), "c1", "c1"), unit_prices=unit_prices(prices))


def test_the_papers_prices_give_the_papers_table_and_break_even(view: View) -> None:
    """Table 4, and 65,385 gets to 5,782 queries an hour for the price of C1.1."""
    prices = {"get": "0.13 USD/100000", "put": "0.31 USD/100000", "query": "1.47 USD/100000"}
    one = service(0, "table", "0.085", prices)
    cells = [str(Cell.of("table_latency_s", {"op": op, "percentile": "50"})) for op in ("get", "put", "query")]
    estimate = view.analysis.estimates[0]
    estimates = tuple(replace(estimate, candidate=0, cell=cell) for cell in cells)
    plan = replace(view.plan, candidates=(one,))
    shown = replace(view, plan=plan, analysis=replace(view.analysis, estimates=estimates), cdfs=(), series=())
    rows = [row for row in texts(operation_costs.sheet(StudyView.of(shown))) if len(row) > 1]
    assert [(row[1], row[4]) for row in rows] == [("0.13", "65,385/h"), ("0.31", "27,419/h"), ("1.47", "5,782/h")]
    assert rows[0][3] == "0.085 USD"
    unknown = replace(plan, candidates=(replace(one, offering=replace(one.offering, price=None)),))
    rows = [row for row in texts(operation_costs.sheet(StudyView.of(replace(shown, plan=unknown)))) if len(row) > 1]
    assert {row[4] for row in rows} == {"–"}
    bare = replace(plan, candidates=(replace(one, unit_prices=()),))
    assert operation_costs.sheet(StudyView.of(replace(shown, plan=bare))) is None


def test_a_curve_that_was_cut_ends_with_a_cross(view: View) -> None:
    cell = "consistency_time_s change=write;read=eventual;service=table"
    delays = Delays(0, cell, 100, 5, 2.0, (0.0, 0.1, 0.5), (0.6, 0.9, 0.95))
    found = drawn(replace(view, services=Services(delays=(delays,))))["consistency"]
    assert "100, 5 never seen" in found.caption
    assert 'aria-roledescription="point"' in found.svg
    whole = drawn(replace(view, services=Services(delays=(replace(delays, unseen=0, wait_s=None),))))["consistency"]
    assert 'aria-roledescription="point"' not in whole.svg
    calm = replace(delays, unseen=0, wait_s=None, x_s=(0.0,), share=(1.0,))
    assert "consistency" not in drawn(replace(view, services=Services(delays=(calm,))))


def test_of_another_writer_the_way_of_its_answer_is_stated(measured: Measured) -> None:
    view = measured[0]
    first = next(one for one in view.services.delays if "read=eventual" in one.cell)
    apart = replace(first, way_s=0.0012, unseen=1)
    caption = drawn(replace(view, services=Services(delays=(apart,))))["consistency"].caption
    assert "Changes of another writer may have been seen up to 1.20 ms later than drawn." in caption
    sheet = named(replace(view, services=Services(delays=(apart,))), "Time to consistency")
    (row,) = [one for one in sheet.rows if not one.heading]
    assert row.fields[0].below == "way of the answer: at most 1.20 ms"
    assert "the clock is the reader's" in sheet.note
    assert "the clock is the reader's" not in named(view, "Time to consistency").note


def test_shares_of_failures_are_shown_with_what_zero_may_hide(view: View) -> None:
    counts = OperationCounts(0, "blob download", 3, 2, 4000, throttled=80, timeouts=1)
    sheet = named(replace(view, services=Services(counts=(counts,))), "Availability")
    name, operations, throttled, errors, *_ = sheet.rows[1].fields
    assert name.below == "1 of 3 trials sent no counts"
    assert (operations.text, throttled.text, throttled.below, throttled.kind) == ("4,000", "80", "2 %", "unsure")
    assert (errors.text, errors.below) == ("0", "< 0.092 %")
    silent = named(replace(view, services=Services(counts=(replace(counts, operations=0, counted=0),))), "Availability")
    assert {field.text for field in silent.rows[1].fields[1:]} == {"–"}


def test_the_evidence_stands_beside_the_limiter(view: View) -> None:
    cell = str(Cell.of("blob_bytes_per_s", {"concurrency": "max", "op": "download", "size_bytes": "10000000"}))
    estimate = replace(view.analysis.estimates[0], candidate=0, cell=cell, median=1e8)
    limit = Limit(0, cell, Limiter.NETWORK, 0.12, 3, 5000, 1.1e8, "advertised")
    shown = replace(view, analysis=replace(view.analysis, estimates=(estimate,)), services=Services(limits=(limit,)))
    (row,) = [one for one in named(shown, "Highest").rows if not one.heading]
    assert [field.text for field in row.fields[1:4]] == ["100 MB/s", "800.0", "max"]
    assert row.fields[5].text == "network of the machine"
    assert row.fields[5].below == "client CPU 12 %, throttled 3 of 5,000, network 110 MB/s (advertised)"


def test_a_study_without_services_has_no_such_section(view: View) -> None:
    plain = replace(view, cdfs=())
    assert services.sheets(StudyView.of(plain)) == ()
    assert drawn(plain) == {}


def test_the_data_of_a_figure_is_a_table_that_can_be_read(tmp_path: Path, measured: Measured) -> None:
    from cloudcmp.report.figures import write_figures

    paths = write_figures(measured[0], tmp_path, (measured[2]["consistency"],))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "consistency.csv").read_text(encoding="utf-8"))))
    assert len(paths) == 3
    assert {Decimal(one["share"]) <= 1 for one in rows} == {True}
