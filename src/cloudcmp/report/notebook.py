"""The answer of a study as a part of a notebook's page."""

from collections.abc import Iterator
from html import escape

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import View
from cloudcmp.report.answer_table import LEGEND, AnswerTable
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.outcomes import warnings
from cloudcmp.report.sheets.summary import open_lines, sentences

_MOST_LINES = 5


def answer(view: View) -> str:
    """Return the answer as HTML without scripts, styles or links: sentences, the deciding table, what is undecided.

    All text is escaped.
    """
    study = StudyView.of(view)
    parts = [f"<p><b>{_text(view.plan.name)}</b>: {_text(view.plan.question)}</p>"]
    parts += [f"<p><b>{_text(study.origin)}</b></p>"] if study.origin else []
    parts += [f"<p>{_text(line)}</p>" for line in sentences(study)]
    parts += _table(AnswerTable.of(study))
    for title, lines in (("Not settled", open_lines(study)), ("Mind", warnings(study))):
        if lines:
            more = [f"{len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
            items = "".join(f"<li>{_text(line)}</li>" for line in [*lines[:_MOST_LINES], *more])
            parts.append(f"<p>{title}:</p><ul>{items}</ul>")
    return "".join(parts)


def _table(table: AnswerTable) -> Iterator[str]:
    if table.rows:
        yield f"<table><thead><tr>{''.join(f'<th>{_text(head)}</th>' for head in table.heads)}</tr></thead><tbody>"
        for row in table.rows:
            yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>"
        yield f"</tbody></table><p><small>{_text(LEGEND)}</small></p>"


def _text(text: str) -> str:
    return escape(one_line(text, 400))
