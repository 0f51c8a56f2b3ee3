"""Speed-up by threads: what is set beside what, by hand-made medians."""

from dataclasses import replace

from tests.report.conftest import candidate, plan_of
from tests.report.listed import Listed

from cloudcmp.catalog import METRICS
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Bounds, Estimate
from cloudcmp.model.view import View
from cloudcmp.report import html
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import speedup

TWO = candidate(0, "aws", "two", "0.08")


def estimate(at: int, cell: str, middle: float | None, half: float = 0.0) -> Estimate:
    bare = Estimate(at, cell, 6, 6, 6, (1.0,) * 6, (None,) * 6, (None,) * 6)
    if middle is None:
        return replace(bare, n=0, n_ok=0, values=(), reason="6 of 6 trials failed")
    bounds = Bounds(middle - half, middle + half) if half else None
    return replace(bare, median=middle, median_bounds=bounds, mean=middle)


def book_of(estimates: dict[str, tuple[float | None, float]], who: tuple[Candidate, ...] = (TWO,)) -> StudyView:
    some = [estimate(one.index, cell, *value) for one in who for cell, value in estimates.items()]
    plan = plan_of(who, tuple(estimates))
    return StudyView.of(View(plan, METRICS, Analysis(tuple(some), Listed(), (), Listed()), ()))


def npb(metric: str, threads: str) -> str:
    return f"npb_{metric} benchmark=bt;class=A;threads={threads}"


def table(book: StudyView) -> list[list[str]]:
    return [[field.text for field in row.fields] for sheet in speedup.sheets(book) for row in sheet.rows]


def test_speed_up_efficiency_and_rate_of_a_vcpu_fewest_threads_first() -> None:
    book = book_of({npb("op_per_s", "all"): (18e9, 0.6e9), npb("op_per_s", "one"): (12e9, 0.3e9)})
    heading, one, both = table(book)
    assert "NAS benchmark" in heading[0]
    assert one == ["aws/two", "1", "12.0 Gop/s", "1.00", "100 %", "6.00 Gop/s"]
    assert both == ["aws/two", "2", "18.0 Gop/s", "1.50", "75 %", "9.00 Gop/s"]
    (sheet,) = speedup.sheets(book)
    assert sheet.rows[2].fields[2].below == "17.4 to 18.6, n 6"
    # 17.4 / 12.3 to 18.6 / 11.7
    assert sheet.rows[2].fields[3].below == "1.41 to 1.59"
    assert sheet.rows[2].fields[4].below == "71 to 79 %"
    assert sheet.rows[1].fields[3].below == ""


def test_a_time_is_turned_round_and_a_second_metric_of_the_same_work_is_not_said_again() -> None:
    times = {npb("time_s", "1"): (8.0, 0.0), npb("time_s", "4"): (2.5, 0.0)}
    rows = table(book_of(times))
    assert [row[3:] for row in rows[1:]] == [["1.00", "100 %", "–"], ["3.20", "80 %", "–"]]
    both = times | {npb("op_per_s", "1"): (1e9, 0.0), npb("op_per_s", "4"): (3e9, 0.0)}
    assert [row[3] for row in table(book_of(both))[1:]] == ["1.00", "3.00"]


def test_nothing_without_one_thread_without_a_second_number_or_without_a_value() -> None:
    assert table(book_of({npb("op_per_s", "2"): (1e9, 0.0), npb("op_per_s", "4"): (2e9, 0.0)})) == []
    assert table(book_of({npb("op_per_s", "one"): (1e9, 0.0)})) == []
    assert table(book_of({npb("op_per_s", "one"): (None, 0.0), npb("op_per_s", "all"): (1e9, 0.0)})) == []
    latency = "disk_latency_s block_bytes=4096;depth=1;durability=direct;op=read;pattern=random;percentile=50;threads="
    assert table(book_of({latency + "one": (1.0, 0.0), latency + "all": (2.0, 0.0)})) == []


def test_all_threads_of_a_machine_of_unknown_size_have_no_efficiency() -> None:
    cells = {npb("op_per_s", "one"): (12e9, 0.0), npb("op_per_s", "all"): (18e9, 0.0)}
    unknown = replace(TWO, offering=replace(TWO.offering, vcpus=None))
    standing = replace(TWO, runner="local")
    for one in (unknown, standing):
        assert table(book_of(cells, (one,)))[2] == ["aws/two", "all", "18.0 Gop/s", "1.50", "–", "–"]


def test_the_page_has_it_and_a_way_to_it() -> None:
    cells = {npb("op_per_s", "one"): (12e9, 0.0), npb("op_per_s", "all"): (18e9, 0.0)}
    page = html.render(book_of(cells).view, ())
    assert f'<a href="#speedup">{speedup.TITLE}</a>' in page
    assert '<div id="speedup">' in page
    assert "speedup" not in html.render(book_of({npb("op_per_s", "one"): (12e9, 0.0)}).view, ())


def test_all_threads_of_one_vcpu_are_no_further_row_and_bring_nothing() -> None:
    one = replace(candidate(0, "aws", "one", "0.04"), offering=replace(TWO.offering, name="one", vcpus=1.0))
    both = {npb("op_per_s", "all"): (12e9, 0.3e9), npb("op_per_s", "one"): (11e9, 0.3e9)}
    assert table(book_of(both, (one,))) == []
    # The base of a candidate is its cell of one thread, whichever comes first.
    two = table(book_of({**both, npb("op_per_s", "2"): (19e9, 0.3e9)}))
    assert [row[1:4] for row in two[1:]] == [["1", "11.0 Gop/s", "1.00"], ["2", "19.0 Gop/s", "1.73"]]
