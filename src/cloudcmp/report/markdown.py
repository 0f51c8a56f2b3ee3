"""The answer as Markdown, for pull requests and wikis."""

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import View
from cloudcmp.report.answer_table import LEGEND, AnswerTable
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.outcomes import warnings
from cloudcmp.report.sheets.summary import open_lines, sentences

_MOST_WARNINGS = 5
_SPECIAL = str.maketrans({one: f"\\{one}" for one in "\\`*_[]<>#!|~"})


def markdown(view: View) -> str:
    """Return the answer of a study as GitHub Markdown: sentences, the deciding table, what is undecided, warnings.

    All text from outside is escaped, so that it is neither markup nor a link.
    """
    study = StudyView.of(view)
    table = AnswerTable.of(study)
    lines = [f"**{_escaped(view.plan.name)}**: {_escaped(view.plan.question)}", ""]
    if study.origin:
        lines += [f"> {_escaped(study.origin)}", ""]
    lines += [*(_escaped(line) for line in sentences(study)), ""]
    if table.rows:
        lines += [_line(table.heads), f"| :-- |{' --: |' * (len(table.heads) - 1)}", *map(_line, table.rows)]
        lines += ["", LEGEND]
    for title, texts in (("Not settled", open_lines(study)), ("Mind", warnings(study)[:_MOST_WARNINGS])):
        if texts:
            lines += ["", f"{title}:", "", *(f"- {_escaped(line)}" for line in texts)]
    return "\n".join(lines) + "\n"


def _line(fields: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(_escaped, fields))} |"


def _escaped(text: str) -> str:
    """One line in which no character is markup."""
    shown = one_line(text, 400).translate(_SPECIAL)
    return f"\\{shown}" if shown[:1] in {"-", "+", "="} else shown
