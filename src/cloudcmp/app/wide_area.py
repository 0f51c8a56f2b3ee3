"""Reads times between vantage points and data centres from files and studies, as one area with known places."""

from collections.abc import Callable, Sequence
from pathlib import Path

from cloudcmp.analysis.wide_area.places import joined, located
from cloudcmp.app.wide_area_study import area_of_study
from cloudcmp.model.wide_area import WideArea
from cloudcmp.store.wide_area import Targets, is_wide_area, read_targets, read_vantages, read_wide_area, with_vantages


def wide_area(
    sources: Sequence[str], *, vantages: Path | None = None, targets: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> WideArea:  # fmt: skip
    """Read sources: RIPE Atlas results, tables of times, Skyplane's grid, tidy tables or studies with `wan_rtt_s`.

    `vantages` is a file with places and weights of vantage points, or RIPE Atlas's list of probes; `targets` one that
    says which region a measured name or address belongs to.

    Raises UserMistake for a file that cannot be read, and for each fault in it.
    """
    known = {} if vantages is None else read_vantages(vantages)
    sites = Targets({}) if targets is None else read_targets(targets)
    areas = []
    for text in sources:
        progress(f"reading {text}")
        path = Path(text)
        if not path.is_dir() and is_wide_area(path):
            areas.append(read_wide_area(path, sites))
        else:
            areas.append(area_of_study(text))
    return located(with_vantages(joined(areas), known))
