"""Reads a study file into a Study."""

import re
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path

from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.offering import Offering
from cloudcmp.model.study import Study
from cloudcmp.model.terms import Terms


def read(path: Path, *, providers: Collection[str], billed: Collection[str] = ()) -> Study:
    """The study of a file.

    `providers` are the names that candidates may have; `billed` those among them whose use costs money, so that the
    study must have a budget. Raises UserMistake with all faults, one line each, `file:line:column: what; what next`,
    and OutsideFault if the file cannot be read.
    """
    content = _bytes_of(path, "name the study file in it", "'cloudcmp start' writes one")
    return read_text(content, str(path), providers=providers, billed=billed)


def read_terms(path: Path, *, providers: Collection[str]) -> Terms:
    """The terms in a separate file; raises as `read`."""
    example = "write e.g. discounts: [{share: 10 %}]"
    content = _bytes_of(path, "name the file of terms in it", f"make it: {example}")
    if not content.strip():
        raise UserMistake.at(f"{path}:1:1", "the file is empty", example)
    from cloudcmp.study import terms

    return terms.read_terms(path, content, providers)


def _bytes_of(path: Path, folder_next: str, missing_next: str) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte past the limit is enough to refuse the file; /dev/zero never ends.
            return file.read(2**20 + 1)
    except FileNotFoundError as error:
        raise UserMistake.at(str(path), "there is no such file", missing_next) from error
    except IsADirectoryError as error:
        raise UserMistake.at(str(path), "this is a folder", folder_next) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutsideFault.at(str(path), reason, "make the file readable") from error


def read_text(content: bytes | str, name: str, *, providers: Collection[str], billed: Collection[str] = ()) -> Study:
    """The study of a file's content; `name` is the file's name in faults. Otherwise as `read`."""
    # The YAML parser and pydantic take a fifth of a second to import: imported only to read a study.
    from cloudcmp.study.build import build

    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem).strip("-.")
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return build(data, name, stem or "study", providers=providers, billed=billed)


_COMMENT = re.compile(r"[ \t]*#[^\n]*")


def without_comments(text: str) -> str:
    """The same YAML without comments, line for line; empty for a text that cannot be scanned.

    Comments are private notes, and may contain account names or secrets.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    kept, at = [], 0
    try:
        for token in YAML(typ="safe", pure=True).scan(text):
            start, end = token.start_mark.index, token.end_mark.index
            if start >= at:
                kept += [_COMMENT.sub("", text[at:start]), text[start:end]]
                at = end
    except YAMLError:
        return ""
    return "".join([*kept, _COMMENT.sub("", text[at:])])


_NAME = "this-machine.yaml"


def default_text(offerings: Sequence[Offering]) -> str:
    """The study of this machine as a file's text, with one candidate for each offering of the `local` provider."""
    lines = [f"  - {{provider: {sold.provider}, region: {sold.region}, offering: {sold.name}}}" for sold in offerings]
    return _resource("local.yaml").replace("candidates: []", "\n".join(["candidates:", *lines]))


def default_study(offerings: Sequence[Offering]) -> Study:
    """The default study of `cloudcmp run`: this machine."""
    return read_text(default_text(offerings), _NAME, providers=frozenset(sold.provider for sold in offerings))


def demo_text() -> str:
    """The study of `cloudcmp demo`: three simulated clouds."""
    return _resource("demo.yaml")


def _resource(name: str) -> str:
    return files("cloudcmp.study").joinpath(name).read_text(encoding="utf-8")
