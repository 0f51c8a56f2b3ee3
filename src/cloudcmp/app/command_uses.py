"""The commands and tools of a plan, and which of them run on the user's own machines."""

from collections.abc import Iterator
from dataclasses import replace

from cloudcmp.errors import UserMistake
from cloudcmp.execute.commands import CommandJob, command_job
from cloudcmp.model.command import Command, CommandUse, ShellLine
from cloudcmp.model.metric import ParamKind
from cloudcmp.model.plan import Plan, PlannedTrial
from cloudcmp.report.text import exact

_HERE = ("local", "netns")
"""Providers whose machines are this one: its files are theirs."""
_OWN_MACHINES = (*_HERE, "ssh")
"""Providers whose machines exist before and after a study."""


def commands(plan: Plan) -> tuple[CommandUse, ...]:
    """Return every command and tool of a plan with all its lines; uses with equal lines and files appear once.

    They are read from the plan's trials, as agents receive them. An imported table has none, because it is not run.
    """
    if plan.imported:
        return ()
    candidate = {launch.index: plan.candidates[launch.candidate].id for launch in plan.launches}
    known: dict[tuple[str, tuple[tuple[str, str], ...]], CommandUse | None] = {}
    candidates_of: dict[CommandUse, dict[str, None]] = {}
    for trial in plan.trials:
        kind = (trial.probe, trial.params)
        if kind not in known:
            known[kind] = _use(trial, plan.commands)
        use = known[kind]
        if use is not None:
            candidates_of.setdefault(use, {})[candidate[trial.launch]] = None
    run = (replace(use, on=tuple(sorted(ids))) for use, ids in candidates_of.items())
    return (*run, *_served(plan))


def _served(plan: Plan) -> Iterator[CommandUse]:
    """The commands that serve the services of candidates."""
    for one in plan.candidates:
        if one.service and one.service.serve and not one.simulated:
            lines = (ShellLine("serve", one.service.serve),)
            yield CommandUse(one.service.name or one.service.endpoint, lines, (), (one.id,), True)


def on_own_machines(plan: Plan) -> tuple[tuple[CommandUse, ...], tuple[str, ...]]:
    """The commands and tools of a plan, and the user's own machines in it: `local` and `ssh NAME`.

    Both are empty if the plan has no command, or no such machine.
    """
    own = [one for one in plan.candidates if one.runner in _OWN_MACHINES]
    uses = commands(plan) if own else ()
    machines = {"local" if one.runner in _HERE else f"ssh {one.offering.name}" for one in own}
    return uses, tuple(sorted(machines)) if uses else ()


def notice(plan: Plan) -> str:
    """One line that names the commands on the user's own machines; empty if none runs there."""
    uses, machines = on_own_machines(plan)
    names = ", ".join(sorted({use.name for use in uses}))
    return f"this study runs commands {where(machines)}: {names}" if uses else ""


def where(machines: tuple[str, ...]) -> str:
    """The user's own machines in words."""
    others = [exact(name.removeprefix("ssh ")) for name in machines if name != "local"]
    here = ["on this machine, as you"] if "local" in machines else []
    return ", and ".join([*here, *([f"on {', '.join(others)}"] if others else [])])


def _use(trial: PlannedTrial, own: tuple[Command, ...]) -> CommandUse | None:
    """The command or tool of a trial; None if it runs no shell."""
    try:
        job = command_job(trial, own)
    except UserMistake as mistake:  # a plan of another version, or a changed one, which cannot be run either
        name = dict(trial.params).get(trial.probe, trial.probe)
        return CommandUse(name, (ShellLine("unknown", mistake.faults[0].line()),), (), (), True)
    if job is None:
        return None
    command = job.command
    files = (*command.files, *((command.image,) if command.image else ())) if command else ()
    return CommandUse(dict(job.trial.params)["command"], shell_lines(job), files, (), is_free(job))


_SETUP, _WARMUP, _RUN, _CHECK, _SERVE = "setup", "warmup", "run", "check", "serve"
_INSTALLERS = {
    "apt-get": "apt-get -q update; apt-get -qy --no-install-recommends install",
    "dnf": "dnf -qy install",
    "apk": "apk add",
}


def shell_lines(job: CommandJob) -> tuple[ShellLine, ...]:
    """The lines of a trial in the order in which they run: the study's lines in full, the agent's own summarised.

    The agent's own lines look for a tool's program, install it, and load an image.
    """
    params = dict(job.trial.params)
    lines = [ShellLine(_SETUP, params.get(_SETUP, "")), *_image(job)]
    lines.append(ShellLine(_WARMUP, params.get(_WARMUP, "")))
    if program := params.get("program"):
        lines.append(ShellLine("program", f"command -v {program}"))
        lines += _install(params["packages"]) if params["install"] == "yes" else []
    lines.append(ShellLine(_SERVE, params.get(_SERVE, "")))
    lines += [ShellLine(_RUN, params["run"]), ShellLine(_CHECK, params.get(_CHECK, ""))]
    return tuple(line for line in lines if line.text)


def is_free(job: CommandJob) -> bool:
    """True if a line holds text that the study chose: a command, or a tool's path, host, database or URL.

    A tool that may be installed counts as well, because its packages change the machine.
    """
    if job.tool is None:
        return True
    chosen = {one.name: one.default for one in job.tool.params if one.kind is ParamKind.TEXT}
    installs = dict(job.trial.params)["install"] != "no"
    return installs or any(job.settings[name] != default for name, default in chosen.items())


def _image(job: CommandJob) -> list[ShellLine]:
    own = job.command
    if own is None or own.image is None:
        return []
    loads = f"podman load -i {own.image.path}, or docker if there is no podman"
    return [ShellLine("image", f"{loads}; the lines of warmup and run run in it, without a network")]


def _install(packages: str) -> list[ShellLine]:
    """Return the line with which the agent installs a missing tool, by the first package manager that it finds."""
    pairs = dict(pair.split("=", 1) for pair in packages.split())
    ways = [f"{_INSTALLERS[manager]} {name}" for manager, name in pairs.items()]
    return [ShellLine("install", f"if it is missing, as root or by sudo -n: {' | '.join(ways)}")] if ways else []
