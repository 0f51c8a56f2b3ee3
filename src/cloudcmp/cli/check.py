"""`cloudcmp check`: says whether a study could start, and tests a provider's promises."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloudcmp.cli.interruption import EXIT_INTERRUPTED, leaving
from cloudcmp.cli.options import Ca, Json, Quiet, option, trust_also
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, EXIT_NO, console, emit, ignore, say, warn, warn_left
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.execute.teardown import RunEnd


def check(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY.yaml | PROVIDER...]", help="None: all providers.", show_default=False),
    ] = None,
    live: Annotated[str | None, option("--live", "Test this provider's promises on real machines.", "PROVIDER")] = None,
    budget: Annotated[str | None, option("--budget", "Limit of the cost of --live.", "'1 USD'")] = None,
    region: Annotated[str | None, option("--region", "Region of the machines of --live.")] = None,
    offering: Annotated[str | None, option("--offering", "Offering of the machines of --live.")] = None,
    price: Annotated[str | None, option("--price", "Price of the offering, if none is known.", "'0.01 USD/h'")] = None,
    allow: Annotated[str | None, option("--allow", "Address from which you log in to its machines.", "CIDR")] = None,
    ca: Ca = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Check whether a study could start: credentials, rights, quota, prices.

    Creates nothing, except with --live: then it creates, tests and destroys small machines in your own account, and
    reports how the provider differs from the one that cloudcmp was tested against. Exit code 1 if a check fails.

    All providers are queried at once. A provider fails if it has not answered after 60 s plus 5 s for each candidate.

    Example: cloudcmp check aws
    """
    trust_also(ca)
    named = what or []
    if live is not None:
        if named:
            raise UserMistake.at("cloudcmp check", "--live tests one provider", "give only its options")
        return _live(live, budget, region, offering, price, allow, json, quiet=quiet)
    given = {"--budget": budget, "--region": region, "--offering": offering, "--price": price, "--allow": allow}
    for name, value in given.items():
        if value is not None:
            raise UserMistake.at(name, "needs --live", "add --live PROVIDER, or leave it out")
    return _check(named, json, quiet=quiet)


def _check(named: Sequence[str], json: bool, *, quiet: bool) -> int:
    from cloudcmp.app.check.preflight import check_plan, check_providers
    from cloudcmp.app.plan import plan_file
    from cloudcmp.execute.interruption import run_interruptible
    from cloudcmp.report import check_summary, documents

    study, report = _study(named), None if json or quiet else warn
    if study is None:
        checked = run_interruptible(check_providers(named, report))
    else:
        checked = run_interruptible(check_plan(plan_file(study, on=None, short=False, seed=None)[0], report))
    if json:
        emit("check", documents.check(checked))
    else:
        from cloudcmp.report import table

        table.table(console(), *check_summary.table(checked))
        for line in check_summary.summary_lines(checked):
            table.say(console(), line)
    return EXIT_NO if any(one.finding.ok is False for one in checked) else EXIT_DONE


def _study(named: Sequence[str]) -> Path | None:
    """The named study file; None for providers."""
    files = [word for word in named if word.endswith((".yaml", ".yml")) or "/" in word]
    if files and len(named) > 1:
        raise UserMistake.at(files[0], "a study is checked alone", "give one study, or only providers")
    return Path(files[0]) if files else None


def _live(provider: str, budget: str | None, region: str | None, offering: str | None, price: str | None,
          allow: str | None, json: bool, *, quiet: bool) -> int:  # fmt: skip
    from cloudcmp.app.check import live
    from cloudcmp.app.settings import with_currency
    from cloudcmp.report import check_summary, documents

    budget = budget and with_currency(budget)
    check = live.prepare(provider, budget=budget, region=region, offering=offering, price=price, allow=allow)
    if not json:
        for line in check_summary.live_announcement(check, live.TTL_S):
            say(line)

    def show_interrupted(ending: "RunEnd") -> None:
        warn_left(ending.left, ending.folder)
        if json:
            emit("check", documents.check((), documents.live_check(check, ending.left, interrupted=True)))
        else:
            say(ending.reason)

    result = live.run(check, warn, leaving(show_interrupted), step=ignore if quiet else warn)
    left, rulings, interrupted = result.left, result.rulings, result.interrupted
    warn_left(left, check.folder)  # first, so that no later fault can hide it
    if json:
        data = documents.live_check(check, left, rulings, result.differs, interrupted=interrupted)
        emit("check", documents.check((), data))
    else:
        from cloudcmp.report import table

        table.table(console(), *check_summary.live_table(rulings))
        lines = check_summary.live_summary(provider, len(rulings), result.differs, left, interrupted=interrupted)
        for line in lines:
            table.say(console(), line)
    if left:
        return EXIT_FAULT
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAULT if not result.begun else EXIT_NO if result.broken else EXIT_DONE
