"""From a study file to a Study."""

import re
from collections.abc import Collection
from pathlib import Path

from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.study import Study
from cloudcmp.model.terms import Terms


def read(path: Path, *, providers: Collection[str], billed: Collection[str] = ()) -> Study:
    """The study of a file.

    `providers` are the names that candidates may have; `billed` those among them whose use costs money, so that the
    study must say how much may be spent. Raises UserMistake with all faults, one line each, `file:line:column: what;
    what next`, and OutsideFault where the file cannot be read.
    """
    content = _bytes_of(path, "name the study file in it", "see the folder studies for examples")
    return read_text(content, str(path), providers=providers, billed=billed)


def read_terms(path: Path, *, providers: Collection[str]) -> Terms:
    """The terms of a file of their own; raises as `read`."""
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
    """The study of a file's content; `name` is what the file is called in faults. Otherwise as `read`."""
    # The YAML parser and pydantic take a fifth of a second to import: only who reads a study pays for them.
    from cloudcmp.study.build import build

    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem).strip("-.")
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    return build(data, name, stem or "study", providers=providers, billed=billed)
