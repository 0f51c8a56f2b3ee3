"""`cloudcmp watch`: samples a service over days, and keeps evidence of what it did."""

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.interruption import leave_now
from cloudcmp.cli.options import Ca, Json, Quiet, option, trust_also
from cloudcmp.cli.output import EXIT_DONE, EXIT_NO, console, emit, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.model.passive import FeltTimes
    from cloudcmp.model.watch_summary import WatchedFolder


def watch(
    target: Annotated[
        str, typer.Argument(help="A URL, or a study with endpoints.", show_default=False, metavar="[URL|STUDY]")
    ] = "",
    out: Annotated[Path | None, option("--out", "The folder for the evidence; one of the same watch goes on.")] = None,
    every: Annotated[
        str | None,
        option("--every", "Ask at this interval; default: 60 s, and with --passive look each 0.1 s.", "TIME"),
    ] = None,
    for_: Annotated[
        str | None,
        option("--for", "Watch for so long in all; default: 7 days or as it was begun; with --passive 60 s.", "TIME"),
    ] = None,
    timeout: Annotated[
        str | None, option("--timeout", "An answer must be whole by then; default: 10 s, or --every.", "TIME")
    ] = None,
    expect: Annotated[
        list[str] | None,
        option("--expect", "Status of a good answer (default: 200 to 399), or a text in it.", "STATUS|TEXT"),
    ] = None,
    listen: Annotated[
        str | None, option("--listen", "Serve OpenMetrics at /metrics of this address.", "HOST:PORT")
    ] = None,
    resume: Annotated[Path | None, option("--resume", "Go on with the watch in this folder.", "DIR")] = None,
    verify: Annotated[Path | None, option("--verify", "Only check the evidence in this folder.", "DIR")] = None,
    witness: Annotated[
        bool, typer.Option("--witness", help="Print each signed head, to publish it where others keep it.")
    ] = False,
    passive: Annotated[
        bool, typer.Option("--passive", help="Estimate what clients of a server on this computer felt.")
    ] = False,
    port: Annotated[int | None, option("--port", "The server's port, with --passive.")] = None,
    ca: Ca = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Watch a service for days, and keep evidence of every answer and failure that others can verify.

    One request at a time; what is stored survives a crash, and the same command goes on after one. Times in which
    nobody looked are gaps. Every line is chained to the one before, and signed with your key every five minutes and
    as outages begin or end. --verify checks it, and so does the program verify.py in the folder, without cloudcmp:
    exit code 0 if each line is as it was written and signed, else 1.

    Example: cloudcmp watch https://example.com/health --every 60s --for 7d --out watch-shop

    Example: cloudcmp watch --verify watch-shop

    Example: cloudcmp watch --passive --port 443 --for 10min
    """
    if passive:
        used = {"the target": target, "--out": out, "--resume": resume, "--verify": verify, "--listen": listen,
                "--expect": expect, "--timeout": timeout, "--witness": witness}  # fmt: skip
        if strange := [name for name, value in used.items() if value]:
            raise UserMistake.at("--passive", f"does not go with {strange[0]}", "it takes --port, --every and --for")
        _watch_passive(port, every or "0.1 s", for_ or "60 s", quiet=quiet or json, json=json)
        return EXIT_DONE
    if port is not None:
        raise UserMistake.at("--port", "is the server's, with --passive", "write the port into the URL")
    from cloudcmp.app import watch as use_case

    if verify is not None:
        if target or out is not None or resume is not None:
            raise UserMistake.at("--verify", "only reads a folder", "leave out the target, --out and --resume")
        checked = use_case.verify(verify)
        _show(checked, json=json, verified=True)
        return EXIT_NO if any(one.unsigned for one in checked) else EXIT_DONE
    if witness and json:
        raise UserMistake.at("--witness", "prints lines beside the document", "leave out --json")
    trust_also(ca)
    from rich.console import Console

    from cloudcmp.report.watch_progress import WatchProgress

    asked = use_case.WatchRequest(
        target,
        every=every or "60 s",
        for_=for_,
        timeout=timeout,
        expect=expect or (),
        out=out,
        resume=resume,
        listen=listen,
    )
    progress = WatchProgress(
        Console(file=sys.stderr, highlight=False), quiet=quiet or json, witness=_publish if witness else None
    )

    def show(found: "list[WatchedFolder]", interrupted: bool) -> None:
        progress.__exit__()
        _show(found, json=json)
        if interrupted:
            warn(f"interrupted; nothing stored is lost: 'cloudcmp watch --resume {quote(str(resume or out))}'")
            leave_now()

    with progress:
        use_case.watch(asked, progress, show)
    return EXIT_DONE


def _watch_passive(port: int | None, every: str, for_: str, *, quiet: bool, json: bool) -> None:
    """Watch a server from itself, and print the estimate."""
    from rich.console import Console

    from cloudcmp.app.watch_passive import watch_passive
    from cloudcmp.report.passive import show_felt
    from cloudcmp.report.watch_progress import CountDown

    count_down = CountDown(Console(file=sys.stderr, highlight=False), quiet=quiet)

    def show(found: "FeltTimes", interrupted: bool) -> None:
        count_down.__exit__()
        if json:
            emit("watch", {"felt": found})
        else:
            show_felt(console(), found)
        if interrupted:
            warn("interrupted; the estimate is of the time until then")
            leave_now()

    with count_down:
        watch_passive(port, every, for_, show, count_down.show)


def _publish(line: str) -> None:
    say(line)
    sys.stdout.flush()


def _show(found: "list[WatchedFolder]", *, json: bool, verified: bool = False) -> None:
    if json:
        from cloudcmp.report.watch_documents import watched

        emit("watch", watched(found))
        return
    from cloudcmp.report.watch import show_watched

    show_watched(console(), found, verified=verified)
