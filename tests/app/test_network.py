"""The network between machines, from a study's file to its report: figures 10 and 11, Deval's and Shah's tables."""

import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from cloudcmp.model.co_location import Sign
from cloudcmp.model.view import View
from cloudcmp.report import documents, html
from cloudcmp.report.charts import network as charts
from cloudcmp.report.charts.base import Figure
from cloudcmp.report.figures import figures
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import network, outcomes
from cloudcmp.report.sheets.sheet import Row, Sheet

from .planted import measured_study

STUDY = """\
schema: 1
question: How fast is the network between our machines?
candidates:
  - provider: simulated
    region: nimbus
    offering: small
    price: 0.5 USD/h
    advertised: [{of: network, up_to: 1 Gbit/s, source: planted}]
    truth: {cells: {tcp_bytes_per_s path=zone: {mean: 940 Mbit/s, cov: 1 %, between: 1 %},
                    tcp_bytes_per_s path=regions: {mean: 220 Mbit/s, cov: 5 %, between: 20 %},
                    udp_bytes_per_s: {mean: 800 Mbit/s}}}
  - {provider: simulated, region: stratus, offering: small}
  - {provider: simulated, region: stratus, offering: large}
probes:
  - {probe: tcp, params: {path: zone, streams: [1, 50, 128]}}
  - {probe: tcp, params: {path: regions}}
  - {probe: tcp, params: {path: zone, size_bytes: [1 KB, 64 KB]}}
  - {probe: udp, params: {path: zone, size_bytes: 1 KB}}
  - {probe: rtt, params: {path: zone, protocol: [tcp, udp], size_bytes: 1 KB}}
sessions:
  - {name: peak, days: weekdays, hours: 09:00-17:00, timezone: UTC}
  - {name: night, days: all, hours: 00:00-06:00, timezone: UTC}
launches: 6
runs: 1
"""


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    found = measured_study(STUDY, tmp_path_factory.mktemp("network"), 3)
    *others, last = found.plan.candidates
    of_memory = replace(last, offering=replace(last.offering, category="memory"))
    return replace(found, plan=replace(found.plan, candidates=(*others, of_memory)))


@pytest.fixture(scope="module")
def made(view: View) -> dict[str, Sheet]:
    """The sheets by the first words of their captions."""
    return {one.caption.partition(" [")[0]: one for one in network.sheets(StudyView.of(view))}


def texts(one: Row) -> list[str]:
    return [field.text for field in one.fields]


def number_in(text: str) -> float:
    return float(text.replace(",", ""))


def rows_of(one: Sheet, name: str) -> list[list[str]]:
    return [texts(row)[1:] for row in one.rows if row.fields[0].text == name and not row.heading]


def test_the_places_stand_beside_what_the_paper_says(view: View, made: dict[str, Sheet]) -> None:
    sheet = made["TCP throughput by place"]
    within, between = rows_of(sheet, view.plan.candidates[0].id)[0]
    assert number_in(within) == pytest.approx(940, rel=0.02)
    assert number_in(between) == pytest.approx(220, rel=0.25)
    assert rows_of(sheet, "C4") == [["close to the limit of the NIC, 1000", "median above 200"]]
    assert any(row.heading and "section 5.3" in row.fields[0].below for row in sheet.rows)


def test_streams_stand_beside_devals_tables_of_the_same_category(view: View, made: dict[str, Sheet]) -> None:
    sheet = made["TCP throughput by parallel streams"]
    assert [one.title for one in sheet.columns[1:4]] == [
        "1 stream, Mbit/s",
        "50 streams, Mbit/s",
        "128 streams, Mbit/s",
    ]
    first = view.plan.candidates[0]
    ((*_, middle, money),) = rows_of(sheet, first.id)
    own = [
        value for one in view.analysis.estimates for value in one.values
        if one.candidate == 0 and "path=zone;size_bytes=131072" in one.cell and one.cell.startswith("tcp_")
    ]  # fmt: skip
    assert number_in(middle) == pytest.approx(median(own) / 125_000, rel=0.01)
    assert number_in(money) == pytest.approx(2 * median(own) / 125_000, rel=0.001)
    printed = rows_of(sheet, "Amazon EC2")
    assert [one[-2:] for one in printed] == [["87.55", "1199.32"], ["695.06", "1544.58"]]  # no compute candidate


def test_sessions_have_their_medians_and_variation(view: View, made: dict[str, Sheet]) -> None:
    sheet = made["TCP throughput by session"]
    assert [one.title for one in sheet.columns[1:]] == [
        "peak, Mbit/s", "night, Mbit/s", "session 3, Mbit/s", "session 4, Mbit/s", "CoV",
    ]  # fmt: skip
    ((peak, night, third, fourth, variation),) = rows_of(sheet, view.plan.candidates[0].id)
    assert (third, fourth) == ("–", "–")
    assert number_in(peak) == pytest.approx(number_in(night), rel=0.03)
    assert 0.3 < float(variation.removesuffix(" %")) < 3.0
    assert rows_of(sheet, "Rackspace")[0] == ["101.14", "101.27", "101.23", "101.3", "0.25 %"]


def test_sizes_stand_beside_shahs_rows(view: View, made: dict[str, Sheet]) -> None:
    sheet = made["Throughput by the size of a message"]
    assert len(rows_of(sheet, "Shah")) == 12
    assert rows_of(sheet, "Shah")[8] == ["98.8425", "790.74", "450.41"]
    own = rows_of(sheet, view.plan.candidates[0].id)
    assert len(own) == 3  # TCP of two sizes and UDP of one, each with one stream
    small, large, udp = own
    assert number_in(small[1]) == pytest.approx(940, rel=0.03)
    assert number_in(udp[1]) == pytest.approx(800, rel=0.05)
    assert small[2] != "–"
    assert large[2] == "–"  # its round trip was not measured


def test_the_figures_have_a_panel_for_each_setting_and_every_launch_as_data(view: View) -> None:
    drawn: dict[str, Figure] = {one.name: one for one in figures(view)}
    within, between = drawn[charts.WITHIN], drawn[charts.BETWEEN]
    assert {str(row[0]).count("path=zone") for row in within.rows} == {1}
    assert {str(row[0]).count("path=regions") for row in between.rows} == {1}
    assert len(between.rows) == 12 * len(view.plan.candidates)
    assert "prints no numbers" in within.caption
    assert "SIMULATED" in within.title
    assert {row[3] for row in within.rows} == {125e6, None}


def test_the_page_has_a_section_only_where_machines_talked(
    view: View, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = html.render(view)
    assert f'id="figure-{charts.WITHIN}"' in page[page.index('<div id="network">') :]
    assert re.search(r"pages 59-60 and 62", page)
    study = (
        "schema: 1\nquestion: x\ncandidates: [{provider: simulated, region: nimbus, offering: small}]\n"
        "probes: [{probe: tcp}]\nlaunches: 2\n"
    )
    alone = measured_study(study, tmp_path_factory.mktemp("alone"), 3)
    assert network.sheets(StudyView.of(alone)) == ()
    assert 'id="network"' not in html.render(alone)


CO_LOCATED = STUDY.replace("mean: 940 Mbit/s, cov: 1 %, between: 1 %", "mean: 1 Gbit/s, cov: 1 %, between: 5 %")


def test_launches_faster_than_promised_are_listed_left_out_of_boxes_and_counted_elsewhere(tmp_path: Path) -> None:
    view = measured_study(CO_LOCATED, tmp_path, 3)
    study, first = StudyView.of(view), view.plan.candidates[0]
    marks = [one for one in view.co_location if one.sign is Sign.RATE]
    assert 0 < len(marks) < 12
    assert {one.candidate for one in marks} == {0}
    assert all(one.value > 1.03 * 125e6 for one in marks)
    drawn = {one.name: one for one in figures(view)}[charts.WITHIN]
    left_out = [row for row in drawn.rows if row[7]]
    assert f"Launches left out as co-located, faster than promised by more than 3 %: {first.id} {len(marks)}." in (
        drawn.caption
    )
    assert {row[1] for row in left_out} == {first.id}
    between = {one.name: one for one in figures(view)}[charts.BETWEEN]
    assert not any(row[7] for row in between.rows)
    assert "left out" not in between.caption
    (sheet,) = (one for one in network.sheets(study) if one.caption.startswith("Launches marked as co-located"))
    assert [texts(row)[1] for row in sheet.rows] == [str(one.round + 1) for one in marks]
    assert "where 1.00 Gbit/s is promised" in " ".join(outcomes.warnings(study))
    own = study.by_cell[marks[0].cell].estimates[0]
    assert own.n == len(own.values) == 12
    page = html.render(view)
    assert "Launches marked as co-located" in page
    places = next(one for one in network.sheets(study) if one.caption.startswith("TCP throughput by place"))
    others = ", ".join(one.id for one in view.plan.candidates[1:])
    assert f"Co-location cannot be told, because no rate is promised: {others}." in places.note
    found = documents.comparison(view)["co_location"]
    assert {(one.candidate, one.round, one.sign) for one in found} == {
        (0, one.round, "more than the promised network") for one in marks
    }


def test_a_candidate_of_which_every_launch_is_marked_has_no_box_and_is_asked_about(tmp_path: Path) -> None:
    view = measured_study(CO_LOCATED.replace("mean: 1 Gbit/s", "mean: 9 Gbit/s"), tmp_path, 3)
    assert "that is every launch: does the provider deliver more?" in " ".join(outcomes.warnings(StudyView.of(view)))
    drawn = {one.name: one for one in figures(view)}[charts.WITHIN]
    assert drawn.svg
    assert all(row[7] for row in drawn.rows if row[1] == view.plan.candidates[0].id and "streams=1;" not in str(row[0]))
