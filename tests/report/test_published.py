"""Published tables as they are printed."""

import io

from rich.cells import cell_len
from rich.console import Console

from cloudcmp.analysis.published import recompute
from cloudcmp.published import load
from cloudcmp.report.published import print_published


def _printed(*, every: bool) -> str:
    out = io.StringIO()
    print_published(Console(file=out, width=80), recompute(load("deval-2017")), every=every)
    return out.getvalue()


def test_what_does_not_follow_is_printed_beside_what_does() -> None:
    text = _printed(every=False)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    line = next(line for line in text.splitlines() if line.startswith("Azure multi"))
    assert line.split()[2:4] == ["919.19", "625.575"]
    assert "Cannot be recomputed" in text
    assert "None" not in text


def test_every_figure_can_be_asked_for() -> None:
    text = _printed(every=True)
    assert "1266.60" in text
    assert text.count("follows") > 200
