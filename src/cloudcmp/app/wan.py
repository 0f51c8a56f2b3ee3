"""Says which provider reaches vantage points best: from measurements of others, tables, or a study."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.analysis.wide_area.page_time import PageModel
from cloudcmp.answer.reach.answer import reach
from cloudcmp.app.option_values import above_zero
from cloudcmp.app.wide_area import wide_area
from cloudcmp.errors import UserMistake
from cloudcmp.model.reach import WideAreaAnswer
from cloudcmp.report.wide_area_names import anonymous_area
from cloudcmp.units import parse_bytes, parse_seconds

OVER = "100 ms"
"""The limit above which a vantage point is far, unless another one is asked for (as in CloudCmp, section 5.4)."""
INITIAL_WINDOW = "14600 B"
"""What a server sends before the first acknowledgement, unless another amount is asked for: ten segments."""


@dataclass(frozen=True, slots=True)
class WanRequest:
    """What is asked about the sources; times and sizes as text, such as `100 ms`."""

    sources: tuple[str, ...]
    vantages: Path | None = None
    targets: Path | None = None
    over: str = OVER
    initial_window: str = INITIAL_WINDOW
    anonymise: bool = False


def wan(asked: WanRequest, *, progress: Callable[[str], None] = lambda _: None) -> WideAreaAnswer:
    """Answer a request.

    Raises UserMistake for a source that cannot be read, each fault in it, and a limit that is none.
    """
    limit = above_zero("--over", asked.over, parse_seconds, "100 ms")
    window = above_zero("--initial-window", asked.initial_window, parse_bytes, "14600 B")
    area = wide_area(asked.sources, vantages=asked.vantages, targets=asked.targets, progress=progress)
    if asked.anonymise:
        area = anonymous_area(area)
    return reach(area, limit, PageModel(initial_window=int(window)))


def check_kind(sources: Sequence[str], urls: Sequence[str], out: Path | None) -> None:
    """Raise UserMistake unless either sources are read or URLs are looked at; only a look is written as a table."""
    if urls and sources:
        what = f"--to looks from this machine, and {sources[0]} is read"
        raise UserMistake.at("cloudcmp wan", what, "leave one out; --out FILE.csv writes a look that can be read later")
    if not urls and not sources:
        raise UserMistake.at("cloudcmp wan", "no source is given", "name a table or a study, or write --to URL")
    if out is not None and not urls:
        raise UserMistake.at("--out", "only a look with --to is written as a table", "use --json or --page FILE")
