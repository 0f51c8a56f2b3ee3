"""The deciding measurements of one study over time, for its report."""

from pathlib import Path

from cloudcmp.app.history import DAY_S, FEWEST_POINTS, history
from cloudcmp.errors import UserMistake
from cloudcmp.model.history import By, History
from cloudcmp.model.view import View

_MOST_CELLS = 40


def over_time(shown: View, folder: Path, *, anonymise: bool = False) -> History | None:
    """Return the history of the cells that a study decides; None unless it lasted for days with enough rounds.

    That is a study with `every`, or an imported table with times, whose launches began on two days or more, with 10
    points in a series: fewer can show no change. A point is a day from 10 days on, else a launch.
    """
    plan = shown.plan
    values = {one.cell for one in shown.analysis.estimates if one.n >= FEWEST_POINTS}
    cells = [cell for cell in shown.analysis.comparisons.cells if shown.analysis.comparisons.of(cell).decides]
    cells = [cell for cell in cells or dict.fromkeys(one.cell for one in shown.analysis.estimates) if cell in values]
    days = {(plan.start_at + one.start_s) // DAY_S for one in plan.launches}
    if not (plan.every_s is not None or plan.imported) or len(days) < 2 or not cells:
        return None
    by = By.DAY if len(days) >= FEWEST_POINTS else By.LAUNCH
    try:
        return history([str(folder)], by=by, metrics=cells[:_MOST_CELLS], anonymise=anonymise)
    except UserMistake:  # a table of which no deciding value has a time: the report is whole without this section
        return None
