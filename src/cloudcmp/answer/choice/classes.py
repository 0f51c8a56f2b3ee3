"""The needs of a class of applications, as far as a market has measured them."""

from dataclasses import dataclass

from cloudcmp.answer.choice.lookup import columns_of
from cloudcmp.answer.choice.needs import Need, parse_need
from cloudcmp.catalog.application_classes import CLASSES
from cloudcmp.catalog.parameters import hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Market

WHERE = "--class"


@dataclass(frozen=True, slots=True)
class ClassNeeds:
    """The needs of a class on each cell of its metrics, and what was not measured, in words."""

    needs: tuple[Need, ...]
    notes: tuple[str, ...]


def needs_of(name: str, market: Market) -> ClassNeeds:
    """Return the needs of a class; every cell of a metric must meet its limit.

    Raises UserMistake for an unknown class, and if nothing that it needs was measured.
    """
    if name not in CLASSES:
        raise UserMistake.at(WHERE, f"unknown class {name!r}", hint(name, CLASSES) or f"known are {', '.join(CLASSES)}")
    needs: list[Need] = []
    notes: list[str] = []
    for one in CLASSES[name].needs:
        measured = [column for column in columns_of(market, one.cell) if column.is_measured]
        needs += [parse_need(f"{column.name} {one.op} {one.limit}") for column in measured]
        if not measured:
            notes.append(f"the class {name} needs {one.cell} {one.op} {one.limit} ({one.why}), which was not measured")
    if not needs:
        metrics = ", ".join(dict.fromkeys(one.cell.split(" ")[0] for one in CLASSES[name].needs))
        raise UserMistake.at(WHERE, f"no source measures what {name} needs: {metrics}", "measure them with a study")
    return ClassNeeds(tuple(needs), tuple(notes))
