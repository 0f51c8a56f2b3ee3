"""How fast it scales: on the page, in the figure and in a terminal, and nowhere where it was not asked."""

import io
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console
from tests.report.conftest import START, candidate, poisoned
from tests.report.listed import Listed

from cloudcmp.catalog import METRICS
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.result import Bounds, Estimate, Scaling, Share
from cloudcmp.model.view import View
from cloudcmp.report import html
from cloudcmp.report.charts import scaling as chart
from cloudcmp.report.charts.base import Styles
from cloudcmp.report.comparison import show
from cloudcmp.report.figures import figures
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import scaling as sheet

LINUX, WINDOWS = "count=1;os=linux", "count=1;os=windows"
WHO = (candidate(0, "aws", "quick", "0.08"), candidate(1, "aws", "slow", "0.09"), candidate(2, "aws", "never", None))


def estimate(at: int, cell: str, middle: float | None, ok: int = 20) -> Estimate:
    """An estimate of twenty launches, with nothing where none was ok."""
    values = () if middle is None else tuple(middle * (0.9 + 0.01 * step) for step in range(ok))
    bare = Estimate(at, cell, 20, len(values), len(values), values, (None,) * len(values), (None,) * len(values))
    if middle is None:
        return replace(bare, reason="20 of 20 trials failed")
    ends = Bounds(middle * 0.95, middle * 1.05)
    return replace(bare, median=middle, median_bounds=ends, mean=middle * 2, mean_bounds=ends, p5=middle * 0.9,
                   p95=middle * 1.2)  # fmt: skip


def share(k: int) -> Share:
    return Share(k, 20, k / 20, Bounds(0.1, 0.9))


def asked(at: int, params: str, ok: int, by: str = "median") -> Scaling:
    """A candidate of which so many launches came, all within 120 s and half of them within 60 s."""
    split = [f"{part}_latency_s {params}" if params == LINUX else None for part in ("provisioning", "booting")]
    in_time = ((60.0, share(ok // 2)), (120.0, share(ok)), (300.0, share(ok)), (600.0, share(ok)))
    return Scaling(at, f"scaling_latency_s {params}", *split, by, in_time, share(20 - ok), 0.25)


def view_of(who: tuple[Candidate, ...] = WHO, by: str = "median") -> View:
    """One that is quick, one Windows that is slow, and one that never comes."""
    launches = tuple(Launch(at, at % 3, at // 3, None, 600.0 * at, at) for at in range(60))
    cells = tuple(f"{part}_latency_s {LINUX}" for part in ("scaling", "provisioning", "booting"))
    trials = tuple(PlannedTrial(at, at, "scaling", (), cells, 0, 0.0, 60.0, 1200.0, at) for at in range(60))
    estimates = [estimate(0, cell, value) for cell, value in zip(cells, (60.0, 40.0, 20.0), strict=True)]
    estimates += [estimate(2, cell, None) for cell in cells]
    estimates += [estimate(1, f"scaling_latency_s {WINDOWS}", 400.0)]
    plan = Plan(
        "scaling", "which?", who, launches, trials, (), (), 20, 1, 7, START, Quote(60, 1.0, None, None, (), 0.05)
    )
    some = (asked(0, LINUX, 20, by), asked(1, WINDOWS, 20, by), asked(2, LINUX, 0, by))
    return View(plan, METRICS, Analysis(tuple(estimates), Listed(), (), Listed()), (), scaling=some)


@pytest.fixture(scope="module")
def view() -> View:
    return view_of()


def texts(sheets: tuple[object, ...]) -> list[list[str]]:
    return [[field.text for field in row.fields] for one in sheets for row in one.rows]  # type: ignore[attr-defined]


def test_each_candidate_has_its_parts_its_failures_and_its_chances(view: View) -> None:
    rows = texts(sheet.sheets(StudyView.of(view)))
    assert rows[:3] == [
        ["aws/quick", "60.0 s", "54.0 to 72.0 s", "40.0 s", "20.0 s", "20", "0/20 (10–90 %)"],
        ["aws/slow", "400 s", "360 to 480 s", "–", "–", "20", "0/20 (10–90 %)"],
        ["aws/never", "no value", "–", "no value", "no value", "0", "20/20 (10–90 %)"],
    ]
    assert rows[5] == ["aws/never", *["0/20 (10–90 %)"] * 4]


def test_the_mean_is_shown_where_the_study_takes_it() -> None:
    book = StudyView.of(view_of(by="mean"))
    assert texts(sheet.sheets(book))[0][1] == "120 s"
    (figure,) = chart.figures(book, Styles.of(book))
    assert "the mean time" in figure.caption
    assert "need not add up" not in figure.caption


def test_the_figure_holds_every_number_and_says_how_finely_it_was_looked(view: View) -> None:
    book = StudyView.of(view)
    (figure,) = chart.figures(book, Styles.of(book))
    assert {(row[0], row[2], row[4]) for row in figure.rows} == {
        ("aws/quick", "whole", 60.0), ("aws/quick", "provisioning", 40.0), ("aws/quick", "booting", 20.0),
        ("aws/slow", "whole", 400.0), ("aws/never", "whole", None), ("aws/never", "provisioning", None),
        ("aws/never", "booting", None),
    }  # fmt: skip
    words = " ".join(ET.fromstring(figure.svg).itertext())
    assert "never" not in words
    assert figure.caption.endswith(" Left out because they have no value (1): never (0/20 ok).")
    assert "20/20 ok" in words
    assert "not split" in words
    assert "every 250 ms" in figure.caption
    assert figure.svg == chart.figures(book, Styles.of(book))[0].svg


def test_a_whole_bar_is_as_long_as_its_parts(view: View) -> None:
    book = StudyView.of(view)
    bars = [bar for one in view.scaling for bar in chart._bars(book, one, "x", chart.Scale(1.0, "s"))]
    assert [(bar["part"], bar["value"]) for bar in bars] == [
        ("provisioning", 40.0), ("booting", 20.0), ("not split", 400.0),
    ]  # fmt: skip


def test_the_terminal_shows_it_within_eighty_columns(view: View) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=False, color_system=None)
    show(console, view)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    shown = text[text.index("How fast it scales") :]
    assert max(map(len, shown.splitlines())) <= 80
    assert "20/20 (10–90 %)" in shown
    assert "No more launches are in time by 600 s." in shown
    assert "300 s" not in shown


def test_nothing_is_shown_where_nothing_was_asked(view: View) -> None:
    none = replace(view, scaling=())
    console = Console(file=io.StringIO(), width=80)
    show(console, none)
    assert "How fast" not in console.file.getvalue()  # type: ignore[attr-defined]
    assert "scaling" not in [figure.name for figure in figures(none)]
    assert 'id="scaling"' not in html.render(none)


def test_p39_no_text_escapes_from_its_place(view: View) -> None:
    payload = '</text><script>alert(1)</script>"\x1b[31m'
    page = html.render(replace(view, plan=poisoned(view.plan, payload)))
    assert "<script" not in page
    assert "\x1b" not in page
