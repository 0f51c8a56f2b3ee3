"""Where vantage points are, and whom they stand for: RIPE Atlas probes, or a table of the user's."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import VantagePoint, WideArea
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.cells import BadCell
from cloudcmp.store.wide_area.documents import bad_json, document, is_json
from cloudcmp.store.wide_area.gather import Faults


def read_vantages(path: Path) -> dict[str, VantagePoint]:
    """Read what is known of vantage points, by name.

    A table has the column vantage, and any of vantage_lat, vantage_lon (or lat, lon), country, continent, population
    (or weight) and network. A JSON file is a list of probes of RIPE Atlas, as its interface or its archive gives them.

    Raises UserMistake, with a line for each of the first 20 faults.
    """
    faults = Faults()
    found: dict[str, VantagePoint] = {}
    for place, make in _probes(path) if is_json(path) else _rows(path):
        try:
            one = make()
            if one.name in found:
                raise BadCell(f"vantage {one.name} is there twice", "keep one of the two")
            found[one.name] = one
        except BadCell as bad:
            faults.add(place, bad.what, bad.next)
    faults.check()
    if not found:
        raise UserMistake.at(str(path), "no vantage point", "write one row for each, with the column vantage")
    return found


def with_vantages(area: WideArea, known: Mapping[str, VantagePoint]) -> WideArea:
    """Add to an area what is known of its vantage points; those of `known` that it lacks are ignored."""
    return replace(area, vantages=tuple(_merged(one, known.get(one.name)) for one in area.vantages))


def _merged(one: VantagePoint, more: VantagePoint | None) -> VantagePoint:
    if more is None:
        return one
    return VantagePoint(
        one.name,
        more.at or one.at,
        more.country or one.country,
        more.continent or one.continent,
        more.weight if more.weight != 1 else one.weight,
        more.network or one.network,
    )


_Made = Iterator[tuple[str, Any]]


def _rows(path: Path) -> _Made:
    if "vantage" not in cells.columns_of(path):
        raise UserMistake.at(str(path), "no column vantage", "write the columns vantage, lat, lon and population")
    for row in cells.rows_of(path):

        def make(row: cells.Row = row) -> VantagePoint:
            if not row["vantage"]:
                raise BadCell("the vantage is empty", "name it")
            return VantagePoint(
                cells.name(row["vantage"]),
                cells.position(row.first("vantage_lat", "lat"), row.first("vantage_lon", "lon")),
                cells.country(row["country"]),
                cells.continent(row["continent"]),
                cells.weight("population", row.first("population", "weight")),
                cells.name(row["network"]),
            )

        yield row.place, make


def _probes(path: Path) -> _Made:
    """The probes of a JSON list, or of the list under `objects` (archive) or `results` (interface)."""
    try:
        whole: Any = document(path)
    except (ValueError, RecursionError) as error:
        raise bad_json(path, error) from None
    if isinstance(whole, dict):
        whole = next((whole[key] for key in ("objects", "results", "probes") if key in whole), [whole])
    if not isinstance(whole, list):
        raise UserMistake.at(str(path), "no list of probes", "name the JSON of RIPE Atlas's probes")
    for number, one in enumerate(whole, 1):

        def make(one: Any = one) -> VantagePoint:
            return _probe(one)

        yield f"{path}:probe {number}", make


def _probe(one: Any) -> VantagePoint:
    if not isinstance(one, dict) or not isinstance(one.get("id"), int) or isinstance(one["id"], bool):
        raise BadCell("no probe with an id", "name the JSON of RIPE Atlas's probes")
    lat, lon = one.get("latitude"), one.get("longitude")
    geometry = one.get("geometry")
    if isinstance(geometry, dict) and isinstance(geometry.get("coordinates"), list):
        lon, lat = (*geometry["coordinates"], None, None)[:2]
    at = None
    if lat is not None or lon is not None:
        if not all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (lat, lon)):
            raise BadCell(f"the position of probe {one['id']} is no pair of numbers", "write degrees")
        at = cells.checked_position(float(lat), float(lon))  # type: ignore[arg-type]
    code, asn = one.get("country_code"), one.get("asn_v4") or one.get("asn_v6")
    network = f"AS{asn}" if isinstance(asn, int) and not isinstance(asn, bool) else ""
    return VantagePoint(str(one["id"]), at, cells.country(code if isinstance(code, str) else ""), network=network)
