"""The answer as Markdown, for pull requests and wikis."""

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.view import View
from cloudcmp.report.numbers import UNKNOWN, change, known
from cloudcmp.report.report_model import MARKS, CellView, Standing, StudyView
from cloudcmp.report.sheets.outcomes import warnings
from cloudcmp.report.sheets.summary import deciding_of, open_lines, sentences
from cloudcmp.report.text import without_common

_MOST_COLUMNS = 6
_SPECIAL = str.maketrans({one: f"\\{one}" for one in "\\`*_[]<>#!|~"})


def markdown(view: View) -> str:
    """Return the answer of a study as GitHub Markdown: sentences, the deciding table, what is undecided, warnings.

    All text from outside is escaped, so that it is neither markup nor a link. Of more than six candidates, the table
    has the best of each measurement.
    """
    study = StudyView.of(view)
    names = [_escaped(name) for name in without_common([one.id for one in study.candidates])]
    deciding, wide = deciding_of(study), len(study.candidates) <= _MOST_COLUMNS
    lines = [f"**{_escaped(view.plan.name)}**: {_escaped(view.plan.question)}", ""]
    if study.origin:
        lines += [f"> {_escaped(study.origin)}", ""]
    lines += [*(_escaped(line) for line in sentences(study)), ""]
    if deciding:
        heads = ["measurement", *(names if wide else ["best"]), "change against the next"]
        lines += [_line(heads), _line([":--", *["--:"] * (len(heads) - 1)])]
        for one in deciding:
            for label, standing in ((one.name, one.standing), (f"{one.name}, {_money_words(one)}", one.money)):
                if standing is not None:
                    lines.append(_line([_escaped(label), *_values(standing, names, wide), _change(one, standing)]))
        lines += ["", "▲ best, ▼ behind it, = practically the same (within 3 %), ? undecided; 95 % intervals"]
    for title, texts in (("Not settled", open_lines(study)), ("Mind", warnings(study)[:5])):
        if texts:
            lines += ["", f"{title}:", "", *(f"- {_escaped(line)}" for line in texts)]
    return "\n".join(lines) + "\n"


def _money_words(view: CellView) -> str:
    return "cost of a task" if view.money is not None and view.money.inverse else "work for money"


def _values(standing: Standing, names: list[str], wide: bool) -> list[str]:
    marks = standing.marks()

    def value(at: int) -> str:
        number = standing.values.get(at)
        mark = f"{MARKS[marks[at]]} " if at in marks else ""
        return f"{mark}{_escaped(standing.scale.quantity(number))}" if known(number) else UNKNOWN

    if wide:
        return [value(at) for at in range(len(names))]
    leader = standing.leader
    return [UNKNOWN if leader is None else f"{names[leader]} {value(leader)}"]


def _change(view: CellView, standing: Standing) -> str:
    """The change of the best against the next one that is not practically the same."""
    marks, ranked = standing.marks(), standing.ranked
    rest = [at for at in ranked[1:] if MARKS.get(marks[at]) != "="] or ranked[1:] if marks else ranked[1:]
    pair = standing.against(ranked[0], rest[0]) if rest else None
    if pair is None:
        return UNKNOWN
    notes = standing.notes(ranked[0], rest[0])
    return _escaped("; ".join((change(*pair, view.metric.unit), *notes)))


def _line(fields: list[str]) -> str:
    return f"| {' | '.join(fields)} |"


def _escaped(text: str) -> str:
    """One line in which no character is markup."""
    shown = one_line(text, 400).translate(_SPECIAL)
    return f"\\{shown}" if shown[:1] in {"-", "+", "="} else shown
