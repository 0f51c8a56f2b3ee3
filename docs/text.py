"""Lines of the generated pages: tables, and sentences that fit the page."""

import textwrap
from collections.abc import Iterator

NOTE = "<!-- written by docs/generate.py: change the tables or the commands, then run `make docs` -->\n"


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """A table of Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def wrapped(text: str) -> list[str]:
    """A paragraph or an entry of a list in lines of at most 120 characters."""
    return textwrap.wrap(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
