"""The figures: what they hold, that equal studies give equal bytes, and that no text escapes from its place."""

import csv
import hashlib
import io
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.report.listed import Listed

from cloudcmp.model.view import View
from cloudcmp.report.charts import bars
from cloudcmp.report.charts.base import Styles
from cloudcmp.report.figures import Figure, figures, write_figures
from cloudcmp.report.html import render
from cloudcmp.report.report_model import StudyView

from .payloads import ALL, MARKUP

_DRAWN = {"svg", "g", "path", "text", "rect", "line", "defs", "clipPath", "tspan"}


def _texts(figure: Figure) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure.svg).iter() if node.tag.endswith("}text")]


def test_every_kind_of_figure_is_drawn(drawn: tuple[Figure, ...]) -> None:
    names = [figure.name for figure in drawn]
    assert names == [
        "bars-compute", "bars-storage", "bars-network", "bars-wan", "network-within", "cost-compute",
        "price-performance", "blob-latency", "cdf-network", "series",
    ]  # fmt: skip


def test_every_figure_says_that_it_is_simulated(drawn: tuple[Figure, ...]) -> None:
    for figure in drawn:
        assert "[SIMULATED]" in figure.title
        assert any("[SIMULATED]" in text for text in _texts(figure))


def test_every_figure_carries_its_counts(drawn: tuple[Figure, ...]) -> None:
    for figure in drawn:
        assert {"n", "n_ok", "n_started"} <= set(figure.columns)
        assert "n 6, 12/12 ok" in " ".join((*_texts(figure), figure.caption)), figure.name
    bars = drawn[0]
    assert len([text for text in _texts(bars) if "(n 6, " in text]) == 6 * 3


def test_axes_are_in_units_that_suit_the_cell(drawn: tuple[Figure, ...]) -> None:
    texts = [text for figure in drawn for text in _texts(figure)]
    for words in ("Gflop/s, more is better", "ns, less is better", "USD per 1000 tasks, less is better",
                  "USD an hour, less is better", "ms, logarithmic, less is better", "µs, less is better"):  # fmt: skip
        assert words in texts


def test_no_figure_shows_a_word_of_the_machine_for_unknown(drawn: tuple[Figure, ...]) -> None:
    for figure in drawn:
        shown = [figure.title, figure.caption, *_texts(figure)]
        assert not any(word in text for text in shown for word in ("NaN", "nan", "None", "null", "undefined", "Infin"))


def test_the_data_of_a_figure_is_in_base_units(drawn: tuple[Figure, ...], view: View) -> None:
    rows = list(csv.DictReader(io.StringIO(_csv(drawn[0]))))
    one = view.analysis.estimates[0]
    assert float(rows[0]["median"]) == one.median
    assert (rows[0]["unit"], rows[0]["cell"]) == ("flop/s", one.cell)


def _csv(figure: Figure) -> str:
    from cloudcmp.report.text import csv_text

    return csv_text(figure.columns, figure.rows)


def test_a_study_without_prices_has_no_figures_of_cost(view_of: Callable[..., View], make_candidate: Callable) -> None:  # type: ignore[type-arg]
    names = [figure.name for figure in figures(view_of((make_candidate(0, "local", "one-cpu", None),)))]
    assert "bars-compute" in names
    assert not any(name.startswith(("cost", "price")) for name in names)


def test_candidates_without_values_have_no_row_and_are_named_below(view: View) -> None:
    lost = replace(view.analysis.estimates[2], median=None, n=0, n_ok=0, values=())
    fma = (*view.analysis.estimates[:2], lost, *view.analysis.estimates[4:6])
    few = replace(view, analysis=replace(view.analysis, estimates=fma, comparisons=Listed()), series=(), cdfs=())
    drawn, names = figures(few)[0], Styles.of(StudyView.of(few)).names
    assert drawn.caption.endswith(
        f" Left out because they have no value (2): {names[2]} (0/12 ok, 1 of 2 panels), "
        f"{names[0]} (not offered, 1 of 2 panels)."
    )
    axes = [text for text in _texts(drawn) if text in names]
    assert sorted(axes) == sorted([names[0], names[1], names[1], names[2]])
    assert not any("no value" in text for text in _texts(drawn))


def test_a_group_without_any_value_has_no_figure(view: View) -> None:
    lost = tuple(replace(one, median=None, n=0, n_ok=0, values=()) for one in view.analysis.estimates)
    book = StudyView.of(replace(view, analysis=replace(view.analysis, estimates=lost), cdfs=(), series=()))
    assert bars.figures(book, Styles.of(book)) == []


def test_a_group_of_many_cells_draws_twelve(view: View) -> None:
    some = [one for one in view.analysis.estimates if one.cell.startswith("task_time_s")]
    more = tuple(replace(one, cell=f"task_time_s task=t{at};threads=one") for at in range(20) for one in some)
    book = StudyView.of(replace(view, analysis=replace(view.analysis, estimates=more), cdfs=(), series=()))
    (found,) = bars.figures(book, Styles.of(book))
    assert "12 of 20 cells are drawn here" in found.caption
    assert len(found.rows) == 60
    assert len([text for text in _texts(found) if "(n 6, " in text]) == 36


@pytest.mark.parametrize("payload", [*MARKUP[::8], *ALL[-31:-9:4]])
def test_p39_texts_stay_texts_in_a_drawing(payload: str, poison: Callable[[str], View]) -> None:
    view = poison(payload)
    few = replace(view.analysis, estimates=view.analysis.estimates[:3], comparisons=Listed(), winners=())
    for figure in figures(replace(view, analysis=few, cdfs=(), series=())):
        for node in ElementTree.fromstring(figure.svg).iter():
            assert node.tag.split("}")[1] in _DRAWN
            assert not any(name.startswith("on") or "href" in name or name == "style" for name in node.attrib)
            assert not any(ord(char) < 32 or char in "\u202e\u2066\u200b" for char in (node.text or "").strip())


def test_files_are_written_whole_and_named_after_their_figure(
    drawn: tuple[Figure, ...], view: View, tmp_path: Path
) -> None:
    written = write_figures(view, tmp_path / "new", drawn[:2])
    assert [path.name for path in written] == [
        f"{figure.name}.{kind}" for figure in drawn[:2] for kind in ("svg", "png", "csv")
    ]
    assert written[1].read_bytes().startswith(b"\x89PNG\r\n")
    assert written[0].read_text(encoding="utf-8") == drawn[0].svg


def test_a_link_of_a_figures_name_is_replaced_and_not_written_through(
    drawn: tuple[Figure, ...], view: View, tmp_path: Path
) -> None:
    (tmp_path / "victim").write_text("dear")
    for ending in ("svg", "svg.new", "csv"):
        (tmp_path / f"{drawn[0].name}.{ending}").symlink_to(tmp_path / "victim")
    for path in write_figures(view, tmp_path, drawn[:1]):
        assert not path.is_symlink()
    assert (tmp_path / "victim").read_text() == "dear"
    assert not list(tmp_path.glob("*.new"))


def _digest() -> str:
    """The SHA-256 of a report and of its figures, of some metrics of the study that these tests share."""
    view: StudyView = runpy.run_path(str(Path(__file__).with_name("conftest.py")))["make_view"]()
    kept = ("fma", "blob", "udp", "task")
    estimates = tuple(one for one in view.analysis.estimates if one.cell.startswith(kept))
    winners = tuple(one for one in view.analysis.winners if one.cell.startswith(kept))
    comparisons = view.analysis.comparisons.only({one.cell for one in estimates})
    few = replace(view.analysis, estimates=estimates, winners=winners, comparisons=comparisons)
    view = replace(view, analysis=few)
    drawn = figures(view)
    whole = hashlib.sha256(render(view, drawn).encode())
    with tempfile.TemporaryDirectory() as folder:
        for path in write_figures(view, Path(folder), drawn):
            whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


_ELSEWHERE = """
import locale, time
locale.setlocale(locale.LC_ALL, "")
time.tzset()
from tests.report.test_figures import _digest
print(_digest())
"""


def test_p37_equal_studies_give_equal_bytes_in_any_locale_and_time_zone() -> None:
    elsewhere = {"LC_ALL": "C", "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE], env=os.environ | elsewhere, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == _digest()
