"""The same study gives the same bytes wherever it is run."""

from pathlib import Path

from tests.cli.command import installed
from tests.slices import long

STUDY = Path(__file__).with_name("small.yaml")


@long  # equal bytes in any locale and time zone: tests/report/test_figures.py
def test_p37_a_report_is_the_same_under_two_locales_and_time_zones(tmp_path: Path) -> None:
    pages = []
    for place, environ in (
        ("here", {"LC_ALL": "C", "TZ": "UTC", "PYTHONHASHSEED": "1"}),
        ("there", {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "2"}),
    ):
        said = installed("run", STUDY, "--out", tmp_path / place, **environ)
        assert said.code == 0, said.err
        report = Path(said.out.splitlines()[-1])
        assert report == tmp_path / place / "report.html"
        pages.append(report.read_bytes())
    assert pages[0] == pages[1]
