"""Writes the JSON Schema of study files, for editors."""

import json
from pathlib import Path
from typing import Any

from cloudcmp.app.plan import known_providers
from cloudcmp.model.untrusted_text import escaped_json
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.store.output_files import check_replaceable


def study_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the study files that this version reads."""
    from cloudcmp.study.json_schema import study_schema

    return study_schema(known_providers())


def schema_text() -> str:
    """The schema as text."""
    return escaped_json(json.dumps(study_schema(), ensure_ascii=False, indent=1)) + "\n"


def write_schema(path: Path) -> None:
    """Write the schema to a file, whole or not at all; replaces an earlier schema.

    Raises UserMistake if another file has the name, and OSError.
    """
    check_replaceable(path, "schema of cloudcmp", _is_schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    with OwnedPath(path.parent).folder() as folder:
        write_whole(folder, path.name, schema_text().encode(), FOR_ALL)


def _is_schema(head: bytes) -> bool:
    from cloudcmp.study.json_schema import TITLE

    return f'"title": "{TITLE}"'.encode() in head
