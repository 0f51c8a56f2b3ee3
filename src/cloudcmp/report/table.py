"""Prints tables on a terminal: never wider than it, without split numbers and without control characters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from textwrap import wrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cloudcmp.model.untrusted_text import one_line, visible
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.text import plain_ascii

_LEAST_TEXT, _LONGEST_WORD, _GAP = 8, 20, 2
_LABEL = 13
# Longer lines are hard to read.
WIDEST = 100


@dataclass(frozen=True, slots=True)
class Head:
    """A column that is never wrapped: right-aligned numbers, or words that stay `whole`."""

    title: str
    numeric: bool = True
    whole: bool = False


def ascii_only(console: Console) -> bool:
    """True if a terminal shows only ASCII."""
    return not console.encoding.lower().startswith("utf")


def safe(console: Console, text: str, style: str = "", limit: int = 2000) -> Text:
    """Return a string as text that this terminal can show, without markup and control characters."""
    kept = one_line(text, limit)
    return Text(plain_ascii(kept) if ascii_only(console) else kept, style=style)


def put(console: Console, line: Text) -> None:
    """Print one line that fits; without a terminal it bypasses rich, which takes 0.2 ms per line."""
    if console.is_terminal:
        console.print(line, highlight=False, soft_wrap=False)
    else:
        console.file.write(f"{line.plain}\n")


def say(console: Console, text: str, style: str = "", indent: int = 0, *, keep: bool = False) -> None:
    """Print a string as paragraphs that fit the terminal, indented by `indent`; `keep` preserves our own spaces."""
    for line in text.splitlines() or [""]:
        shown = safe(console, line, style)
        if keep:
            shown = Text(plain_ascii(line) if ascii_only(console) else visible(line), style=style)
        room = max(10, min(console.width, WIDEST) - indent)
        for piece in [shown] if shown.cell_len <= room else shown.wrap(console, room):
            piece.rstrip()
            put(console, Text(" " * indent) + piece if indent else piece)


def labelled(console: Console, label: str, text: str, style: str = "") -> None:
    """Print one labelled paragraph with a hanging indent."""
    width = min(console.width, WIDEST) - _LABEL
    for at, line in enumerate(wrap(text, max(20, width), break_long_words=False, break_on_hyphens=False) or [""]):
        say(console, f"{label if not at else '':<{_LABEL}}{line}", style, keep=True)


def table(
    console: Console,
    columns: Sequence[str | Head],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    note: str = "",
) -> None:
    """Print a table that fits the terminal's width.

    `columns` are titles; a column is right aligned if it is a `Head`, or holds only numbers. `rows` have one value for
    each column; None is a dash. Text columns are folded; if even that does not fit, every row becomes a block of
    `title: text` lines.
    """
    heads = [column if isinstance(column, Head) else Head(column, _numbers([row[at] for row in rows]))
             for at, column in enumerate(columns)]  # fmt: skip
    shown = [[safe(console, _shown(value)) for value in row] for row in rows]
    if title:
        console.print(safe(console, title, "bold"), highlight=False)
    widths = _fit(console.width, heads, shown)
    if not shown:
        console.print(safe(console, "nothing to show", "dim"))
    elif widths is None:
        _blocks(console, heads, shown)
    else:
        _grid(console, heads, shown, widths)
    if note:
        say(console, note, "dim")


def _numbers(values: Sequence[object]) -> bool:
    """True if a column holds only numbers and unknown values, and at least one number."""
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(one, int | float | Decimal) and not isinstance(one, bool) for one in known)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else UNKNOWN
    if isinstance(value, list | tuple):
        return ", ".join(_shown(one) for one in value)
    return UNKNOWN if value is None else str(value)


def _fit(width: int, heads: Sequence[Head], rows: Sequence[Sequence[Text]]) -> list[int] | None:
    """Return the widths of the columns; None if the numbers leave no room for the words."""
    natural = [max([len(head.title), *(row[at].cell_len for row in rows)]) for at, head in enumerate(heads)]
    room = width - _GAP * (len(heads) - 1)
    if sum(natural) <= room:
        return natural
    words = [max((len(word) for row in rows for word in row[at].plain.split()), default=0) for at in range(len(heads))]
    least = [
        size if head.numeric or head.whole else min(size, max(_LEAST_TEXT, len(head.title), min(word, _LONGEST_WORD)))
        for size, word, head in zip(natural, words, heads, strict=True)
    ]
    if sum(least) > room:
        return None
    widths, spare = list(least), room - sum(least)
    while spare > 0:  # one character at a time to the column that lacks most, so that long ones share the room
        at = max(range(len(heads)), key=lambda one: (natural[one] - widths[one]) / max(1, widths[one]))
        if natural[at] <= widths[at]:
            break
        widths[at] += 1
        spare -= 1
    return widths


def _grid(console: Console, heads: Sequence[Head], rows: Sequence[Sequence[Text]], widths: Sequence[int]) -> None:
    drawn = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for head, width in zip(heads, widths, strict=True):
        justify = "right" if head.numeric else "left"
        drawn.add_column(safe(console, head.title), justify=justify, width=width, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        drawn.add_row(*row)
    for line in console.render_lines(drawn, pad=False):
        shown = Text.assemble(*((part.text, part.style or "") for part in line))
        shown.rstrip()
        put(console, shown)


def _blocks(console: Console, heads: Sequence[Head], rows: Sequence[Sequence[Text]]) -> None:
    for row in rows:
        for head, field in zip(heads, row, strict=True):
            console.print(Text.assemble((f"{one_line(head.title)}: ", "bold"), field), highlight=False)
        console.print()
