"""All figures of a study, and their files."""

from functools import partial
from pathlib import Path

from cloudcmp.model.view import View
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.report.charts import bars, cdfs, cost, history, isolation, network, scaling, scatter, series, services
from cloudcmp.report.charts.base import Figure, Styles
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.text import csv_text
from cloudcmp.store.output_files import check_replaceable

_SVG, _PNG = b"<svg ", b"\x89PNG"

__all__ = ["Figure", "figures", "write_figure", "write_figures"]


def figures(view: View) -> tuple[Figure, ...]:
    """Return the figures that a view has numbers for, in reading order; equal views give equal bytes."""
    study = StudyView.of(view)
    styles = Styles.of(study)
    return tuple(
        figure
        for kind in (isolation, bars, network, scaling, cost, scatter, services, cdfs, series, history)
        for figure in kind.figures(study, styles)
    )


def write_figures(view: View, folder: Path, drawn: tuple[Figure, ...] | None = None) -> tuple[Path, ...]:
    """Write each figure as SVG and PNG, and its data as CSV; returns the files in the order of writing.

    Creates `folder` if it is missing, and replaces figures and links of the same names in it. `drawn` are the figures,
    if they are already drawn. Raises OSError if the folder cannot be written, and UserMistake if another kind of file
    has a figure's name; then nothing is written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces: dict[Path, bytes] = {}
    for figure in figures(view) if drawn is None else drawn:
        head = csv_text(figure.columns, []).encode()
        table = csv_text(figure.columns, figure.rows).encode()
        for kind, start, piece in (
            ("svg", _SVG, figure.svg.encode()),
            ("png", _PNG, figure.png()),
            ("csv", head, table),
        ):
            path = folder / f"{figure.name}.{kind}"
            check_replaceable(path, "figure of cloudcmp", partial(_starts_with, start))
            pieces[path] = piece
    with OwnedPath(folder).folder() as opened:
        for path, piece in pieces.items():
            write_whole(opened, path.name, piece, FOR_ALL)
    return tuple(pieces)


def write_figure(figure: Figure, path: Path) -> None:
    """Write one figure as SVG, or as PNG if the name ends so; raises UserMistake if another kind of file is there."""
    is_png = path.suffix == ".png"
    check_replaceable(path, "figure of cloudcmp", partial(_starts_with, _PNG if is_png else _SVG))
    with OwnedPath(path.parent).folder() as opened:
        write_whole(opened, path.name, figure.png() if is_png else figure.svg.encode(), FOR_ALL)


def _starts_with(start: bytes, head: bytes) -> bool:
    return head.startswith(start)
