"""Simulates a world-wide service from a scenario file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cloudcmp.answer.world.outcome import Printed, outcome, search
from cloudcmp.answer.world.sentences import cautions
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.scenario import PublishedTable, Scenario, Service
from cloudcmp.model.simulation import Simulation
from cloudcmp.model.wide_area import WideArea
from cloudcmp.study.scenario import MeasuredSources, read_scenario

_MOST_BYTES = 2**20


def scenario_of(path: Path) -> Scenario:
    """The scenario of a file; raises UserMistake with every fault of it, and OutsideFault if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UserMistake.at(str(path), "there is no such file", "the folder studies/scenarios has examples") from error
    except IsADirectoryError as error:
        raise UserMistake.at(str(path), "this is a folder", "name the scenario's file in it") from error
    except OSError as error:
        raise OutsideFault.at(str(path), error.strerror or str(error), "make the file readable") from error
    return read_scenario(content, path, MeasuredSources(_wide_area, _measured))


def simulate(
    path: Path, *, variants: Sequence[str] = (), seed: int | None = None, runs: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Simulation:  # fmt: skip
    """Simulate the scenario of a file, and variants of it by name; `seed` and `runs` replace the scenario's own.

    Raises UserMistake for faults of the file, an unknown variant, and a published table that is not stored.
    """
    scenario = scenario_of(path)
    if runs is not None and not 1 <= runs <= 1000:
        raise UserMistake.at("--runs", f"{runs} is not between 1 and 1000", "write e.g. 5")
    if runs == 1 and scenario.search is not None:
        raise UserMistake.at("--runs", "a search needs the interval of the simulation, which one run lacks", "write 5")
    scenario = replace(
        scenario, seed=scenario.seed if seed is None else seed, runs=scenario.runs if runs is None else runs
    )  # fmt: skip
    named = {one.name: one for one in scenario.variants}
    for name in variants:
        if name not in named:
            known = ", ".join(named) or "none"
            raise UserMistake.at("--variant", f"the scenario has no variant {name!r}", f"it has: {known}")
    printed = _printed(scenario.published) if scenario.published else {}
    own = outcome(scenario, printed, progress=progress)
    others = tuple(outcome(scenario, printed, named[name], progress) for name in dict.fromkeys(variants))
    found = search(scenario, scenario.search, progress) if scenario.search else None
    return Simulation(scenario, own, others, found, cautions(scenario, own))


def _printed(published: PublishedTable) -> Printed:
    """The means of a published table, in seconds, by column and row."""
    from cloudcmp.published import load

    document = load(published.document)
    table = next((one for one in document.tables if one.number == published.table), None)
    if table is None:
        known = ", ".join(one.number for one in document.tables)
        raise UserMistake.at("published", f"{published.document} has no table {published.table!r}", f"it has: {known}")
    if table.unit != "ms":
        raise UserMistake.at("published", f"table {table.number} is in {table.unit}, not in ms", "name another one")
    found = {}
    for column in table.figures():
        cells = table.column(column)
        for row, _ in published.rows:
            if row not in cells:
                raise UserMistake.at("published", f"table {table.number} has no row {row!r}",
                                     f"it has: {', '.join(cells)}")  # fmt: skip
            found[column, row] = float(cells[row]) / 1e3
    return found


def _measured(folder: Path, cell: str, candidate: str | None) -> Service:
    """The mean of a study's cell in seconds, with its launches; raises UserMistake if it has none."""
    from cloudcmp.app.study_view import view

    shown = view(folder, drawn=False)
    ids = [one.id for one in shown.plan.candidates]
    if candidate is None and len(ids) > 1:
        raise UserMistake.at("", f"the study has {len(ids)} candidates", f"write candidate: {ids[0]}")
    if candidate is not None and candidate not in ids:
        raise UserMistake.at("", f"the study has no candidate {candidate!r}", f"it has: {', '.join(ids[:6])}")
    at = 0 if candidate is None else ids.index(candidate)
    estimates = [one for one in shown.analysis.estimates if one.candidate == at]
    found = next((one for one in estimates if one.cell == cell), None)
    if found is None:
        near = ", ".join(one.cell for one in estimates if "_s" in one.cell.partition(" ")[0])[:120]
        raise UserMistake.at("", f"the study did not measure {cell!r}", f"it has: {near}")
    if not found.cell.partition(" ")[0].endswith("_s") or found.cell.partition(" ")[0].endswith("_per_s"):
        raise UserMistake.at("", f"{cell!r} is no time", "name a cell in seconds, such as task_time_s")
    if found.mean is None or found.mean <= 0:
        raise UserMistake.at("", f"{cell!r} has no value on {ids[at]}", "name another cell, or measure it again")
    planted = ", itself simulated" if shown.plan.candidates[at].simulated else ""
    return Service(found.mean, f"measured on {ids[at]}{planted}", found.n)


def _wide_area(path: Path) -> WideArea:
    """The wide area that a file or study holds, without impossible round trips."""
    from cloudcmp.analysis.wide_area.light import impossible_words, without_impossible
    from cloudcmp.app.wide_area import wide_area

    found, impossible = without_impossible(wide_area([str(path)]))
    return replace(found, notes=(*found.notes, *impossible_words(impossible)))
