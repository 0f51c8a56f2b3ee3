"""The sheets of steadiness: spreads of each candidate, and verdicts on pairs."""

from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Column, Sheet, captioned, row
from cloudcmp.report.steadiness import NOTE, PAIRS_NOTE, figures_of, level_lines, pair_row

TITLE = "How steady they are"
_MOST_PAIRS = 200


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return the tables of spreads and of pairs; none if nothing is known of either."""
    found = study.view.steadiness
    if found is None or not found.figures:
        return ()
    own = [row(study.short[one.candidate], study.names.short(one.cell), str(one.n), *figures_of(study, one))
           for one in found.figures]  # fmt: skip
    columns = (
        Column("candidate"), Column("measurement"), Column("launches", True), Column("CoV between launches", True),
        Column("CoV within", True), Column("launches for +-1, 2, 5 %", True),
    )  # fmt: skip
    note = " ".join([NOTE, *(f"{line}." for line in level_lines(study, found.figures))])
    tables = [Sheet(captioned(study.origin, "Spread between and within launches"), columns, tuple(own), note)]
    if found.pairs:
        heads = (Column("measurement"), Column("pair"), Column("ratio of spreads (95 %)", True), Column("p", True),
                 Column("verdict"))  # fmt: skip
        pairs = tuple(row(*pair_row(study, one)) for one in found.pairs[:_MOST_PAIRS])
        tables.append(Sheet(captioned(study.origin, "Who is steadier"), heads, pairs, PAIRS_NOTE))
    return tuple(tables)
