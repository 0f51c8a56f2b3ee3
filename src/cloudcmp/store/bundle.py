"""A bundle: the folder of a published study, whose `datapackage.json` names its files with their digests.

The format is Data Package 2.0 (https://datapackage.org/standard/data-package/), with one Parquet table.
"""

import json
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from cloudcmp.errors import UserMistake
from cloudcmp.store.faults import corrupt, storage
from cloudcmp.store.files import sha256_of, write_durably

PACKAGE = "datapackage.json"
TABLE = "values.parquet"
PLAN = "plan.json"
_LONGEST = 2**20


def check_new(folder: Path) -> None:
    """Raises UserMistake if a bundle cannot be written to a path, because a file or a folder with content is there."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UserMistake.at(str(folder), "is there already", "name a folder that does not exist yet")


def write_file(folder: Path, name: str, content: bytes) -> None:
    """Writes one file of a bundle durably, readable for all."""
    with storage(folder / name):
        folder.mkdir(parents=True, exist_ok=True)
    write_durably(folder / name, content)


def resource_of(folder: Path, name: str) -> dict[str, Any]:
    """The size and digest of a file of a bundle, as members of its resource."""
    path = folder / name
    with storage(path):
        return {"path": name, "bytes": path.stat().st_size, "hash": f"sha256:{sha256_of(path)}"}


def is_bundle(folder: Path) -> bool:
    """True if a folder holds a `datapackage.json`."""
    return (folder / PACKAGE).is_file()


def checked_table(folder: Path) -> Path:
    """The path of a bundle's table, after every file was compared with its digest.

    Raises CorruptStore if a file is missing or differs, and UserMistake for a package of another kind.
    """
    path = folder / PACKAGE
    with storage(path), path.open("rb") as file:
        text = file.read(_LONGEST + 1)
    try:
        package = json.loads(text) if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        package = None
    resources = package.get("resources") if isinstance(package, dict) else None
    if not isinstance(resources, list) or not all(map(_is_resource, resources)):
        raise UserMistake.at(str(path), "is no package of cloudcmp", "name its table instead, such as FOLDER/table.csv")
    if TABLE not in [one["path"] for one in resources]:
        raise UserMistake.at(str(path), f"has no resource {TABLE}", "name a table to import instead")
    for one in resources:
        _check(folder / one["path"], one["hash"])
    return folder / TABLE


def question_of(folder: Path) -> str | None:
    """The question of a checked bundle's study; None if its plan has none."""
    path = folder / PLAN
    with storage(path):
        text = path.read_bytes() if path.is_file() else b"null"
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError):
        plan = None
    question = plan.get("question") if isinstance(plan, dict) else None
    return question if isinstance(question, str) and question else None


def _is_resource(one: object) -> bool:
    """True for a file directly in the folder, with a digest."""
    if not isinstance(one, Mapping) or not isinstance(one.get("hash"), str) or not isinstance(one.get("path"), str):
        return False
    name = one["path"]
    return bool(name) and name == PurePath(name).name and name != ".." and "\0" not in name


def _check(path: Path, expected: str) -> None:
    if path.is_symlink() or not path.is_file():
        raise corrupt(path, "is missing or is no plain file")
    if f"sha256:{sha256_of(path)}" != expected:
        raise corrupt(path, f"differs from its digest in {PACKAGE}")
