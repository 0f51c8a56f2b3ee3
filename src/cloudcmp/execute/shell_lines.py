"""The shell lines that the agent runs for a trial of a command or of a tool."""

from cloudcmp.execute.commands import CommandJob
from cloudcmp.model.command import ShellLine
from cloudcmp.model.metric import ParamKind

_SETUP, _WARMUP, _RUN, _CHECK = "setup", "warmup", "run", "check"
_INSTALLERS = {
    "apt-get": "apt-get -q update; apt-get -qy --no-install-recommends install",
    "dnf": "dnf -qy install",
    "apk": "apk add",
}


def shell_lines(job: CommandJob) -> tuple[ShellLine, ...]:
    """The lines of a trial in the order in which they run: the study's lines in full, the agent's own summarised.

    The agent's own lines look for a tool's program, install it, and load an image.
    """
    asked = dict(job.trial.params)
    lines = [ShellLine(_SETUP, asked.get(_SETUP, "")), *_image(job)]
    lines.append(ShellLine(_WARMUP, asked.get(_WARMUP, "")))
    if program := asked.get("program"):
        lines.append(ShellLine("program", f"command -v {program}"))
        lines += _install(asked["packages"]) if asked["install"] == "yes" else []
    lines += [ShellLine(_RUN, asked["run"]), ShellLine(_CHECK, asked.get(_CHECK, ""))]
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
    loads = f"podman load -i {own.image.path}, or docker where there is no podman"
    return [ShellLine("image", f"{loads}; the lines of warmup and run are run in it, without a network")]


def _install(packages: str) -> list[ShellLine]:
    """The line with which the agent installs a missing tool: by the first package manager that it finds."""
    pairs = dict(pair.split("=", 1) for pair in packages.split())
    ways = [f"{_INSTALLERS[manager]} {name}" for manager, name in pairs.items()]
    return [ShellLine("install", f"if it is missing, as root or by sudo -n: {' | '.join(ways)}")] if ways else []
