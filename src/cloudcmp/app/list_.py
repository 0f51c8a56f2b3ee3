"""What there is to choose from, as tables."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path

from cloudcmp import published
from cloudcmp.app.offerings import sources as selling
from cloudcmp.catalog import METRICS, PROBES, SUITES, TOOLS, expected_s, fill, hint, tool_settings
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.metric import Param, Suite
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.tool import Tool
from cloudcmp.provider.registry import make, names
from cloudcmp.units import Money, format_money, format_seconds

Row = tuple[str, ...]
Table = tuple[Row, Sequence[Row]]
_Asked = Callable[[], dict[str, selling.Told]]
"""What each provider offers, or why it could not be asked, most often for want of credentials; asked once."""


def table(kind: str, name: str | None, say: selling.Say = selling.quiet) -> tuple[Row, Sequence[Row], tuple[str, ...]]:
    """The columns and rows of one kind of thing; `name` picks one provider, or one item to be shown in full.

    With them a line for each thing that is not in the table, such as a provider that could not be asked, or is
    doubtful. `say` is told who is waited for. Raises UserMistake for a name that is not there, naming the nearest, and
    what a provider raises that was named.
    """
    if kind not in _SOLD:
        return *_TABLES[kind](name), ()
    asked: _Asked = cache(partial(selling.told_by, names(), None, say))
    return *_SOLD[kind](name, asked), _unasked(kind, name, asked)


def _unasked(kind: str, name: str | None, asked: _Asked) -> tuple[str, ...]:
    if kind == "prices" and name in published.documents():
        return _doubted(name)
    if kind == "providers" or name is not None:
        return ()
    return selling.left_out(asked())


def _picked(name: str | None, known: Sequence[str], kind: str) -> Sequence[str]:
    if name is None:
        return known
    if name not in known:
        raise UserMistake.at(kind, f"unknown {name!r}", hint(name, known, f"cloudcmp list {kind}"))
    return [name]


def _providers(name: str | None, asked: _Asked) -> Table:
    rows = []
    for each in _picked(name, names(), "providers"):
        provider = make(each)
        kind = "planted numbers" if provider.simulated else "measures"
        told = asked()[each]
        known = "not known" if told.why else str(len(told.offerings))
        rows.append((each, kind, "billed" if provider.billed else "free", known))
    return ("provider", "numbers", "cost", "offerings"), rows


def _offerings(name: str | None, asked: _Asked) -> Table:
    rows = [
        (one.provider, one.region, one.name, _text(one.vcpus), _text(one.memory_gib), one.category or "unknown")
        for one in _all_offerings(name, asked)
    ]
    return ("provider", "region", "offering", "vCPUs", "GiB", "category"), rows


def _prices(name: str | None, asked: _Asked) -> Table:
    if name in published.documents():
        return _printed(name)
    rows = [(one.provider, one.region, one.name, *_priced(one.price)) for one in _all_offerings(name, asked)]
    return ("provider", "region", "offering", "price", "source", "as of"), rows


def _printed(name: str) -> Table:
    """The prices that a published document prints or implies: history, which no study is ever made on."""
    from cloudcmp.analysis.published import price_lists  # loads scipy, which nothing else here needs

    rows = [
        (row.provider, row.name, row.item.value, f"{row.amount} {row.currency}/{row.unit.value}", one.source,
         str(one.published))
        for one in price_lists(published.load(name)) for row in one.rows
    ]  # fmt: skip
    return ("provider", "offering", "item", "price", "source", "as of"), rows


def _doubted(name: str) -> tuple[str, ...]:
    """What is to be known of a document's prices, a line each."""
    from cloudcmp.analysis.published import NO_CURRENCY, price_lists

    document = published.load(name)
    lines = [f"{document.title} ({document.year}), {document.source}: published prices, never used to create anything"]
    lines += dict.fromkeys(f"table {one.table}: {one.dated_by}" for one in document.catalogues)
    if any(one.currency == NO_CURRENCY for one in document.catalogues):
        lines.append(f"{NO_CURRENCY}: the document prints no currency")
    lists = price_lists(document)
    return (*lines, *(f"{each.provider} {each.name}: {each.why}" for one in lists for each in one.doubts))


def _priced(price: Price | None) -> Row:
    if price is None:
        return "unknown", "none", "none"
    per_hour = f"{format_money(Money(price.amount_per_hour, price.currency))}/h"
    return per_hour, price.source, str(price.as_of or "unknown")


def _all_offerings(name: str | None, asked: _Asked) -> list[Offering]:
    if name is not None:
        return _of_one(name)
    from cloudcmp.cost import offering_prices as catalogue

    return [one for told in asked().values() for one in catalogue.with_prices(told.offerings)]


def _of_one(name: str) -> list[Offering]:
    """What one provider sells; what the price book knows of one that cannot be asked, or has no driver."""
    from cloudcmp.cost import offering_prices as catalogue

    if name not in names() and (known := catalogue.booked(name)):
        return list(known)
    provider = make(_picked(name, names(), "providers")[0])
    try:
        return list(catalogue.with_prices(provider.offerings()))
    except CloudcmpError:
        if known := catalogue.booked(name):
            return list(known)
        raise


def _text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _probes(name: str | None) -> Table:
    if name is not None:
        probe = PROBES[_picked(name, tuple(PROBES), "probes")[0]]
        params = [(p.name, p.kind.value, p.default, _meaning(p)) for p in probe.params]
        return ("parameter", "kind", "default", "meaning"), params
    rows = [(p.name, "built" if p.built else "simulated only", ", ".join(p.metrics), p.doc) for p in PROBES.values()]
    return ("probe", "agent", "metrics", "what it does"), rows


def _meaning(param: Param) -> str:
    return f"{param.doc} ({', '.join(param.words)})" if param.words else param.doc


def _suites(name: str | None) -> Table:
    if name is not None:
        suite = SUITES[_picked(name, tuple(SUITES), "suites")[0]]
        told = [(probe, "; ".join(f"{key}: {' '.join(v)}" for key, v in params)) for probe, params in suite.probes]
        return ("probe", "parameters"), [(probe, params or "defaults") for probe, params in told]
    rows = []
    for suite in SUITES.values():
        trials = list(_trials(suite))
        rows.append((suite.name, str(len(trials)), format_seconds(sum(trials)), suite.doc))
    return ("suite", "trials", "one run takes", "what it measures"), rows


def _trials(suite: Suite) -> Iterator[float]:
    """How long each trial of one run is expected to take, s, with one processor."""
    for probe, params in suite.probes:
        for values in product(*(each for _, each in params)):
            asked = {key: value for (key, _), value in zip(params, values, strict=True)}
            yield expected_s(probe, fill(probe, asked))


def _metrics(name: str | None) -> Table:
    if name is not None:
        metric = METRICS[_picked(name, tuple(METRICS), "metrics")[0]]
        return ("what", "of " + metric.name), [
            ("measures", metric.doc),
            ("does not measure", metric.excludes),
            ("unit", metric.unit),
            ("better", metric.better.value),
            ("parameters", ", ".join(metric.params) or "none"),
            ("a trial's value", f"{metric.reduce.value} of its samples"),
        ]
    rows = [(m.name, m.group.value, m.unit, m.better.value, ", ".join(m.params)) for m in METRICS.values()]
    return ("metric", "group", "unit", "better", "parameters"), rows


def _studies(name: str | None) -> Table:
    from cloudcmp.app.run import STUDIES

    files = sorted(Path("studies").glob("*.yaml"))
    folders = sorted(path.parent for path in STUDIES.glob("*/study.db"))
    known = [str(path) for path in (*files, *folders)]
    rows = [(each, _kind(Path(each))) for each in _picked(name, known, "studies")]
    return ("study", "kind"), rows


def _kind(path: Path) -> str:
    if path.suffix == ".yaml":
        return "study file"
    return "imported" if (path / "samples" / "imported.parquet").exists() else "measured"


def _tools(name: str | None) -> Table:
    if name is not None:
        return ("what", "of " + name), list(tool_facts(TOOLS[_picked(name, tuple(TOOLS), "tools")[0]]))
    rows = [(each.name, ", ".join(dict.fromkeys(package for _, package in each.packages)) or "none", each.doc)
            for each in TOOLS.values()]  # fmt: skip
    return ("tool", "packages", "what it does"), rows


def tool_facts(tool: Tool) -> Iterator[tuple[str, str]]:
    """What is to be known of a tool: each thing and what it is, for its defaults."""
    settings = tool_settings(tool.name, {})
    yield "does", tool.doc
    yield "leaves out", tool.excludes
    yield "package", ", ".join(f"{system}: {package}" for system, package in tool.packages) or "none: by its path"
    for param in tool.params:
        yield f"parameter {param.name}", f"{param.default} ({param.kind.value}): {_meaning(param)}"
    for one in tool.measures(settings):
        yield f"measure {one.name}", one.metric
    for number, line in enumerate(tool.command(settings).splitlines()):
        yield "" if number else "command", line
    yield "takes", f"about {format_seconds(tool.typical_s(settings))}"
    yield "its output", f"{tool.reader.doc}; cloudcmp import reads it too"


_SOLD: dict[str, Callable[[str | None, _Asked], Table]] = {
    "providers": _providers,
    "offerings": _offerings,
    "prices": _prices,
}
_TABLES: dict[str, Callable[[str | None], Table]] = {
    "probes": _probes,
    "suites": _suites,
    "metrics": _metrics,
    "tools": _tools,
    "studies": _studies,
}
