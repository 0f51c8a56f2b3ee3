"""The user's settings: a small TOML file that people and `cloudcmp config` write."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cloudcmp.errors import StorageFault, UserMistake
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.owned_folder import SMALL_BYTES, OwnedPath, write_whole

FILE = "CLOUDCMP_CONFIG"
"""The environment variable that names another settings file."""
STUDIES = Path("cloudcmp-studies")
"""The default folder of new studies, below the working directory."""
ALL = "all"
"""The word that names every region."""
_HEADER = "# Settings of cloudcmp. `cloudcmp config` shows and changes them; `#` begins a comment, which it keeps.\n"
_REGION = re.compile(r"[a-z0-9][a-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_.-]*")
_BARE = re.compile(r"\s*[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*")
_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|(end of document))\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a user; a field is None or empty if the file does not set it.

    `out` is the folder of new studies, `regions` are pairs of a provider and a region of it, and `currency` is assumed
    for an amount that is typed without one.
    """

    out: Path | None = None
    regions: tuple[tuple[str, str], ...] = ()
    currency: str = ""

    def regions_of(self, provider: str) -> tuple[str, ...]:
        """The default regions of a provider; empty if there are none, which means all."""
        return tuple(region for name, region in self.regions if name == provider)


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as it is shown: its value, text or a list of text or None, and whether the file sets it."""

    key: str
    value: str | tuple[str, ...] | None
    is_set: bool


def settings_path() -> Path:
    """The settings file: $CLOUDCMP_CONFIG, else cloudcmp/config.toml under $XDG_CONFIG_HOME, by default ~/.config.

    A relative $XDG_CONFIG_HOME is ignored (XDG Base Directory Specification). Raises UserMistake for a user without a
    home.
    """
    if named := os.environ.get(FILE):
        return Path(named)
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    try:
        return (base if base.is_absolute() else Path.home() / ".config") / "cloudcmp" / "config.toml"
    except RuntimeError:
        raise UserMistake.at("~", "this user has no home", f"set {FILE} to a file of yours") from None


def load() -> Settings:
    """The user's settings; those of a missing file, or of a user without a home, are all defaults.

    Raises UserMistake for a file that cannot be read, an unknown key or a bad value, each in one line.
    """
    try:
        path = settings_path()
    except UserMistake:
        return Settings()
    return _parsed(path, _read(path) or "")


def rows(settings: Settings) -> tuple[SettingRow, ...]:
    """Every setting with its value, also those that have their default."""
    regions = tuple("/".join(pair) for pair in settings.regions)
    return (
        SettingRow("out", str(settings.out or STUDIES), settings.out is not None),
        SettingRow("regions", regions, bool(regions)),
        SettingRow("currency", settings.currency or None, bool(settings.currency)),
    )


def row_of(key: str, among: Sequence[SettingRow]) -> SettingRow:
    """The row of a key; raises UserMistake for an unknown one."""
    _known("cloudcmp config", key)
    return next(one for one in among if one.key == key)


def studies_folder() -> Path:
    """The folder of new studies; raises UserMistake for a bad settings file."""
    return load().out or STUDIES


def chosen_regions(named: Sequence[str]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The regions that were named, and each provider's usual ones where none was; `all` means every region.

    Raises UserMistake for a bad settings file, and for `all` beside other regions.
    """
    if ALL in named:
        if set(named) != {ALL}:
            raise UserMistake.at("--region", f"{ALL} excludes other regions", "give one of them")
        return (), {}
    if named:
        return tuple(named), {}
    found = load()
    return (), {name: found.regions_of(name) for name, _ in found.regions}


def regions_notes(usual: Mapping[str, Sequence[str]]) -> list[str]:
    """A line that says to which regions the settings limit an answer; none if they limit nothing."""
    places = ", ".join(f"{name}/{region}" for name, regions in usual.items() for region in regions)
    return [f"only {places}, as in your settings; every region: --region {ALL}"] if places else []


def with_currency(amount: str) -> str:
    """An amount as a person typed it, with the currency of the settings if it is a number alone.

    Raises UserMistake for a bad settings file. A study file means the same everywhere, so its amounts never pass here.
    """
    currency = load().currency if _BARE.fullmatch(amount) else ""
    return f"{amount.strip()} {currency}" if currency else amount


def store(key: str, words: Sequence[str]) -> None:
    """Set a key in the file, which is created if it is missing; all other lines stay as they are.

    `words` are the value as typed: one for `out` and `currency`, one or more for `regions`. Raises UserMistake for an
    unknown key, a bad value, and a file in which the key cannot be replaced without losing anything; StorageFault for a
    file that cannot be written.
    """
    path = settings_path()
    _known("cloudcmp config", key)
    given = [part for word in words for part in word.split(",") if part] if key == "regions" else list(words)
    if key != "regions" and len(given) != 1:
        raise UserMistake.at(key, f"takes one value, not {len(given)}", f"write e.g. cloudcmp config {_EXAMPLES[key]}")
    value = given if key == "regions" else given[0]
    if key == "out" and value and not given[0].startswith("~"):
        value = os.path.abspath(given[0])  # noqa: PTH100 - also without `..`
    _check(key, value, key)
    try:
        line = f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
        line.encode()
    except UnicodeEncodeError:
        raise UserMistake.at(key, "is no valid text", "name a folder whose name is UTF-8") from None
    _replace(path, key, line)


def remove(key: str) -> None:
    """Remove a key from the file, so that its default holds; all other lines stay. Raises as `store` does."""
    path = settings_path()
    _known("cloudcmp config", key)
    if _read(path) is not None:
        _replace(path, key, "")


# -- values


def _out(value: Any) -> Path:
    path = Path(_text(value))
    try:
        path = path.expanduser()
    except RuntimeError:
        raise ValueError("the home of ~ is unknown") from None
    if not path.is_absolute():
        raise ValueError(f"{_shown(value)} is not absolute")
    if path.exists() and not path.is_dir():
        raise ValueError(f"{_shown(value)} is no folder")
    return path


def _regions(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise ValueError("it is no list")
    found = []
    for one in value:
        if not _REGION.fullmatch(_text(one)):
            raise ValueError(f"{_shown(one)} is no PROVIDER/REGION")
        provider, _, region = one.partition("/")
        _check_provider(provider)
        found.append((provider, region))
    return tuple(dict.fromkeys(found))


def _check_provider(name: str) -> None:
    """Raises ValueError for a name of no provider, neither with a driver nor in the price book."""
    from cloudcmp.catalog.parameters import nearest
    from cloudcmp.provider.registry import names
    from cloudcmp.store.prices import PriceBook

    if name in names():
        return
    with PriceBook() as book:
        if any(name == known for known, _ in book.places()):
            return
    close = nearest(name, names())
    raise ValueError(
        f"{_shown(name)} is no provider; {f'nearest: {close}' if close else 'see: cloudcmp list providers'}"
    )


def _currency(value: Any) -> str:
    from cloudcmp.units import checked_currency

    return checked_currency(_text(value))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{_shown(value)} is no text")
    return value


def _shown(value: object) -> str:
    return one_line(repr(value), 60)


_KEYS: Mapping[str, Callable[[Any], Any]] = {"out": _out, "regions": _regions, "currency": _currency}
_EXAMPLES: Mapping[str, str] = {
    "out": "out ~/studies",
    "regions": "regions aws/eu-central-1 gcp/europe-west3",
    "currency": "currency EUR",
}
_WRITTEN = {"out": 'out = "~/studies"', "regions": 'regions = ["aws/eu-central-1"]', "currency": 'currency = "EUR"'}


def _known(where: str, key: str) -> None:
    """Raises UserMistake for an unknown key."""
    from cloudcmp.catalog.parameters import nearest

    if key not in _KEYS:
        close = nearest(key, _KEYS)
        listed = f"known are {', '.join(_KEYS)}"
        raise UserMistake.at(
            where, f"unknown setting {_shown(key)}", f"nearest: {close}; {listed}" if close else listed
        )


def _check(key: str, value: Any, where: str) -> Any:
    """The value of a key; raises UserMistake for an unknown key and a bad value."""
    try:
        return _KEYS[key](value)
    except ValueError as wrong:
        what, _, next_ = str(wrong).partition("; ")
        raise UserMistake.at(where, what, next_ or f"write e.g. {_WRITTEN[key]}") from None


# -- the file


def _read(path: Path) -> str | None:
    """The text of the file; None if there is none. A link to it is followed, as those of tools for dotfiles."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UserMistake.at(str(path), "is no plain file", "remove it")
            content = file.read(SMALL_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise UserMistake.at(str(path), what, "make it readable, or remove it") from error
    if len(content) > SMALL_BYTES:
        raise UserMistake.at(str(path), f"is longer than {SMALL_BYTES} bytes", "remove what is no setting")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UserMistake.at(str(path), "is not UTF-8", "mend it, or remove it") from None


def _table(path: Path, text: str) -> dict[str, Any]:
    """The keys and values of the file's text; raises UserMistake if it is no TOML."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _PLACE.match(str(error))
        what, line, column = (found[1], found[2], found[3]) if found else (str(error), None, None)
        where = f"{path}:{line}:{column}" if line else str(path)
        raise UserMistake.at(where, f"is no TOML: {one_line(what, 100)}", "mend it, or remove it") from None


def _parsed(path: Path, text: str) -> Settings:
    found = {}
    for key, value in _table(path, text).items():
        _known(str(path), key)
        found[key] = _check(key, value, f"{path}: {key}")
    return Settings(**found)


def _replace(path: Path, key: str, line: str) -> None:
    """Replace the line of a key, or add it; raises UserMistake if that would lose or change anything else."""
    _known("cloudcmp config", key)
    if path.is_symlink():
        raise UserMistake.at(str(path), "is a link, which is not replaced", "edit the file to which it leads")
    text = _read(path)
    lines = (_HEADER if text is None else text).splitlines(keepends=True)
    own = [at for at, each in enumerate(lines) if re.match(rf"\s*{key}\s*=", each)]
    before = _table(path, "".join(lines))
    if key not in before:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(line)
    elif len(own) == 1 and not _holds_more(lines[own[0]], key, before[key]):
        lines[own[0]] = line
    else:
        raise _by_hand(path, key, line)
    after = "".join(lines)
    wanted = {one: value for one, value in before.items() if one != key} | tomllib.loads(line)
    if _table(path, after) != wanted:
        raise _by_hand(path, key, line)
    _parsed(path, after)
    _write(path, after)


def _holds_more(line: str, key: str, value: Any) -> bool:
    """True if a line holds more than a key and its whole value, such as a comment."""
    try:
        return tomllib.loads(line) != {key: value} or "#" in line.replace(json.dumps(value), "")
    except tomllib.TOMLDecodeError:
        return True


def _by_hand(path: Path, key: str, line: str) -> UserMistake:
    what = f"{key} stands in it with a comment or in several lines, which would be lost"
    return UserMistake.at(str(path), what, f"edit it: {line.strip() or f'remove {key}'}")


def _write(path: Path, text: str) -> None:
    try:
        with OwnedPath(path.parent).folder(make=True) as folder:
            write_whole(folder, path.name, text.encode())
    except OSError as error:
        raise StorageFault.at(str(path), (error.strerror or str(error)).lower(), "make its folder writable") from error
