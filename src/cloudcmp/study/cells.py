"""Which cells a study gives, and which of them a text means."""

from cloudcmp.catalog import hint, metrics_with, nearest
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Metric
from cloudcmp.model.study import Decide, ProbeSpec
from cloudcmp.study import quantities
from cloudcmp.study.faults import Faults, Place, shown
from cloudcmp.study.probes import cells_in
from cloudcmp.study.shape import DecideShape
from cloudcmp.study.tree import Tree


class CellBook:
    """The cells that a study's probes give. Where some of its probes are wrong, it does not know them all.

    `own` says whether commands are among them, whose metrics are only known once they are read.
    """

    def __init__(self, specs: tuple[ProbeSpec, ...], complete: bool, own: bool = False) -> None:
        self._complete = complete
        self._unread = own and not complete
        self._cells: dict[str, list[Cell]] = {}
        self.metrics = metrics_with(spec.own for spec in specs if spec.own)
        for cell in {cell: None for spec in specs for cell in cells_in(spec)}:
            self._cells.setdefault(cell.metric, []).append(cell)

    def select(self, text: str, place: Place, faults: Faults) -> Cell | None:
        """The text as a cell, known to mean something here: a metric with some or all of its parameters."""
        try:
            cell = Cell.parse(text)
        except UserMistake as error:
            faults.add_text(place, error.faults[0].what, "write metric key=value;key=value")
            return None
        if cell.metric not in self.metrics:
            if self._unread:
                return None  # perhaps of a command that is wrong itself
            advice = hint(cell.metric, self.metrics, "cloudcmp list metrics")
            faults.add(place, f"unknown metric {shown(cell.metric)}", advice)
            return None
        unknown = [key for key, _ in cell.params if key not in self.metrics[cell.metric].params]
        if unknown:
            known = self.metrics[cell.metric].params
            faults.add(place, f"{cell.metric} has no parameter {shown(unknown[0])}", f"it has {', '.join(known)}")
            return None
        if self._complete and not self.meant(cell):
            near = nearest(str(cell), [str(known) for known in self._cells.get(cell.metric, ())])
            advice = f"nearest: {near}" if near else "add a probe that gives it; see 'cloudcmp list metrics'"
            faults.add(place, f"no probe of this study gives {shown(cell)}", advice)
            return None
        return cell

    def meant(self, cell: Cell) -> list[Cell]:
        """The cells that have all the parameters which are written."""
        written = set(cell.params)
        return [known for known in self._cells.get(cell.metric, ()) if written <= set(known.params)]


def decide(parts: list[tuple[int, DecideShape]], book: CellBook, tree: Tree, faults: Faults) -> tuple[Decide, ...]:
    """The cells that decide: a metric stays a metric, a metric with some parameters becomes the cells that it means."""
    found: dict[str, Decide] = {}
    for number, part in parts:
        place = tree.place(("decide", number, "cell"))
        cell = book.select(part.cell, place, faults)
        if cell is None:
            continue
        margin = _margin(part, book.metrics[cell.metric], tree.place(("decide", number, "margin")), faults)
        for text in [str(known) for known in book.meant(cell)] if cell.params else [cell.metric]:
            if text in found:
                faults.add(place, f"{shown(text)} was named before", "name each cell once")
            found[text] = Decide(faults.where(place), text, margin)
    return tuple(found.values())


def _margin(part: DecideShape, metric: Metric, place: Place, faults: Faults) -> float | None:
    """How much of a metric that can be 0 is practically nothing."""
    if part.margin is None:
        return None
    if not metric.signed:
        what = f"{metric.name} is compared by ratios and takes no margin"
        faults.add(place, what, "leave margin out; practically the same is within 3 %")
        return None
    try:
        margin = quantities.in_unit_of(metric, part.margin)
    except (ValueError, OverflowError) as error:
        faults.add_text(place, f"margin: {error}", f"it is in {metric.unit}")
        return None
    if margin <= 0:
        faults.add(place, f"margin: {shown(part.margin)} is not more than 0", "leave it out, or write e.g. 1 %")
        return None
    return margin
