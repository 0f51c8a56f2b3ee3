"""Output of every verb: one JSON document or lines for people, and the exit code of every ending."""

import dataclasses
import json
import math
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer._click.exceptions import UsageError  # typer carries its own click

from cloudcmp.cli import interruption
from cloudcmp.cli.interruption import EXIT_INTERRUPTED, verb_of
from cloudcmp.cli.streams import MAKING
from cloudcmp.cli.usage import usage_fault
from cloudcmp.errors import CloudcmpError, Fault
from cloudcmp.model.untrusted_text import escaped_json

if TYPE_CHECKING:
    from rich.console import Console

TRACEBACK = "CLOUDCMP_TRACEBACK"
EXIT_DONE, EXIT_NO, EXIT_MISTAKE, EXIT_FAULT = 0, 1, 2, 3


def plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    """A value as JSON: money and decimals become strings, numbers that are not finite become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Decimal | Path | date):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (one.name for one in dataclasses.fields(value) if one.metadata.get("in_documents", True))
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def document(verb: str, data: Any, warnings: Sequence[str] = (), faults: Sequence[Fault] = ()) -> str:
    """The document that a verb prints with `--json`; its schema is `cloudcmp.<verb>/1`.

    Characters that would control a terminal or change the reading order are escaped.
    """
    errors = [{"where": fault.where, "what": fault.what, "next": fault.next} for fault in faults]
    content = {"schema": f"cloudcmp.{verb}/1", "data": plain(data), "warnings": list(warnings), "errors": errors}
    return escaped_json(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2))


def say(text: str = "") -> None:
    """A line on standard output."""
    sys.stdout.write(text + "\n")


def warn(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(text + "\n")


def ignore(_: str) -> None:
    """Print nothing."""


def warn_left(left: Sequence[str], folder: Path) -> None:
    """One line on standard error for each resource that is left, and the command that ends them."""
    for one in left:
        warn(f"left: {one}")
    if left:
        warn(f"end it with: cloudcmp cleanup {folder}")


def folded(text: str) -> str:
    """A long line wrapped to 80 columns; words stay whole."""
    return textwrap.fill(text, 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def console() -> "Console":
    """Standard output as a terminal, or as plain text if it is none."""
    from rich.console import Console

    return Console(highlight=False)


def emit(verb: str, data: Any, warnings: Sequence[str] = ()) -> None:
    """Print a verb's JSON document."""
    say(document(verb, data, warnings))


def guarded(action: Callable[[], Any], arguments: Sequence[str], over: Callable[[int], None] = lambda _: None) -> int:
    """Run the command line; a failure becomes one line for each fault and an exit code, never a traceback.

    `over` receives the exit code before the lines are printed.
    """
    try:
        faults, code = _outcome(action, arguments)
    except KeyboardInterrupt as error:  # between the verb and here
        faults, code = _faults_of(error, arguments)
    over(code)
    return _failed(faults, code, arguments) if faults else code


def _outcome(action: Callable[[], Any], arguments: Sequence[str]) -> tuple[tuple[Fault, ...], int]:
    try:
        result = action()
        sys.stdout.flush()  # an answer that cannot be written is a fault
    except typer.Exit as done:
        return (), done.exit_code
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and verb_of(arguments) not in MAKING:
            return (), EXIT_DONE
        if os.environ.get(TRACEBACK):
            raise
        return _faults_of(error, arguments)
    return (), result if isinstance(result, int) else EXIT_DONE


def _faults_of(error: BaseException, arguments: Sequence[str] = ()) -> tuple[tuple[Fault, ...], int]:
    """The faults and the exit code of a failure; what is no `Exception` (a signal, a cancelled task) interrupts."""
    if isinstance(error, CloudcmpError):
        return error.faults, error.exit_code
    if isinstance(error, UsageError):
        return (usage_fault(error),), EXIT_MISTAKE
    if isinstance(error, OSError):
        where, what = str(error.filename or "system"), (error.strerror or str(error)).lower()
        return (Fault(where, what, "check the path, its rights and the space left"),), EXIT_FAULT
    wrapped = isinstance(error.__cause__, KeyboardInterrupt)  # as by `__set_name__`, until Python 3.12
    if wrapped or isinstance(error, typer.Abort) or not isinstance(error, Exception):
        return (interruption.fault_of(verb_of(arguments)),), EXIT_INTERRUPTED
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (Fault("cloudcmp", f"a fault of its own, {what}", f"report it, with what {TRACEBACK}=1 shows"),), EXIT_FAULT


def _failed(faults: Sequence[Fault], code: int, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        with suppress(OSError, typer.Exit):  # this may be the fault itself
            say(document(verb_of(arguments), None, (), faults))
    for fault in faults:
        with suppress(OSError):  # the reader may be gone
            warn(fault.line())
    return code
