"""A command that gives up on a machine that does not come after `$PATIENCE_S` seconds, not minutes; see warm.py."""

import os
from dataclasses import replace
from typing import Any

from cloudcmp.execute import study as running
from cloudcmp.provision import ProvisionContext

_open = running.open_provisioning


def _hurried(*arguments: Any) -> ProvisionContext:
    office = _open(*arguments)
    return replace(office, ways=replace(office.ways, give_up_s=float(os.environ["PATIENCE_S"]), poll_s=0.2))


def prepare() -> None:
    """Have this process be hurried."""
    running.open_provisioning = _hurried
