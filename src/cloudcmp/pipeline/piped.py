"""What comes through a pipe, which can be read only once, as a file that can be read again."""

import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from cloudcmp.errors import UserMistake
from cloudcmp.store.faults import storage


@contextmanager
def again(path: Path) -> Iterator[Path]:
    """The path itself, or of a pipe (a FIFO, or /dev/stdin behind one) a copy of all that comes through it.

    The copy is made where the system has its temporary files, and is removed at the end. Raises UserMistake for a
    device, which may never end, StorageFault where there is no room. What is wrong with another path is told by whoever
    reads it.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        yield path
        return
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise UserMistake.at(str(path), "is a terminal or a device", "name a file, or a pipe such as /dev/stdin")
    if not stat.S_ISFIFO(kind):
        yield path
        return
    with storage(path):
        copy = NamedTemporaryFile(prefix="cloudcmp-")  # noqa: SIM115 - closed below: faults of the caller are not ours
    with copy:
        with storage(path), path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy, 1 << 20)
            copy.flush()
        yield Path(copy.name)
