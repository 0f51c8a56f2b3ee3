"""The secret of this user on this computer, by which the study folders that they made here are recognised."""

import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from cloudcmp.errors import Fault, StorageFault
from cloudcmp.store.faults import from_os

KEY_BYTES = 32
_NEXT = "set XDG_STATE_HOME to a folder of yours that can be written"


def state_folder() -> Path:
    """The folder of what cloudcmp remembers of this user: cloudcmp under $XDG_STATE_HOME, by default ~/.local/state.

    A relative $XDG_STATE_HOME is ignored (XDG Base Directory Specification). Raises StorageFault for a user without a
    home.
    """
    base = Path(os.environ.get("XDG_STATE_HOME") or "")
    try:
        return (base if base.is_absolute() else Path.home() / ".local" / "state") / "cloudcmp"
    except RuntimeError:
        raise StorageFault.at("~", "this user has no home", _NEXT) from None


def study_key(tag: str) -> bytes | None:
    """The key that signs the rows of the study with this tag; None if this user has no key yet.

    Raises StorageFault if the key is there and cannot be used.
    """
    key = _read(state_folder() / "key")
    return None if key is None else _derived(key, tag)


def new_study_key(tag: str) -> bytes:
    """The same for a study that is being made: makes the user's key if there is none. Raises StorageFault."""
    path = state_folder() / "key"
    key = _read(path)
    return _derived(_make(path) if key is None else key, tag)


def _derived(key: bytes, tag: str) -> bytes:
    """One key a study: a row that was copied from another study of the same user is not signed in this one."""
    return hmac.digest(key, f"cloudcmp study\n{tag}".encode(), "sha256")


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _fault(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise StorageFault.at(str(path), "is no plain file", "remove it")
        if kind.st_uid != os.geteuid() or kind.st_mode & 0o077:
            raise StorageFault.at(str(path), "can be read or changed by others", f"chmod 600 {path}, if it is yours")
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        what = "does not hold a key; studies made with it count as made elsewhere without it"
        raise StorageFault.at(str(path), what, "restore it from a copy, or remove it")
    return key


def _make(path: Path) -> bytes:
    """A new key, durable before it is used; that of another process if that one came first."""
    draft = path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(descriptor)
        try:
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
    except OSError as error:
        raise _fault(path, error) from error
    made = _read(path)
    if made is None:
        raise StorageFault.at(str(path), "went away while it was made", "try again")
    return made


def _fault(path: Path, error: OSError) -> StorageFault:
    told = from_os(error, path).faults[0]
    return StorageFault(Fault(told.where, f"your key for signing studies: {told.what}", _NEXT))
