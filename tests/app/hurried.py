"""A command that gives up on a machine that does not come after `$PATIENCE_S` seconds, not minutes; see warm.py."""

import os
from dataclasses import replace
from typing import Any

from cloudcmp.execute import study as study_run
from cloudcmp.provision import ProvisionContext

_open = study_run.open_provisioning


def _hurried(*arguments: Any) -> ProvisionContext:
    context = _open(*arguments)
    return replace(context, connector=replace(context.connector, give_up_s=float(os.environ["PATIENCE_S"]), poll_s=0.2))


def prepare() -> None:
    """Have this process be hurried."""
    study_run.open_provisioning = _hurried
