"""Commands and tools of a study, whole."""

from cloudcmp.model.command import CommandUse
from cloudcmp.report.command_lines import TITLE, file_line, plain_text
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Field, Row, Sheet, captioned, columns
from cloudcmp.report.text import exact


def sheet(study: StudyView) -> Sheet | None:
    """Every line for a shell; None where there is none. It follows from the plan, which is what was run."""
    if not study.view.commands:
        return None
    rows = tuple(one for use in study.view.commands for one in _rows(use))
    return Sheet(captioned(study.origin, TITLE), columns("name", "when", "line"), rows)


def _rows(use: CommandUse) -> list[Row]:
    told = [(line.kind, plain_text(line)) for line in use.lines]
    told += [("file", file_line(file)) for file in use.files]
    # Not cleaned, which would cut them: what is not seen as it is stands as its number.
    return [Row((Field(exact(use.name)), Field(kind), Field(text, kind="line"))) for kind, text in told]
