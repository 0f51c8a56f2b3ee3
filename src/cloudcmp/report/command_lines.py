"""Renders the lines that a shell runs, in full: nothing is cut, hidden or moved out of sight."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import chop_cells
from rich.console import Console
from rich.text import Text

from cloudcmp.model.command import CommandUse, ShellLine, ShippedFile
from cloudcmp.report.table import WIDEST, ascii_only, say
from cloudcmp.report.text import exact

TITLE = "Commands and tools, with every line for a shell"
_INDENT, _KIND, _LEAST = 2, 8, 20


def show_commands(console: Console, uses: Sequence[CommandUse], notice: str = "") -> None:
    """Print all lines and files of commands and tools; `notice` says what they mean for the reader's machine.

    Long lines continue on the next line, indented; a script's lines are numbered.
    """
    if not uses:
        return
    console.print()
    say(console, TITLE, "bold")
    for use in uses:
        only = ascii_only(console)
        on = f", on {', '.join(use.on)}" if use.on else ""
        _put(console, exact(f"{use.name}{on}", ascii_only=only), 0)
        for line in use.lines:
            for number, (mark, text) in enumerate(script_lines(line.text, ascii_only=only)):
                _entry(console, line.kind if not number else "", mark, text)
        for file in use.files:
            _entry(console, "file", "", file_line(file, ascii_only=only))
    if notice:
        say(console, f"note: {notice}")


def script_lines(text: str, *, ascii_only: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the lines of a shell text, numbered if there are several; a run of blank lines becomes its count."""
    numbered = list(enumerate(text.removesuffix("\n").split("\n"), start=1))
    for blank, run in groupby(numbered, key=lambda one: not one[1].strip()):
        lines = list(run)
        if blank and len(lines) > 1:
            yield f"{lines[0][0]}-{lines[-1][0]}", f"<{len(lines)} blank lines>"
            continue
        for number, line in lines:
            yield str(number) if len(numbered) > 1 else "", exact(line, ascii_only=ascii_only)


def file_line(file: ShippedFile, *, ascii_only: bool = False) -> str:
    """Describe a file that is copied to each machine: its name, size and digest."""
    return f"{exact(file.path, ascii_only=ascii_only)}, {file.size_bytes} B, SHA-256 {file.sha256}"


def plain_text(line: ShellLine) -> str:
    """Return all lines of a shell text in one string, numbered if there are several."""
    return "\n".join(f"{mark}  {text}" if mark else text for mark, text in script_lines(line.text))


def _entry(console: Console, kind: str, mark: str, text: str) -> None:
    head = f"{exact(kind):<{_KIND}} " + (f"{mark:>3}  " if mark else "")
    _put(console, text, _INDENT, head)


def _put(console: Console, text: str, indent: int, head: str = "") -> None:
    """Print a text after its head on as many lines as needed, cut at the width and not at words: keeps all blanks."""
    width = max(_LEAST, min(console.width, WIDEST) - indent - len(head))
    for number, piece in enumerate(chop_cells(text, width) or [""]):
        before = head if not number else " " * len(head)
        console.print(Text(" " * indent + before + piece), highlight=False, soft_wrap=True)
