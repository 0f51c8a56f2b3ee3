"""Folders that cloudcmp owns on this machine: opened, read, written and removed without following links in them."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cloudcmp.errors import NotOurs

FOR_ALL = 0o666
"""The mode of a file that everybody with access to its folder may read, subject to the umask."""
SMALL_BYTES = 64 * 1024
"""The largest size of a file that names the owner of a folder."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OwnedPath:
    """A folder or file `parts` below a folder that the user named.

    Links may lead to `trusted`, because a home may be a link; below it none is followed.
    """

    trusted: Path
    parts: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The path as shown to users."""
        return self.trusted.joinpath(*self.parts)

    def below(self, *names: str) -> "OwnedPath":
        """A path within this one."""
        return OwnedPath(self.trusted, (*self.parts, *names))

    @contextmanager
    def folder(self, *, make: bool = False) -> Iterator[int]:
        """A descriptor of the folder; `make` creates missing folders, for their owner alone.

        Raises NotOurs for a link or a file in the path, FileNotFoundError for a missing folder, other OSErrors.
        """
        if make:
            self.trusted.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, shown = os.open(self.trusted, _FOLDER), self.trusted
        try:
            for name in self.parts:
                shown /= name
                inner = _open_folder(descriptor, name, shown, make=make)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def file(self, flags: int) -> Iterator[BinaryIO]:
        """A regular file, opened with flags of `os.open`; a new one is for its owner alone. Raises as `folder` does."""
        with OwnedPath(self.trusted, self.parts[:-1]).folder(make=bool(flags & os.O_CREAT)) as folder:
            try:
                descriptor = _open_file(folder, self.parts[-1], flags)
            except ValueError as error:
                raise NotOurs.at(str(self.path), str(error), _NEXT) from error
        with os.fdopen(descriptor, "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "rb+") as file:
            yield file


_NEXT = "see what it is, and remove it by hand"


@contextmanager
def folder_in(parent: int, name: str, shown: Path) -> Iterator[int]:
    """A descriptor of the folder `name` in an opened one; raises NotOurs for a link or a file, and OSErrors."""
    descriptor = _open_folder(parent, name, shown, make=False)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(parent: int, name: str, shown: Path, *, make: bool) -> int:
    _check(name)
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
        what = "a link" if _is_link(parent, name) else "no folder"
        raise NotOurs.at(str(shown), f"it is {what}: nothing is read or removed through it", _NEXT) from error


def _check(name: str) -> None:
    """Raise NotOurs for a name that could lead elsewhere."""
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise NotOurs.at(repr(name), "it cannot name anything in a folder of ours", "use plain names")


def _is_link(parent: int, name: str) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    return False


def _open_file(folder: int, name: str, flags: int) -> int:
    """A descriptor of a regular file; raises ValueError for anything else, without waiting for a pipe's other end."""
    try:
        descriptor = os.open(
            name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600, dir_fd=folder
        )
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
            raise ValueError(f"{name} is no regular file") from error
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise ValueError(f"{name} is no regular file")


def read_small(folder: int, name: str) -> bytes:
    """The content of a small file; raises FileNotFoundError, ValueError for a link, a pipe or a long file, OSErrors."""
    with os.fdopen(_open_file(folder, name, os.O_RDONLY), "rb") as file:
        content = file.read(SMALL_BYTES + 1)
    if len(content) > SMALL_BYTES:
        raise ValueError(f"{name} is longer than {SMALL_BYTES} bytes")
    return content


def write_whole(folder: int, name: str, content: bytes, mode: int = 0o600) -> None:
    """Write a file atomically into a folder, replacing a file or link of its name; raises OSError."""
    draft = f"{name}.new"
    try:
        with new_file(folder, draft, mode) as file:
            file.write(content)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def new_file(folder: int, name: str, mode: int = 0o600) -> BinaryIO:
    """A new file, replacing a file or link of its name.

    Raises NotOurs for a name that leads elsewhere, and OSError.
    """
    _check(name)
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(name, flags, mode, dir_fd=folder), "wb")


def remove_folder(parent: int, name: str, folder: int, last: str) -> None:
    """Remove the content of an opened folder, its file `last` after everything else, and then the folder itself.

    A half-removed folder thus still names its owner. Links in it are removed, not followed, even those created
    meanwhile. Raises OSError if anything remains.
    """
    try:
        for entry, is_folder in _entries(folder):
            with suppress(FileNotFoundError):
                if is_folder:
                    shutil.rmtree(entry, dir_fd=folder)
                elif entry != last:
                    os.unlink(entry, dir_fd=folder)
    except RecursionError as error:
        raise OSError(errno.ENAMETOOLONG, "folders in it are nested too deep") from error
    if any(entry != last for entry, _ in _entries(folder)):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
    with suppress(FileNotFoundError):
        os.unlink(last, dir_fd=folder)
    remove_empty(parent, name, folder)


def remove_empty(parent: int, name: str, folder: int) -> None:
    """Remove an opened folder that is empty, unless something else has its name by now; raises OSError."""
    if not os.path.samestat(os.stat(name, dir_fd=parent, follow_symlinks=False), os.fstat(folder)):
        raise OSError(errno.ESTALE, "something else has its name by now")
    os.rmdir(name, dir_fd=parent)


def _entries(folder: int) -> list[tuple[str, bool]]:
    """The names in a folder, and whether each is a folder; a link is not."""
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def names_in(folder: int) -> list[str]:
    """The names in an opened folder, sorted."""
    return sorted(name for name, _ in _entries(folder))


def folders_in(folder: int) -> list[str]:
    """The names of the folders in an opened folder, sorted, without links."""
    return sorted(name for name, is_folder in _entries(folder) if is_folder)
