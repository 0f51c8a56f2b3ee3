"""The deciding measurements as a table of texts, for Markdown and notebooks."""

from collections.abc import Sequence
from dataclasses import dataclass

from cloudcmp.report.numbers import UNKNOWN, change
from cloudcmp.report.report_model import CellView, Standing, StudyView
from cloudcmp.report.sheets.summary import deciding_of, value_words

LEGEND = "▲ best, ▼ behind it, = practically the same (within 3 %), ? undecided; 95 % intervals"
_MOST_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Heads and rows of texts that are not escaped; the first column names the measurement."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, study: StudyView) -> "AnswerTable":
        """Make a row for each deciding cell, and one for its work for money or cost of a task.

        Of more than six candidates, it shows only the best of each.
        """
        names = study.short
        wide = len(names) <= _MOST_COLUMNS
        rows = []
        for one in deciding_of(study):
            for label, standing in ((one.name, one.standing), (f"{one.name}, {one.money_words}", one.money)):
                if standing is not None:
                    rows.append(
                        (label, *_values(standing, names, wide), study.short_names.within(_change(one, standing)))
                    )
        return cls(("measurement", *(names if wide else ["best"]), "next against the best"), tuple(rows))


def _values(standing: Standing, names: Sequence[str], wide: bool) -> list[str]:
    if wide:
        return [value_words(standing, at) for at in range(len(names))]
    leader = standing.leader
    return [UNKNOWN if leader is None else f"{names[leader]} {value_words(standing, leader)}"]


def _change(view: CellView, standing: Standing) -> str:
    """The change of the next that is not practically the same against the best, with its notes."""
    two = standing.best_and_next()
    pair = standing.against(two[1], two[0]) if two else None
    if pair is None or two is None:
        return UNKNOWN
    return "; ".join((change(*pair, view.metric.unit), *standing.notes(*two)))
