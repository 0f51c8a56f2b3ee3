"""Plain tables of times, one row for each measurement or path."""

from functools import lru_cache
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Phase, Site, VantagePoint, WideArea
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.cells import BadCell, Row
from cloudcmp.store.wide_area.gather import Faults, Gatherer

UNITS = {"seconds": 1.0, "s": 1.0, "ms": 1e3, "rtt_ms": 1e3, "us": 1e6}
"""The columns that hold a time, and how many of their units a second has."""
COLUMNS = (
    "vantage", "vantage_lat", "vantage_lon", "country", "continent", "population", "network", "provider", "region",
    "site_lat", "site_lon", "site_country", "phase", "n", "started", "size_bytes", "least", "name", "address",
)  # fmt: skip
_OF_VANTAGE = ("vantage", "vantage_lat", "vantage_lon", "country", "continent", "population", "network")
_NEEDED = ("vantage", "provider")
_PHASES = {phase.value: phase for phase in Phase} | {"": Phase.RTT, "ping": Phase.RTT, "ttfb": Phase.FIRST_BYTE}
_SIZED = frozenset({Phase.FIRST_BYTE, Phase.TRANSFER, Phase.PAGE})


def is_latency_table(columns: tuple[str, ...]) -> bool:
    """True if the columns of a table are those of a plain table of times."""
    return set(_NEEDED) <= set(columns) and any(one in columns for one in UNITS)


def read_latency_table(path: Path) -> WideArea:
    """Read a plain table of times between vantage points and regions, or addresses of a name.

    Each row has a vantage, a provider and a time; several rows of one path give their median. An empty time is an
    attempt to which nothing came back. A row with a `name` and no region is about a name of the provider: with phase
    `dns`, the `address` that was given to the vantage; with phase `rtt`, the round-trip time to that address.

    Raises UserMistake, with a line for each of the first 20 faults.
    """
    columns = cells.columns_of(path)
    units = [one for one in UNITS if one in columns]
    if len(units) != 1:
        found = "no column holds a time" if not units else f"two columns hold times, {units[0]} and {units[1]}"
        raise UserMistake.at(str(path), found, "name one column ms or seconds")
    gathered, faults = Gatherer(), Faults()
    rows = 0
    for row in cells.rows_of(path):
        rows += 1
        try:
            _add(gathered, row, units[0])
        except BadCell as bad:
            faults.add(row.place, bad.what, bad.next)
    faults.check()
    if not rows:
        raise UserMistake.at(str(path), "the table has no rows", "write one row for each vantage and region")
    strange = [one for one in columns if one not in COLUMNS and one not in UNITS]
    if strange:
        gathered.notes.append(f"{path.name}: columns that are not used: {cells.name(', '.join(strange))}")
    return gathered.area(path.name)


def _add(gathered: Gatherer, row: Row, unit: str) -> None:
    vantage = _vantage(*(row[one] for one in _OF_VANTAGE))
    provider, region = cells.name(row["provider"]).lower(), cells.name(row["region"])
    if not provider:
        raise BadCell("the provider is empty", "name the provider of the region")
    phase = _phase(row["phase"])
    value = cells.seconds(unit, row[unit], UNITS[unit])
    if row["name"] and not region:
        _add_name(gathered, row, vantage, provider, phase, value)
        return
    if not region:
        raise BadCell("the region is empty", "name the region, or a name and an address")
    least = cells.seconds("least", row["least"], UNITS[unit])
    n, started = _counts(row, value)
    size = cells.count("size_bytes", row["size_bytes"])
    if size is not None and phase not in _SIZED:
        raise BadCell(f"a size of a body in phase {phase.value}", "leave size_bytes empty there")
    place = cells.position(row["site_lat"], row["site_lon"])
    gathered.vantage(vantage)
    site = gathered.site(Site(provider, region, place, cells.country(row["site_country"])))
    gathered.add(vantage.name, (site.provider, site.region), phase, [] if value is None else [value], started=started,
                 n=n, size_bytes=size, least=least)  # fmt: skip


def _add_name(
    gathered: Gatherer, row: Row, vantage: VantagePoint, provider: str, phase: Phase, value: float | None
) -> None:
    name, address = cells.name(row["name"]).lower(), cells.name(row["address"]).lower()
    if not address:
        raise BadCell("a name without an address", "write the address that was given, or that was asked")
    if phase not in {Phase.DNS, Phase.RTT}:
        raise BadCell(f"a name and an address in phase {phase.value}", "write dns for an answer, rtt for a time")
    gathered.vantage(vantage)
    if phase is Phase.DNS:
        gathered.answer(vantage.name, provider, name, address)
        return
    _, started = _counts(row, value)
    gathered.add_address(vantage.name, provider, name, address, [] if value is None else [value], started)


@lru_cache(maxsize=4096)
def _vantage(
    name: str, lat: str, lon: str, country: str, continent: str, population: str, network: str
) -> VantagePoint:
    """The vantage point in the cells of a row."""
    if not name:
        raise BadCell("the vantage is empty", "name the place that measured")
    return VantagePoint(
        cells.name(name), cells.position(lat, lon), cells.country(country), cells.continent(continent),
        cells.weight("population", population), cells.name(network),
    )  # fmt: skip


def _phase(text: str) -> Phase:
    phase = _PHASES.get(text.lower())
    if phase is None:
        known = ", ".join(one.value for one in Phase)
        raise BadCell(f"phase {cells.name(text)!r} is unknown", f"write one of {known}")
    return phase


def _counts(row: Row, value: float | None) -> tuple[int, int]:
    """How many attempts came back, of how many: without columns that say so, the one of the row."""
    given, started = cells.count("n", row["n"]), cells.count("started", row["started"])
    n = (1 if value is not None else 0) if given is None else given
    if started is None:
        started = max(1, n)
    if n > started:
        raise BadCell(f"n {n} is more than the {started} started", "n counts the attempts that came back")
    if (n > 0) != (value is not None):
        raise BadCell(f"{n} attempts came back and the time is {'empty' if value is None else 'given'}",
                      "leave the time empty if and only if nothing came back")  # fmt: skip
    return n, started
