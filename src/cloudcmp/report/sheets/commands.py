"""The sheet of a study's commands and tools."""

from cloudcmp.model.command import CommandUse
from cloudcmp.report.command_lines import TITLE, file_line, plain_text
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Field, Row, Sheet, captioned, columns
from cloudcmp.report.text import exact


def sheet(study: StudyView) -> Sheet | None:
    """Return the sheet of every shell line in the plan, which is what ran; None if there is none."""
    if not study.view.commands:
        return None
    rows = tuple(one for use in study.view.commands for one in _rows(use))
    return Sheet(captioned(study.origin, TITLE), columns("name", "when", "line"), rows)


def _rows(use: CommandUse) -> list[Row]:
    lines = [(line.kind, plain_text(line)) for line in use.lines]
    lines += [("file", file_line(file)) for file in use.files]
    # Not cleaned, because cleaning would cut them; `exact` shows each invisible character as its number.
    return [Row((Field(exact(use.name)), Field(kind), Field(text, kind="line"))) for kind, text in lines]
