"""`cloudcmp plan`: shows what a study would take."""

from pathlib import Path
from typing import Annotated

import typer

from cloudcmp.cli.options import Anonymise, Json, On, Seed, Short, Terms
from cloudcmp.cli.output import console, emit
from cloudcmp.errors import UserMistake


def plan(
    study: Annotated[Path, typer.Argument(help="A study file, or a study's folder.", show_default=False)],
    on: On = None,
    short: Short = False,
    seed: Seed = None,
    terms: Terms = None,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Show the time, the cost and the detectable difference of a study.

    Shows trials, hours, expected and worst-case cost line by line, the detectable difference, and every line that would
    be passed to a shell.

    Example: cloudcmp plan studies/cloudcmp-2010.yaml
    """
    from cloudcmp.app.command_uses import commands, notice
    from cloudcmp.app.plan import anonymous, plan_file, plan_stored, safeguards

    if study.is_dir():
        if on or short or seed is not None or terms is not None:
            raise UserMistake.at("cloudcmp plan", "a study's folder holds its plan as it is", "give only the folder")
        found = plan_stored(study)
    else:
        found, _ = plan_file(study, on=on, short=short, seed=seed, terms=terms)
    uses, barriers = commands(found), safeguards(found)
    if anonymise:  # shell lines, and the words of safeguards, can name a cloud in many ways
        found, uses, barriers = anonymous(found), (), {}
    if json:
        from cloudcmp.report import documents

        emit("plan", documents.plan(found, uses, barriers), found.quote.notes)
        return
    from cloudcmp.report import command_lines, quote

    quote.show_plan(console(), found)
    command_lines.show_commands(console(), uses, notice(found))
    quote.show_safeguards(console(), barriers)
