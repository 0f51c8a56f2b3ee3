"""Prints how providers reach vantage points: the answer first, then the tables."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from rich.console import Console

from cloudcmp.answer.reach.sentences import change, headline, limit_words, lines, ms, part_words
from cloudcmp.model.reach import Look, MissingRegion, PageFigure, Quantile, Reached, Share, WideAreaAnswer
from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.model.wide_area import Phase
from cloudcmp.report.grids import Grid
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import format_quantity

_SHOWN = 5
_MODELLED = "MODELLED"


def show_wide_area(console: Console, found: WideAreaAnswer, *, every: bool = False) -> None:
    """Print the answer; `every` shows all impossible times and all parts of the world, not only the first."""
    say(console, headline(found), "bold")
    say(console, counts(found), "dim")
    say(console, "")
    for label, text in lines(found):
        labelled(console, label, text)
    for at, text in enumerate(found.cautions):
        labelled(console, "MIND" if not at else "", text, "yellow")
    for grid in grids(found, None if every else _SHOWN):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)
    if not every and (len(found.impossible) > _SHOWN or len(found.missing) > _SHOWN):
        labelled(console, "MORE", "--all shows every row, --json every vantage point", "dim")


def counts(found: WideAreaAnswer) -> str:
    """What the answer rests on: vantage points, regions, paths, and what they are."""
    area = found.area
    if found.looks:
        return f"{area.source} | {area.kind} | {found.looks[0].started} pages of each, one after another"
    regions = sum(1 for _ in area.sites)
    paths = sum(one.phase is Phase.RTT and one.median_s is not None for one in area.paths)
    return f"{area.source} | {area.kind} | {regions} region{'s' * (regions != 1)} | {paths:,} round trips"


def grids(found: WideAreaAnswer, most: int | None = None) -> Iterator[Grid]:
    """Yield the tables of an answer, each of at most `most` rows where rows are many."""
    if found.looks:
        yield _looks(found)
        return
    if found.pairs:
        yield _pairs(found)
    if found.reached:
        yield _reached(found)
    if any(one.continent is not None for one in found.reached):
        yield _parts(found)
    if found.missing:
        yield _missing(found, most)
    if found.names:
        yield _names(found)
    if found.pages:
        yield _pages(found)
    if found.impossible:
        yield _impossible(found, most)


def _looks(found: WideAreaAnswer) -> Grid:
    rows = tuple(
        (str(one.site), *_looked(one, Phase.RTT), *_looked(one, Phase.PAGE)[:2], f"{one.pages}/{one.started}")
        for one in found.looks
    )
    return Grid(
        f"Round trips and whole pages from {found.area.vantages[0].name}, medians in ms",
        ("URL", Head("round trip"), Head("interval"), Head("n"), Head("page"), Head("interval"), Head("came")),
        rows, "95 % intervals of the medians, by order; came: whole pages, which the page's median counts",
    )  # fmt: skip


def _looked(one: Look, phase: Phase) -> tuple[str | None, str | None, str | None]:
    time = one.time(phase)
    return (None, None, None) if time is None else (_ms(time.median_s), _times(time.bounds), str(time.n))


def _pairs(found: WideAreaAnswer) -> Grid:
    rows = tuple(
        (f"{one.a} / {one.b}", str(one.n), str(one.clusters), _change(one.ratio), _changes(one.ratio_bounds),
         None if one.difference_s is None else ms(one.difference_s),
         one.verdict.value if one.verdict is not Verdict.CANNOT_TELL else "cannot tell")
        for one in found.pairs
    )  # fmt: skip
    return Grid(
        "Lowest round trips of two providers, paired by vantage point",
        ("pair", Head("n"), Head("clusters"), Head("ratio"), Head("95 % interval"), Head("mean"), "verdict"), rows,
        "ratio: of the first to the second; clusters: networks in a country, or places",
    )  # fmt: skip


def _reached(found: WideAreaAnswer) -> Grid:
    rows = tuple(
        (one.provider, _of(one), *(text for some in one.quantiles for text in (_ms(some.value_s), _times(some.bounds))),
         _share(one.within))
        for one in found.reached if one.continent is None and one.quantiles
    )  # fmt: skip
    return Grid(
        "Lowest round trip from each vantage point to any region of a provider",
        ("provider", Head("n"), Head("half"), Head("interval"), Head("90 %"), Head("interval"),
         Head(f"<= {limit_words(found)}")), rows, "in ms: half, or 90 %, of the vantage points have at most this; "
        "95 % intervals",
    )  # fmt: skip


def _parts(found: WideAreaAnswer) -> Grid:
    rows = tuple(
        (part_words(one.continent), one.provider, _of(one), *_halves(one), _share(one.within))
        for one in found.reached if one.continent is not None
    )  # fmt: skip
    heads = ("continent", "provider", Head("n"), Head("half"), Head("interval"), Head(f"<= {limit_words(found)}"))
    return Grid("The same by continent of the vantage point, in ms", heads, rows)


def _halves(one: Reached) -> tuple[str | None, str | None]:
    return (_ms(one.quantiles[0].value_s), _times(one.quantiles[0].bounds)) if one.quantiles else (None, None)


def _missing(found: WideAreaAnswer, most: int | None) -> Grid:
    rows = tuple(
        (one.provider, part_words(one.continent), f"{one.over} of {one.n}", ", ".join(one.countries) or None,
         f"{one.instead} ({one.place})" if one.place else one.instead or None, str(one.helps) if one.instead else None,
         _own(one))
        for one in found.missing[:most]
    )  # fmt: skip
    unmeasured = "; *: not measured" if any(one.own and not one.own_measured for one in found.missing[:most]) else ""
    return Grid(
        f"Vantage points above {limit_words(found)}, and a region of another provider that would help",
        ("provider", "where", Head("above"), "countries", "a region as", Head("helps"), "its own"), rows,
        "above: or without a reply; helps: points that reach that region of another provider in time; its own: the "
        f"provider's region in the same place, which is too slow or gives no reply{unmeasured}",
    )  # fmt: skip


def _own(one: MissingRegion) -> str | None:
    """The name of the provider's own region in the place of the one that would help; unknown if none would."""
    if not one.instead:
        return None
    return f"{one.own.partition('/')[2]}{'' if one.own_measured else '*'}" if one.own else "none"


def _names(found: WideAreaAnswer) -> Grid:
    rows = tuple(
        (one.name, one.provider, str(one.addresses), str(one.n), None if one.best is None else _share(one.best),
         _time(one.excess[0]) if one.excess else None, _time(one.excess[1]) if one.excess else None,
         str(max((places for _, places in one.anycast), default=1)) if one.n else None)
        for one in found.names
    )  # fmt: skip
    return Grid(
        "How far the given addresses are from the best ones",
        ("name", "provider", Head("addresses"), Head("n"), Head("best"), Head("half"), Head("90 %"), Head("places")),
        rows, "half, 90 %: are at most this above their best; places: least number of the most spread address",
    )  # fmt: skip


def _pages(found: WideAreaAnswer) -> Grid:
    measured = any(one.measured is not None for one in found.pages)
    heads: tuple[str | Head, ...] = ("page", "provider", Head("n"), Head("modelled"), Head("interval"))
    if measured:
        heads = (*heads, Head("measured"), Head("n"), Head("interval"), Head("off"))
    rows = tuple(_page(one, measured=measured) for one in found.pages)
    dns = "with the measured lookup of the name" if all(one.has_dns for one in found.pages) else "without the lookup"
    return Grid(
        f"Time of a page from the nearest region, median in ms{'' if measured else f' [{_MODELLED}]'}", heads, rows,
        f"modelled: {'connect, TLS' if found.pages[0].has_tls else 'connect'} and first byte take a round trip each, "
        f"then slow start without loss; {dns}",
    )  # fmt: skip


def _page(one: PageFigure, *, measured: bool) -> tuple[str | None, ...]:
    cells = (
        size_words(one.size_bytes),
        one.provider,
        str(one.n),
        _ms(one.modelled.value_s),
        _times(one.modelled.bounds),
    )
    if not measured:
        return cells
    if one.measured is None:
        return (*cells, None, None, None, None)
    return (*cells, _ms(one.measured.value_s), str(one.n_measured), _times(one.measured.bounds), _change(one.off))


def _impossible(found: WideAreaAnswer, most: int | None) -> Grid:
    rows = tuple((one.vantage, one.site, format_quantity(one.measured_s, "s"), format_quantity(one.light_s, "s"))
                 for one in found.impossible[:most])  # fmt: skip
    return Grid(
        f"{len(found.impossible)} impossible round trips, left out",
        ("from", "to", Head("measured"), Head("light needs")), rows,
        "light in fibre along the great circle, with 100 km of doubt about each place",
    )  # fmt: skip


def size_words(size_bytes: int) -> str:
    """The size of a page."""
    for factor, unit in ((1e6, "MB"), (1e3, "KB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:g} {unit}"
    return f"{size_bytes} B"


def _of(one: Reached) -> str:
    """How many vantage points got a reply, and of how many if not all did."""
    return str(one.n) if one.n == one.started else f"{one.n}/{one.started}"


def _time(one: Quantile) -> str:
    return format_quantity(one.value_s, "s")


def _times(bounds: Bounds | None) -> str | None:
    if bounds is None:
        return None
    return f"{_ms(bounds.low)}-{_ms(bounds.high)}"


def _ms(seconds: float) -> str:
    """A time in milliseconds, without the unit, with three digits."""
    return f"{seconds * 1e3:,.0f}" if seconds >= 1 else f"{seconds * 1e3:.3g}"


def _share(one: Share) -> str:
    text = f"{one.value * 100:.0f} %"
    return text if one.bounds is None else f"{text} ({one.bounds.low * 100:.0f}-{one.bounds.high * 100:.0f})"


def _change(ratio: float | None) -> str | None:
    return None if ratio is None else change(ratio)


def _changes(bounds: Bounds | None) -> str | None:
    return None if bounds is None else f"{change(bounds.low)} to {change(bounds.high)}"


def wide_area_document(found: WideAreaAnswer) -> dict[str, Any]:
    """The document of `wan`."""
    area, times = found.area, found.best_times
    best = [
        [
            {"provider": provider, "time_s": float(times.time_s[at, vantage]),
             "region": area.sites[times.site[at, vantage]].region}
            for at, provider in enumerate(times.providers) if times.site[at, vantage] >= 0
        ]
        for vantage in range(len(area.vantages))
    ]  # fmt: skip
    return {
        "answer": headline(found),
        **_picked(found, "best", "decided", "limit_s"),
        **_picked(area, "source", "kind", "sites"),
        "vantages": [{**_named(one), "best": own} for one, own in zip(area.vantages, best, strict=True)],
        **_picked(found, "pairs", "reached", "missing", "names", "pages", "impossible", "curves", "page_curves"),
        "looks": found.looks,
    }


def _named(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _picked(value: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}
