"""`cloudcmp profile`: runs the user's own program here and records what it takes of this machine."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Json, OutFile, option
from cloudcmp.cli.output import EXIT_DONE, console, emit, ignore, say, warn


def profile(
    command: Annotated[
        list[str],
        typer.Argument(help="The program and its arguments, after --.", show_default=False, metavar="-- COMMAND..."),
    ],
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="How often it runs; 2 or more give intervals.")] = 1,
    name: Annotated[str | None, option("--name", "The application's name. Default: the program's.", "NAME")] = None,
    out: OutFile = None,
    json: Json = False,
) -> int:
    """Run your own program here and record its demands: processor time, memory, disk, network, waiting.

    Its children count. What it prints goes to standard error. What this machine does not count is named, and never
    zero. The file of --out is for `cloudcmp predict`.

    Example: cloudcmp profile --runs 3 --out app.yaml -- xz -k -9 data.tar
    """
    from cloudcmp.app import profile as use_case

    if out is not None:
        use_case.check_target(out)
    found = use_case.profile(command, runs=runs, name=name, say=ignore if json else warn)
    if out is not None:
        use_case.write(found, out)
    if json:
        from cloudcmp.report.prediction_documents import demands

        emit("profile", demands(found, out))
        return EXIT_DONE
    from cloudcmp.report.demands import demands_text, show_demands

    show_demands(console(), found)
    if out is None:
        say()
        say(demands_text(found).rstrip())
    else:
        say(str(out))
    return EXIT_DONE
