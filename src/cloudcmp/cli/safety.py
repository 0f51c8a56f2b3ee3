"""Verbs for whoever pays: check before, cleanup and sweep after."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from cloudcmp.cli.interruption import EXIT_INTERRUPTED, leave_now
from cloudcmp.cli.options import Adopt, Folder, Json
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, EXIT_NO, console, emit, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.app.check_live import Tryout
    from cloudcmp.app.leftovers import Swept
    from cloudcmp.app.provider_clients import UnavailableProvider
    from cloudcmp.execute.teardown import Leave, RunEnd
    from cloudcmp.model.protocol import Provider


def check(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY.yaml | PROVIDER...]", help="None: all providers.", show_default=False),
    ] = None,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="PROVIDER", help="Try its promises out for real, in your account.",
                     show_default=False),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="'1 USD'", help="The most that --live may cost.",
                                 show_default=False)
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="Where --live makes its machines.",
                                               show_default=False)] = None,
    offering: Annotated[str | None, typer.Option("--offering", help="Which machines --live makes.",
                                                 show_default=False)] = None,
    price: Annotated[
        str | None, typer.Option("--price", metavar="'0.01 USD/h'", help="Its price, where none is known.",
                                 show_default=False)
    ] = None,
    allow: Annotated[
        str | None, typer.Option("--allow", metavar="CIDR", help="From where you log in to what --live makes.",
                                 show_default=False)
    ] = None,
    json: Json = False,
) -> int:  # fmt: skip
    """Say whether a study could begin: credentials, rights, quota, prices.

    Nothing is created, but with --live: then small machines are made, looked at and destroyed in your own account, and
    what differs from what cloudcmp was tested against is told. Exit code 1 where something does not hold.

    All providers are asked at once. One that has not answered after 60 s, and 5 s for each candidate, does not hold.

    Example: cloudcmp check aws
    """
    named = what or []
    if live is not None:
        if named:
            raise UserMistake.at("cloudcmp check", "--live tries out one provider", "give nothing but its options")
        return _live(live, budget, region, offering, price, allow, json)
    given = {"--budget": budget, "--region": region, "--offering": offering, "--price": price, "--allow": allow}
    for option, value in given.items():
        if value is not None:
            raise UserMistake.at(option, "it belongs to --live", "add --live PROVIDER, or leave it out")
    return _look(named, json)


def _look(named: Sequence[str], json: bool) -> int:
    from cloudcmp.app import check as checking
    from cloudcmp.app import plan as planning
    from cloudcmp.execute.interruptible import ask
    from cloudcmp.report import check_summary as found

    study, say_aside = _study(named), None if json else warn
    if study is None:
        checked = ask(checking.check_providers(named, say_aside))
    else:
        checked = ask(checking.check_plan(planning.plan_file(study, on=None, short=False, seed=None)[0], say_aside))
    if json:
        emit("check", {"findings": found.as_data(checked), "live": None})
    else:
        from cloudcmp.report import terminal

        terminal.table(console(), *found.table(checked))
        for line in found.told(checked):
            terminal.say(console(), line)
    return EXIT_NO if any(one.finding.ok is False for one in checked) else EXIT_DONE


def _study(named: Sequence[str]) -> Path | None:
    """The study file that was named, None for providers."""
    files = [word for word in named if word.endswith((".yaml", ".yml")) or "/" in word]
    if files and len(named) > 1:
        raise UserMistake.at(files[0], "a study is checked alone", "give one study, or only providers")
    return Path(files[0]) if files else None


def _live(provider: str, budget: str | None, region: str | None, offering: str | None, price: str | None,
          allow: str | None, json: bool) -> int:  # fmt: skip
    from cloudcmp.app import check_live as proving

    trial = proving.prepare(provider, budget=budget, region=region, offering=offering, price=price, allow=allow)
    if not json:
        for one in proving.told_before(trial):
            say(one)
    proved = proving.prove(trial, warn, _leaving_live(trial, json))
    _warn_left(proved.left, trial.folder)  # first: nothing that comes between may keep it from being told
    if json:
        emit("check", {"findings": [], "live": proving.as_data(proved)})
    else:
        from cloudcmp.report import terminal

        terminal.table(console(), *proving.table(proved))
        for one in proving.told_after(proved):
            terminal.say(console(), one)
    if proved.left:
        return EXIT_FAULT
    if proved.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_FAULT if not proved.begun else EXIT_NO if proved.broken else EXIT_DONE


def _leaving_live(trial: "Tryout", json: bool) -> "Leave":
    """Tells what is left of a try-out, and ends the process."""
    from cloudcmp.app import check_live as proving

    def leave(ending: "RunEnd") -> NoReturn:
        try:
            _warn_left(ending.left, ending.folder)
            if json:
                proved = proving.Proved(trial, (), (), ending.left, interrupted=True)
                emit("check", {"findings": [], "live": proving.as_data(proved)})
            else:
                say(ending.reason)
        finally:
            leave_now()

    return leave


def _warn_left(left: Sequence[str], folder: Path) -> None:
    for one in left:
        warn(f"left: {one}")
    if left:
        warn(f"end it with: cloudcmp cleanup {folder}")


def cleanup(folder: Folder, adopt: Adopt = False, json: Json = False) -> int:
    """Destroy all that a study still owns, and say what is left.

    A study that another user made, or another computer, is refused with a list of what it names, but for --adopt.

    Example: cloudcmp cleanup cloudcmp-studies/demo-20260105T000000Z
    """
    from cloudcmp.app import cleanup as cleaning

    cleaned = cleaning.cleanup(folder, _leaving(json), warn, adopt=adopt)
    if not json:
        for line in (*(f"left: {one}" for one in cleaned.left), *cleaned.unsure):
            warn(line)
        say(f"{len(cleaned.destroyed)} destroyed, {len(cleaned.left)} left")
    else:
        emit("cleanup", {"destroyed": cleaned.destroyed, "left": cleaned.left}, cleaned.unsure)
    return EXIT_FAULT if cleaned.left or cleaned.unsure else EXIT_DONE


def _leaving(json: bool) -> "Leave":
    """Tells what is left, and ends the process: its threads may wait for clouds that do not answer."""

    def leave(ending: "RunEnd") -> NoReturn:
        try:
            for line in ending.left:
                warn(f"left: {line}")
            if json:
                emit("cleanup", {"destroyed": (), "left": ending.left})
            else:
                say(f"{ending.reason}; once more: cloudcmp cleanup {ending.folder}")
        finally:
            leave_now()

    return leave


def sweep(
    providers: Annotated[
        list[str] | None, typer.Argument(metavar="[PROVIDER...]", help="None: all providers.", show_default=False)
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="TAG", help="Only this study's, also before they expire.", show_default=False),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Destroy what is due; else it is only told.")] = False,
    json: Json = False,
) -> int:
    """Find leftovers of any study by their tags, from any machine.

    A dry run, but for --delete. Destroyed is only what bears our tags and has expired, or whose study is named.

    A dry run asks all providers at once. One that has not listed all after 180 s was not listed: exit code 3.

    Example: cloudcmp sweep aws
    """
    from cloudcmp.app import leftovers
    from cloudcmp.app import provider_clients as opening
    from cloudcmp.app import sweep as sweeping
    from cloudcmp.execute import interruptible as asking
    from cloudcmp.provider.time import WallTime

    def leave(swept: "Swept") -> NoReturn:
        try:
            _tell(swept, delete, json)
            if not json:
                next_ = "; give the same command once more" if delete else ": nothing was destroyed"
                say(f"interrupted{next_}")
        finally:
            leave_now()

    came = [leftovers.Swept(unlisted=("interrupted before anything was looked at",))]

    async def all_of_it(made: Mapping[str, "Provider"], unavailable: Sequence["UnavailableProvider"]) -> None:
        swept = await sweeping.sweep(
            made, WallTime(), study=study, delete=delete, unavailable=unavailable, named=bool(providers), leave=leave,
            say=None if json else warn,
        )  # fmt: skip
        came.append(swept)

    try:
        asking.unheld(all_of_it(*opening.opened(opening.wanted(providers or []))))
    except KeyboardInterrupt:
        leave(came[-1])
    _tell(came[-1], delete, json)
    return EXIT_DONE if came[-1].complete else EXIT_FAULT


def _tell(swept: "Swept", delete: bool, json: bool) -> None:
    """What a sweep came to, on standard output; what is wrong, on standard error."""
    from cloudcmp.app import leftovers

    if json:
        emit("sweep", leftovers.as_data(swept, delete=delete))
        return
    for one in (*leftovers.lines(swept), *leftovers.told(swept, delete=delete)):
        say(one)
    for one in leftovers.faults(swept):
        warn(one)
