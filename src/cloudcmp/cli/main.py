"""The command line: a table of verbs, in the order in which people use them.

Each verb parses, calls its use case in `app`, and renders. It imports what it needs when it runs, so that `--help` is
quick.
"""

import resource
import sys
from contextlib import suppress
from typing import Any

import typer
from typer._click.core import Context  # typer carries its own click
from typer.core import TyperGroup

from cloudcmp import __version__
from cloudcmp.cli.check import check
from cloudcmp.cli.cleanup import cleanup
from cloudcmp.cli.compare import compare
from cloudcmp.cli.config import config
from cloudcmp.cli.export import export
from cloudcmp.cli.fetch import fetch
from cloudcmp.cli.gaps import gaps
from cloudcmp.cli.history import history
from cloudcmp.cli.import_ import import_
from cloudcmp.cli.interruption import EXIT_INTERRUPTED, Interruption, leave_now, verb_of
from cloudcmp.cli.list_ import list_
from cloudcmp.cli.move import move
from cloudcmp.cli.output import guarded, say
from cloudcmp.cli.paas import paas
from cloudcmp.cli.plan import plan
from cloudcmp.cli.predict import predict
from cloudcmp.cli.prices import prices
from cloudcmp.cli.profile import profile
from cloudcmp.cli.published import published
from cloudcmp.cli.recommend import recommend
from cloudcmp.cli.reconcile import reconcile
from cloudcmp.cli.regions import regions
from cloudcmp.cli.report import report
from cloudcmp.cli.run import demo, run
from cloudcmp.cli.scale import scale
from cloudcmp.cli.schema import schema
from cloudcmp.cli.simulate import simulate
from cloudcmp.cli.sla import sla
from cloudcmp.cli.start import start
from cloudcmp.cli.streams import MAKING, outlast_readers, settle
from cloudcmp.cli.sweep import sweep
from cloudcmp.cli.wan import wan
from cloudcmp.cli.watch import watch

EPILOG = "Exit codes: 0 done, 1 a yes/no question answered no, 2 a mistake in the command or study, 3 a fault outside or a corrupt file, 130 interrupted."  # noqa: E501

_NAMES = {"move": "predict move"}
"""Verbs of two words, by the names of their functions."""


class _Interrupted(BaseException):
    """A KeyboardInterrupt that typer does not turn into an exit code."""


class _Verbs(TyperGroup):
    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The verb of a command line: two words if they name one, such as `predict move`."""
        if (pair := " ".join(args[:2])) in self.commands:
            return pair, self.commands[pair], args[2:]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted from error


def _version(wanted: bool) -> None:
    if wanted:
        say(f"cloudcmp {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Measure how fast cloud machines are and what they cost, and say which one is better.

    New here? `cloudcmp start` asks five questions and writes a study; it creates and spends nothing.
    """


def build() -> typer.Typer:
    """The application with all its verbs."""
    app = typer.Typer(
        name="cloudcmp",
        cls=_Verbs,
        rich_markup_mode=None,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root)
    measuring = (
        start,
        run,
        demo,
        plan,
        list_,
        compare,
        recommend,
        prices,
        gaps,
        history,
        profile,
        predict,
        move,
        scale,
        sla,
        simulate,
        wan,
        regions,
        paas,
        watch,
        report,
        export,
        import_,
        published,
    )
    for verb in (*measuring, schema, reconcile, fetch, check, cleanup, sweep, config):
        app.command(_NAMES.get(verb.__name__, verb.__name__.rstrip("_")), epilog=EPILOG)(verb)
    return app


def _leave_no_core() -> None:
    """Disable core dumps, which would hold keys and credentials."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def main(interruption: Interruption) -> None:
    """The `cloudcmp` command, from its arguments to its exit code."""
    _leave_no_core()
    arguments = sys.argv[1:] or ["--help"]
    outlast_readers(goes_on=verb_of(arguments) in MAKING)
    app = build()
    code = guarded(lambda: app(args=arguments, standalone_mode=False), arguments, interruption.over)
    if code == EXIT_INTERRUPTED:
        leave_now()  # threads may still wait for answers
    settle()
    sys.exit(code)
