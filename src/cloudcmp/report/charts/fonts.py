"""The fonts of drawings: vl-convert's own Liberation Sans, which is in memory, and the others of this machine.

Where the machine has Liberation Sans too, vl-convert prefers that one and opens its file for every letter that it
measures: 98,000 times for three figures with 1,700 texts. The metrics of both, and so the drawings, are the same;
letters in PNG have the outlines of vl-convert's version.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

_OWN = "LiberationSans-"
"""What the names of the font's files begin with."""
_LIST = "FONTCONFIG_FILE"
_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


@contextmanager
def own_font_only_in_memory() -> Iterator[None]:
    """Hides the folders with files of Liberation Sans from a library that looks for fonts inside.

    Other fonts in these folders are hidden too. Does nothing if there is no such folder, or if the environment names a
    list of fonts (`FONTCONFIG_FILE`). It changes the environment of the process for that time.
    """
    folders = [Path(one).expanduser() for one in _FOLDERS]
    shown = [one for folder in folders for one in folders_without(folder)]
    if _LIST in os.environ or shown == [one for one in folders if one.is_dir()]:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="cloudcmp-") as scratch:
        path = Path(scratch) / "fonts.conf"
        path.write_text(_fontconfig([Path(scratch), *shown]), encoding="utf-8")  # a list of none is not believed
        os.environ[_LIST] = str(path)
        try:
            yield
        finally:
            del os.environ[_LIST]


def folders_without(folder: Path) -> list[Path]:
    """The largest folders within `folder`, itself included, that hold no file of Liberation Sans at any depth."""
    if not folder.is_dir():
        return []
    if not any(folder.rglob(f"{_OWN}*")):
        return [folder]
    return [one for inner in sorted(folder.iterdir()) if inner.is_dir() for one in folders_without(inner)]


def _fontconfig(folders: Sequence[Path]) -> str:
    listed = "".join(f"<dir>{escape(str(one))}</dir>" for one in folders)
    return f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>{listed}</fontconfig>'
