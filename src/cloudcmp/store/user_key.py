"""The secret of this user on this computer, which identifies the study folders created here."""

import errno
import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from cloudcmp.errors import Fault, StorageFault
from cloudcmp.store.faults import from_os
from cloudcmp.store.files import sync_folder

KEY_BYTES = 32
_NEXT = "set XDG_STATE_HOME to a folder of yours that can be written"
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


class NoPlaceForKey(StorageFault):
    """The folder of this user's key cannot be created, read or written, so there is no key."""


def state_folder() -> Path:
    """The folder of cloudcmp's state for this user: cloudcmp under $XDG_STATE_HOME, by default ~/.local/state.

    A relative $XDG_STATE_HOME is ignored (XDG Base Directory Specification). Raises NoPlaceForKey for a user without a
    home.
    """
    base = Path(os.environ.get("XDG_STATE_HOME") or "")
    try:
        return (base if base.is_absolute() else Path.home() / ".local" / "state") / "cloudcmp"
    except RuntimeError:
        raise NoPlaceForKey.at("~", "this user has no home", _NEXT) from None


def study_key(tag: str) -> bytes | None:
    """The key that signs the rows of the study with this tag; None if this user has no key yet.

    Raises StorageFault if the key exists and is unusable.
    """
    key = _read(state_folder() / "key")
    return None if key is None else _derived(key, tag)


def new_study_key(tag: str) -> bytes:
    """The key of a new study; creates the user's key if there is none.

    Raises StorageFault, and NoPlaceForKey if no key can be stored at all.
    """
    path = state_folder() / "key"
    key = _read(path)
    return _derived(_make(path) if key is None else key, tag)


def signing_seed() -> bytes:
    """The secret of this user's signing key for evidence; creates the user's key if there is none.

    It is derived from that key, so that there is one secret to keep. Raises as `new_study_key` does.
    """
    path = state_folder() / "key"
    key = _read(path)
    return hmac.digest(_make(path) if key is None else key, b"cloudcmp evidence", "sha256")


def _derived(key: bytes, tag: str) -> bytes:
    """A separate key per study: a row copied from another study of the same user is not signed in this one."""
    return hmac.digest(key, f"cloudcmp study\n{tag}".encode(), "sha256")


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _not_plain(path) if error.errno in {errno.ELOOP, errno.ENXIO} else _fault(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        kind = os.fstat(descriptor)
        _check_private(path, kind)
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        what = "does not hold a key; studies made with it count as made elsewhere without it"
        raise StorageFault.at(str(path), what, "restore it from a copy, or remove it")
    return key


def _check_private(path: Path, kind: os.stat_result) -> None:
    """Raises StorageFault for a key that others can read or change, as far as its file system shows."""
    if not stat.S_ISREG(kind.st_mode):
        raise _not_plain(path)
    if kind.st_uid != os.geteuid():
        what = f"belongs to another user (uid {kind.st_uid})"
        raise StorageFault.at(str(path), what, "run as that user, or set HOME or XDG_STATE_HOME to a folder of yours")
    if kind.st_mode & 0o022 or (kind.st_mode & 0o077 and _keeps_modes(path)):
        raise StorageFault.at(str(path), "can be read or changed by others", f"chmod 600 {path}, if it is yours")


def _keeps_modes(path: Path) -> bool:
    """True if a new file next to a key can be made private: FAT gives all files the mode of the mount."""
    draft = _draft(path)
    try:
        descriptor = _new_file(draft)
        try:
            return os.fstat(descriptor).st_mode & 0o077 == 0
        finally:
            os.close(descriptor)
            draft.unlink()
    except OSError:
        return True


def _draft(path: Path) -> Path:
    return path.with_name(f"key.{os.getpid()}.{secrets.token_hex(4)}")


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _make(path: Path) -> bytes:
    """A new key, durable before use; that of another process if it was first."""
    draft = _draft(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write_new(draft)
            with suppress(FileExistsError):
                _link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise _fault(path, error) from error
    key = _read(path)
    if key is None:
        raise StorageFault.at(str(path), "went away while it was made", "try again")
    return key


def _link(draft: Path, path: Path) -> None:
    """Gives a finished key its name, or writes it anew if the file system has no hard links."""
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _write_new(path)


def _write_new(path: Path) -> None:
    """Writes a random key to a new file; raises OSError, and leaves no part of it."""
    with os.fdopen(_new_file(path), "wb") as file:
        try:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            path.unlink()
            raise


def _not_plain(path: Path) -> StorageFault:
    return StorageFault.at(str(path), "is no plain file", "remove it")


def _fault(path: Path, error: OSError) -> NoPlaceForKey:
    fault = from_os(error, path).faults[0]
    return NoPlaceForKey(Fault(fault.where, f"your key for signing studies: {fault.what}", _NEXT))
