"""Writes a timer as unit files of systemd."""

import re

from cloudcmp.model.timer import Timer


def unit_name(timer: Timer) -> str:
    """The name of the units, of letters, digits and hyphens."""
    return "cloudcmp-" + (re.sub(r"[^A-Za-z0-9]+", "-", timer.folder.name).strip("-") or "study")


def units(timer: Timer, command: str) -> dict[str, str]:
    """The files of the service and of its timer, by name; `command` is the path of cloudcmp.

    The service runs the rounds that are due, releases all machines and ends; systemd never starts it twice at once.
    """
    name, folder = unit_name(timer), _quoted(str(timer.folder))
    service = f"""\
[Unit]
Description=cloudcmp continues the study {_plain(timer.name)}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart={_quoted(command)} run --resume {folder} --quiet
# Credentials of clouds, if they are in the environment:
# EnvironmentFile=%h/.config/cloudcmp/environment
"""
    wakes = f"""\
[Unit]
Description=Looks whether a round of {_plain(timer.name)} is due

[Timer]
OnActiveSec=1s
OnUnitInactiveSec={timer.every_s:.0f}s
AccuracySec=1s

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": wakes}


def _plain(text: str) -> str:
    """A text for a description, where systemd reads % and line ends."""
    return " ".join(text.split()).replace("%", "%%")


def _quoted(text: str) -> str:
    """A word of a command line of systemd."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
