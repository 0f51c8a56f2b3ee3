"""Renders the tables of `list`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from cloudcmp.catalog import expected_s, fill
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.model.credits import CreditTable
from cloudcmp.model.inventory import PUBLISHED_PRICES, Inventory, ProviderSummary, StudyEntry
from cloudcmp.model.metric import Metric, Param, Probe, Suite
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.tool import Tool
from cloudcmp.published import Document
from cloudcmp.report.offerings import FACTS, Row, facts, unavailable_lines
from cloudcmp.units import Money, format_money, format_seconds

Table = tuple[Row, Sequence[Row]]


def table(found: Inventory) -> Table:
    """Columns and rows of an inventory."""
    return _DETAILS[found.kind](found.items[0]) if found.whole else _TABLES[found.kind](found.items)


def notes(found: Inventory) -> tuple[str, ...]:
    """Return one line for each item that is missing from the table or doubtful."""
    return _doubts(found.items[0]) if found.kind == PUBLISHED_PRICES else unavailable_lines(found.unavailable)


def _providers(found: Sequence[ProviderSummary]) -> Table:
    return ("provider", "numbers", "cost", "offerings"), [
        (one.name, "planted numbers" if one.simulated else "measures", "billed" if one.billed else "free",
         "not known" if one.offerings is None else str(one.offerings))
        for one in found
    ]  # fmt: skip


def _prices(found: Sequence[Offering]) -> Table:
    rows = [(one.provider, one.region, one.name, *_price(one.price)) for one in found]
    return ("provider", "region", "offering", "price", "source", "as of"), rows


def _price(price: Price | None) -> Row:
    if price is None:
        return "unknown", "none", "none"
    per_hour = f"{format_money(Money(price.amount_per_hour, price.currency))}/h"
    return per_hour, price.source, str(price.as_of or "unknown")


def _published_prices(found: Sequence[Document]) -> Table:
    """Return the prices that a document prints or implies; no study ever uses them."""
    from cloudcmp.analysis.published import price_lists  # loads scipy, which no other table needs

    rows = [
        (row.provider, row.name, row.item.value, f"{row.amount} {row.currency}/{row.unit.value}", one.source,
         str(one.published))
        for one in price_lists(found[0]) for row in one.rows
    ]  # fmt: skip
    return ("provider", "offering", "item", "price", "source", "as of"), rows


def _doubts(document: Document) -> tuple[str, ...]:
    """Return notes about a document's prices, one line each."""
    from cloudcmp.analysis.published import NO_CURRENCY, price_lists

    named = f"{document.title} ({document.year or 'undated'}), {document.source}"
    lines = [f"{named}: published prices, never used to create anything"]
    lines += dict.fromkeys(f"table {one.table}: {one.dated_by}" for one in document.catalogues)
    if any(one.currency == NO_CURRENCY for one in document.catalogues):
        lines.append(f"{NO_CURRENCY}: the document prints no currency")
    doubts = [doubt for one in price_lists(document) for doubt in one.doubts]
    return (*lines, *(f"{one.provider} {one.name}: {one.why}" for one in doubts))


def _probes(found: Sequence[Probe]) -> Table:
    rows = [(one.name, ", ".join(one.metrics), one.doc) for one in found]
    return ("probe", "metrics", "what it does"), rows


def _probe(probe: Probe) -> Table:
    params = [(one.name, one.kind.value, one.default, _meaning(one)) for one in probe.params]
    return ("parameter", "kind", "default", "meaning"), params


def _meaning(param: Param) -> str:
    return f"{param.doc} ({', '.join(param.words)})" if param.words else param.doc


def _suites(found: Sequence[Suite]) -> Table:
    rows = []
    for suite in found:
        trials = list(_trials_s(suite))
        rows.append((suite.name, str(len(trials)), format_seconds(sum(trials)), suite.doc))
    return ("suite", "trials", "one run takes", "what it measures"), rows


def _trials_s(suite: Suite) -> Iterator[float]:
    """Yield the expected duration (s) of each trial of one run on one processor."""
    for probe, params in suite.probes:
        for values in product(*(each for _, each in params)):
            given = {key: value for (key, _), value in zip(params, values, strict=True)}
            yield expected_s(probe, fill(probe, given))


def _suite(suite: Suite) -> Table:
    rows = [(probe, "; ".join(f"{key}: {' '.join(v)}" for key, v in params)) for probe, params in suite.probes]
    return ("probe", "parameters"), [(probe, params or "defaults") for probe, params in rows]


def _metrics(found: Sequence[Metric]) -> Table:
    rows = [(one.name, one.group.value, one.unit, one.better.value, ", ".join(one.params)) for one in found]
    return ("metric", "group", "unit", "better", "parameters"), rows


def _metric(metric: Metric) -> Table:
    return ("what", "of " + metric.name), [
        ("measures", metric.doc),
        ("does not measure", metric.excludes),
        ("unit", metric.unit),
        ("better", metric.better.value),
        ("parameters", ", ".join(metric.params) or "none"),
        ("a trial's value", f"{metric.reduce.value} of its samples"),
    ]


def _studies(found: Sequence[StudyEntry]) -> Table:
    """Return the studies; what is not known of one is empty."""
    rows = [(one.path, one.kind, one.name, "" if one.candidates is None else str(one.candidates), one.state,
             one.written) for one in found]  # fmt: skip
    return ("study", "kind", "name", "candidates", "state", "written (UTC)"), rows


def _tools(found: Sequence[Tool]) -> Table:
    rows = [(one.name, ", ".join(dict.fromkeys(package for _, package in one.packages)) or "none", one.doc)
            for one in found]  # fmt: skip
    return ("tool", "packages", "what it does"), rows


def _tool(tool: Tool) -> Table:
    """Return the facts about a tool, with its default settings."""
    settings = tool_settings(tool.name, {})
    served = tool.pair(settings).serve if tool.pair else ""
    rows = [
        ("does", tool.doc),
        ("leaves out", tool.excludes),
        ("package", ", ".join(f"{system}: {package}" for system, package in tool.packages) or "none: by its path"),
        *((f"parameter {one.name}", f"{one.default} ({one.kind.value}): {_meaning(one)}") for one in tool.params),
        *((f"measure {one.name}", one.metric) for one in tool.measures(settings)),
        *(("" if at else "command", line) for at, line in enumerate(tool.command(settings).splitlines())),
        *(("" if at else "on the second machine", line) for at, line in enumerate(served.splitlines())),
        ("takes", f"about {format_seconds(tool.typical_s(settings))}"),
        ("its output", f"{tool.reader.doc}; cloudcmp import reads it too"),
    ]
    return ("what", "of " + tool.name), rows


def _credits(found: Sequence[CreditTable]) -> Table:
    rows = [(one.name, f"{one.commitment:f} %", _tiers(one), one.text_of, one.verified.name.lower()) for one in found]
    return ("table", "uptime", "pays", "text of", "known from"), rows


def _tiers(one: CreditTable) -> str:
    """What a table pays: `10 % < 99.99, 30 % < 99`."""
    if one.step_s is not None:
        return f"{one.step_percent:f} % for {one.step_s // 60} min"
    return ", ".join(f"{tier.percent:f} % < {tier.upper.normalize():f}" for tier in one.tiers)


def _credit(one: CreditTable) -> Table:
    free = (
        []
        if one.free_hour_s is None
        else [("free", f"clock hours down for over {one.free_hour_s // 60} min are not charged")]
    )
    rows = [
        ("is for", one.title),
        ("promises", f"{one.commitment:f} % of a {one.period.value}"),
        ("pays", f"{_tiers(one)} of the bill"),
        *free,
        ("down is", one.down),
        ("counts", f"downtime as {one.counting.value}, of {one.unit_s} s"),
        *([] if one.minimum is None else [("minimum", f"{format_money(one.minimum)} or less is not paid")]),
        ("claim", f"within {one.claim_n} {one.claim_by.value}"),
        *(("" if at else "bring", text) for at, text in enumerate(one.bring)),
        *(("" if at else "assumed", text) for at, text in enumerate(one.assumed)),
        ("text", f"{one.source}; {one.text_of}; known from {one.verified.value}"),
    ]
    return ("what", "of " + one.name), rows


_TABLES: Mapping[str, Callable[[Any], Table]] = {
    "providers": _providers,
    "offerings": lambda found: (FACTS, list(map(facts, found))),
    "prices": _prices,
    PUBLISHED_PRICES: _published_prices,
    "probes": _probes,
    "suites": _suites,
    "metrics": _metrics,
    "tools": _tools,
    "credits": _credits,
    "studies": _studies,
}
_DETAILS: Mapping[str, Callable[[Any], Table]] = {
    "probes": _probe,
    "suites": _suite,
    "metrics": _metric,
    "tools": _tool,
    "credits": _credit,
}
