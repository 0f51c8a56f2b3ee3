"""The tables, relations and sentences of published studies, as data with their page; computes nothing.

One folder a document: `document.toml` names it and lists its files; each file holds `[[table]]`, `[[relation]]`,
`[[claim]]`, `[[catalogue]]` and `[[uncovered]]` blocks whose keys are the fields of `Table`, `Relation`, `Claim`,
`Catalogue` and `Uncovered`.
"""

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from cloudcmp.errors import UserMistake
from cloudcmp.published.document import Catalogue, Claim, Document, Relation, Table, Uncovered


def documents() -> tuple[str, ...]:
    """The names of the stored documents, in alphabetical order."""
    folders = resources.files(__package__).iterdir()
    return tuple(sorted(_name(folder) for folder in folders if folder.joinpath("document.toml").is_file()))


def load(name: str) -> Document:
    """The document of a name; raises UserMistake if there is none."""
    known = documents()
    if name not in known:
        raise UserMistake.at("", f"no published document {name!r}", f"there are: {', '.join(known)}")
    folder = resources.files(__package__).joinpath(name.replace("-", "_"))
    head = _read(folder, "document.toml")
    kinds = ("table", "relation", "claim", "catalogue", "uncovered")
    blocks: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for file in head.pop("files"):
        for kind, found in _read(folder, file).items():
            blocks[kind].extend(found)
    return Document(
        name=name,
        tables=tuple(Table(**_frozen(block)) for block in blocks["table"]),
        relations=tuple(Relation(**_frozen(block)) for block in blocks["relation"]),
        claims=tuple(Claim(**_frozen(block)) for block in blocks["claim"]),
        catalogues=tuple(Catalogue(**_frozen(block)) for block in blocks["catalogue"]),
        uncovered=tuple(Uncovered(**block) for block in blocks["uncovered"]),
        **{"year": None, **head},
    )


def _name(folder: Traversable) -> str:
    return folder.name.replace("_", "-")


def _read(folder: Traversable, file: str) -> dict[str, Any]:
    return tomllib.loads(folder.joinpath(file).read_text(encoding="utf-8"))


def _frozen(block: dict[str, Any]) -> dict[str, Any]:
    return {key: _tuple(value) for key, value in block.items()}


def _tuple(value: Any) -> Any:
    return tuple(_tuple(item) for item in value) if isinstance(value, list) else value
