"""`cloudcmp config`: shows and changes the user's settings."""

from typing import Annotated

import typer

from cloudcmp.cli.options import Json, option
from cloudcmp.cli.output import console, emit, say
from cloudcmp.errors import UserMistake

_UNSET = {"regions": "every region", "currency": "none: an amount is typed with its currency"}
"""What a setting without a value means."""


def config(
    key: Annotated[str | None, typer.Argument(help="out, regions or currency.", show_default=False)] = None,
    value: Annotated[list[str] | None, typer.Argument(help="The new value.", show_default=False)] = None,
    unset: Annotated[str | None, option("--unset", "Remove this setting, so that its default holds.", "KEY")] = None,
    json: Json = False,
) -> None:
    """Show or change your settings: folder of new studies, default regions, currency.

    Without a key, shows every setting and whether it comes from the file. A new value is written to the settings file;
    everything else in it stays.

    Example: cloudcmp config out ~/studies

    Example: cloudcmp config regions aws/eu-central-1 gcp/europe-west3

    Example: cloudcmp config currency EUR
    """
    from cloudcmp.app import settings

    if unset is not None and key is not None:
        raise UserMistake.at("--unset", "removes one setting, and takes no other words", f"write --unset {unset}")
    if unset is not None:
        settings.remove(unset)
    elif key is not None and value:
        settings.store(key, value)
    path, rows = settings.settings_path(), settings.rows(settings.load())
    if (shown := unset or key) is not None:
        rows = (settings.row_of(shown, rows),)
    if json:
        found = [{"key": one.key, "value": one.value, "from": "file" if one.is_set else "default"} for one in rows]
        emit("config", {"file": path, "settings": found})
        return
    from cloudcmp.report.table import table

    lines = [(one.key, one.value or _UNSET[one.key], "file" if one.is_set else "default") for one in rows]
    table(console(), ("setting", "value", "from"), lines)
    say(f"file: {path}{'' if path.exists() else ', which does not exist'}")
