"""Pipes that nobody reads, as the standard output and the standard error of a forked command."""

import os


def prepare() -> None:
    """Replace both streams of this process."""
    reader, writer = os.pipe()
    os.close(reader)
    for stream in (1, 2):
        os.dup2(writer, stream)
    os.close(writer)
