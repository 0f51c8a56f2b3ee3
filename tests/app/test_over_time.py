"""The section of a report over time: a planted change with its day and size, and nothing where nothing changed."""

import re
from pathlib import Path

import pytest

from cloudcmp.app.over_time import over_time
from cloudcmp.app.study_view import view
from cloudcmp.model.history import By
from tests.app.test_history import followed
from tests.cli.command import cloudcmp


def table(path: Path, days: int, after: float, *, a_day: int = 1) -> Path:
    """A table of two offerings, of which one goes to another level in the middle; days are those of 2026."""
    lines = ["provider,region,offering,instance,time,metric,unit,better,value"]
    for at in range(days * a_day):
        day, hour = divmod(at, a_day)
        for name, level in (("steady", 100.0), ("moved", 100.0 if at < days * a_day / 2 else after)):
            value = level * (1 + 0.01 * ((at * 7) % 5 - 2))
            lines.append(f"aws,eu,{name},{at},2026-{1 + day // 28:02d}-{day % 28 + 1:02d}T{hour:02d}:00:00Z,"
                         f"rate,op/s,higher,{value:.4f}")  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    folder = path.with_suffix("")
    assert cloudcmp("import", path, "--out", folder).code == 0
    return folder


def page_of(folder: Path) -> str:
    done = cloudcmp("report", folder, "--out", folder.parent / "r.html")
    assert done.code == 0, done.err
    return (folder.parent / "r.html").read_text(encoding="utf-8")


def section(page: str) -> str:
    found = re.search(r"<section>\s*<details[^>]*>\s*<summary><h2>Over time</h2>.*?</section>", page, re.DOTALL)
    assert found is not None
    return found[0]


def test_a_change_is_told_with_its_day_and_size_and_the_section_is_open(tmp_path: Path) -> None:
    page = page_of(table(tmp_path / "t.csv", 40, 80.0))
    shown = section(page)
    assert "<details open>" in shown
    assert "The level changed once, in 1 of 2 series from 2026-01-01 to 2026-02-12, a point a day (UTC)" in shown
    (told,) = re.findall(r"2026-01-21 moved, rate -(\d+(?:\.\d)?) % \(", shown)
    assert float(told) == pytest.approx(20.0, abs=0.5)
    assert "100 to 80.0 op/s" in shown
    assert "1 series without a change" in shown
    assert 'id="figure-history"' in shown
    assert 'id="figure-history-unchanged"' in shown
    assert "the level changed during the study, so that its figures mix two levels: 2026-01-21" in page
    assert page == page_of(tmp_path / "t")


def test_without_a_change_the_section_is_folded_and_says_so(tmp_path: Path) -> None:
    page = page_of(followed(tmp_path, 12))
    shown = section(page)
    assert "<details>" in shown.splitlines()[1]
    assert "No change of level was found in 1 series" in shown
    assert "Changes of level" not in shown
    assert "its figures mix two levels" not in page


def test_few_days_are_shown_by_launch_and_a_single_day_not_at_all(tmp_path: Path) -> None:
    few = table(tmp_path / "few.csv", 4, 80.0, a_day=8)
    found = over_time(view(few, drawn=False), few)
    assert found is not None
    assert found.by is By.LAUNCH
    assert [len(one.changes) for one in found.tracks] == [0, 1]
    one = table(tmp_path / "one.csv", 1, 80.0, a_day=20)
    assert over_time(view(one, drawn=False), one) is None
    assert "Over time" not in page_of(one)


def test_the_figures_of_a_report_include_those_over_time(tmp_path: Path) -> None:
    folder = table(tmp_path / "t.csv", 40, 80.0)
    assert cloudcmp("report", folder, "--out", tmp_path / "r.html", "--figures", tmp_path / "figures").code == 0
    rows = (tmp_path / "figures/history.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 41
    assert "candidate,cell,time,value,unit,launches,change,change_low,change_high" in rows[0]
    assert (tmp_path / "figures/history-unchanged.svg").exists()


def test_labels_of_neighbouring_changes_do_not_overlap(tmp_path: Path) -> None:
    from cloudcmp.app.history import history
    from cloudcmp.report.charts.history import _labels

    lines = ["provider,region,offering,instance,time,metric,unit,better,value"]
    for day in range(84):
        level = 100.0 if day < 30 or day >= 42 else 130.0
        lines.append(f"aws,eu,a,{day},2026-{1 + day // 28:02d}-{day % 28 + 1:02d}T00:00:00Z,rate,op/s,higher,"
                     f"{level * (1 + 0.01 * ((day * 7) % 5 - 2)):.4f}")  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = history([str(tmp_path / "t.csv")])
    labels = _labels(found, found.tracks[0])
    assert len(labels) == 2
    assert len({one["y"] for one in labels}) == 2
