"""`cloudcmp compare`: compares a study's candidates."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.options import (
    All,
    AllowBlocks,
    AllPairs,
    Anonymise,
    Json,
    Metric,
    NoPager,
    Purchase,
    Reprice,
    WhatIf,
    option,
    purchase_of,
)
from cloudcmp.cli.output import EXIT_DONE, EXIT_NO, emit, say
from cloudcmp.cli.pager import paged
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.view import View


def compare(
    studies: Annotated[
        list[str],
        typer.Argument(help="Folders of studies, or files to import.", show_default=False, metavar="STUDY..."),
    ],
    metric: Metric = None,
    every: All = False,
    all_pairs: AllPairs = False,
    requirement: Annotated[
        str | None, option("--assert", "Exit with 1 unless this holds: 'A not worse than B by 5 %'.", "TEXT")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the answer as Markdown.")] = False,
    allow_blocks: AllowBlocks = False,
    steadiness: Annotated[
        bool, typer.Option("--steadiness", help="Show how steady candidates are, and who is steadier.")
    ] = False,
    reprice: Reprice = False,
    purchase: Purchase = None,
    terms: WhatIf = None,
    anonymise: Anonymise = False,
    no_pager: NoPager = False,
    json: Json = False,
) -> int:
    """Compare the candidates of a study, or of several studies side by side.

    The answer is one screen: who is best, by how much, how surely, for what money, and what is not settled. `--metric`
    selects what is shown; verdicts are still corrected for all tests of the study. Candidates of several studies are
    compared in the measurements that two of them have. An answer that is longer than the terminal goes through your
    pager.

    Example: cloudcmp compare cloudcmp-studies/demo-20260105T000000Z --metric rtt_s

    Example: cloudcmp compare before after

    Example: cloudcmp compare first --assert 'stratus not worse than nimbus by 5 %'
    """
    from cloudcmp.app.compare import compare as compare_study

    if json and markdown:
        raise UserMistake.at("--markdown", "is another form than --json", "give one of them")
    view = compare_study(
        studies,
        metric,
        reprice=reprice,
        purchase=purchase_of(purchase),
        terms=terms,
        all_pairs=all_pairs,
        allow_blocks=allow_blocks,
        anonymise=anonymise,
        steadiness=steadiness,
    )
    if requirement is not None:
        return _assert(view, requirement, json=json)
    if json:
        from cloudcmp.report import documents

        emit("compare", documents.comparison(view), view.warnings)
    elif markdown:
        from cloudcmp.report.markdown import markdown as markdown_of

        say(markdown_of(view).rstrip("\n"))
    elif steadiness:
        from cloudcmp.report import steadiness as steadiness_of

        with paged(wanted=not no_pager) as out:
            steadiness_of.show_steadiness(out, view)
    elif metric or every:
        from cloudcmp.report import comparison

        with paged(wanted=not no_pager) as out:
            comparison.show(out, view, exploratory="full" if metric else "brief")
    else:
        from cloudcmp.report import first_screen

        with paged(wanted=not no_pager) as out:
            first_screen.show_first(out, view, "DIR" if anonymise else shlex.join(studies))
    return EXIT_DONE


def _assert(view: "View", requirement: str, *, json: bool) -> int:
    """Print whether a requirement holds in each measurement; the exit code is 1 unless it holds in all."""
    from cloudcmp.answer.requirement import verdict_of
    from cloudcmp.app.compare import judge

    judgements = judge(view, requirement)
    if json:
        data = {"requirement": requirement, "holds": verdict_of(judgements), "measurements": judgements}
        emit("compare", data, view.warnings)
    else:
        for one in judgements:
            word = {True: "holds", False: "fails", None: "cannot tell"}[one.holds]
            say(f"{word}: {one.cell}: {one.why}")
        if not judgements:
            say("cannot tell: no deciding measurement has both candidates")
    return EXIT_DONE if verdict_of(judgements) else EXIT_NO
