"""All figures of a study, and their files."""

from pathlib import Path

from cloudcmp.model.view import View
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.report.book import Book
from cloudcmp.report.charts import bars, cdfs, cost, scaling, scatter, series
from cloudcmp.report.charts.base import Cast, Figure
from cloudcmp.report.text import csv_text

__all__ = ["Figure", "figures", "write_figures"]


def figures(view: View) -> tuple[Figure, ...]:
    """The figures that a view has numbers for, in reading order; equal views give equal bytes."""
    book = Book.of(view)
    cast = Cast.of(book)
    return tuple(figure for kind in (bars, scaling, cost, scatter, cdfs, series) for figure in kind.figures(book, cast))


def write_figures(view: View, folder: Path, drawn: tuple[Figure, ...] | None = None) -> tuple[Path, ...]:
    """Write each figure as SVG and PNG, and its data as CSV; returns the files in the order in which they were written.

    folder: is made where it is missing; files and links of the same names are replaced. drawn: the figures, where they
    are known already. Raises OSError where the folder can not be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures(view) if drawn is None else drawn:
        pieces = (("svg", figure.svg.encode()), ("png", figure.png()),
                  ("csv", csv_text(figure.columns, figure.rows).encode()))  # fmt: skip
        for kind, piece in pieces:
            path = folder / f"{figure.name}.{kind}"
            with OwnedPath(folder).folder() as opened:
                write_whole(opened, path.name, piece, FOR_ALL)
            written.append(path)
    return tuple(written)
