"""The words, tables and figures of platforms, from planted figures."""

import io
from dataclasses import replace
from decimal import Decimal

import pytest
from rich.console import Console

from cloudcmp.app.paas import figures_of
from cloudcmp.cost.platform_bills import parse_bill
from cloudcmp.model.platform import Handler, Limit, LimitKind, Page, Platform, PlatformFigures, PlatformRun, Stage
from cloudcmp.model.platform import Request as Asked
from cloudcmp.report import paas_page
from cloudcmp.report.charts import platforms as charts
from cloudcmp.report.paas import grids, lines, show_paas

NAMES = ("run", "fn")


def planted(fast_s: float = 0.2, slow_s: float = 0.3, *, instances: int = 1) -> PlatformFigures:
    """Eight rounds on two platforms, a cold start and a load of the first."""
    requests = []
    for round_ in range(8):
        for at, base_s in enumerate((fast_s, slow_s)):
            for page in (Page.PIXEL, Page.CPU, Page.DISK):
                handler = Handler(f"i{round_ % instances}", 5.0, base_s / 2, base_s / 2, memory_bytes=1 << 29,
                                  disk_in_memory=page is Page.DISK and at == 0)  # fmt: skip
                requests.append(Asked(at, Stage.ROUNDS, page, round_, base_s + round_ / 1000, handler, "", round_))
    requests.append(Asked(1, Stage.ROUNDS, Page.CPU, 9.0, None, None, "timed out", 8))
    first = Handler("new", 0.1, 0.0, first=True)
    requests.append(Asked(0, Stage.IDLE, Page.PIXEL, 10.0, 1.0, first))
    load = [Asked(0, Stage.LOAD, Page.CPU, 20.0 + at, 0.5, Handler(f"l{at}", 0.1, 0.1)) for at in range(5)]
    limits = (
        Limit(0, LimitKind.TIME, 60.0, None, "", 7), Limit(0, LimitKind.MEMORY, 4e8, 4.2e8, "status 507", 20),
    )  # fmt: skip
    named = tuple(Platform(name, f"https://{name}.example.org") for name in NAMES)
    run = PlatformRun(named, (*requests, *load), limits, 1.8e9, 1, 5)
    return figures_of(run, {0: parse_bill("cloud-run"), 1: parse_bill("lambda")})


def text_of(found: PlatformFigures) -> str:
    out = io.StringIO()
    show_paas(Console(file=out, width=80, highlight=False), found)
    return out.getvalue()


def first_of(found: PlatformFigures, page: str = "/cpu") -> str:
    return dict(lines(found))[page]


def test_a_platform_is_first_only_where_its_interval_lies_below_all_others() -> None:
    assert first_of(planted()).startswith(
        "run 204 ms (200 to 207) is first among the processes seen; next is fn 304 ms"
    )
    assert first_of(planted(0.2, 0.201)).startswith("too close to call: run 204 ms")
    assert "among the processes seen" not in first_of(planted(instances=8))


def test_too_few_values_have_no_first() -> None:
    found = planted()
    few = replace(found.run, requests=tuple(one for one in found.run.requests if (one.round or 0) < 3))
    assert "cannot tell which is first: too few values" in first_of(figures_of(few, {}))


def test_everything_fits_a_terminal_and_says_what_it_does_not() -> None:
    text = text_of(planted())
    assert max(map(len, text.splitlines())) <= 80
    folded = " ".join(text.split())
    assert "run: 896 ms more than warm in the median of 1, which is too few for an interval" in folded
    assert "run: the disk task wrote to memory, which is no disk" in folded
    assert "1 of 49 requests of the rounds failed" in folded
    assert "each load is one observation" in folded
    assert "fewer than 6 processes answered" in folded
    cells = [cell for grid in grids(planted()) for row in grid.rows for cell in row]
    assert "refused by the handler: the system has no more" in cells
    assert "not met" in cells
    assert "memory unknown" in folded, "Cloud Run's memory is the user's to say"
    # 0.15 s at 0.5 GB on Lambda: 0.15 x 0.5 x 16.6667 USD + 0.20 USD for a million.
    assert "1.45 USD" in text


def test_a_mean_cost_has_no_end_below_what_every_request_costs() -> None:
    costs = [one for one in planted().costs if one.platform == 1 and one.money]
    assert costs
    assert all(one.low is not None and one.low >= 0.2 and one.money.amount >= Decimal("0.2") for one in costs)


def test_the_page_shows_the_tests_side_by_side_and_the_load_with_their_data() -> None:
    found = planted()
    bars, load = charts.figures(found)
    assert [row[:2] for row in bars.rows[:2]] == [("run", "pixel"), ("fn", "pixel")]
    assert dict(zip(bars.columns, bars.rows[0], strict=True))["median"] == pytest.approx(0.2035)
    assert [row[2] for row in load.rows] == [0, 1, 2, 3, 4, 5, 5]
    page = paas_page.render(found)
    assert page.count("<figure ") == 2
    assert "Which platform answers first" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
