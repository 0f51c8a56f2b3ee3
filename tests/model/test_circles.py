"""The files of the model import each other in one direction only, also for type checks."""

import ast
from pathlib import Path

import cloudcmp.model

FOLDER = Path(cloudcmp.model.__file__).parent
PACKAGE = "cloudcmp.model"


def imports_of(source: str) -> set[str]:
    """The files of the model that a source imports, under TYPE_CHECKING too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            found.add((node.module or "").split(".")[2])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[2] for alias in node.names if alias.name.startswith(f"{PACKAGE}."))
    return found


def circle_in(imports: dict[str, set[str]]) -> list[str]:
    """The files that cannot be ordered because they import each other, directly or not; empty if there are none."""
    left = dict(imports)
    while ready := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in ready:
            del left[name]
    return sorted(left)


def test_the_files_of_the_model_import_each_other_in_no_circle() -> None:
    imports = {file.stem: imports_of(file.read_text()) for file in FOLDER.glob("*.py")}
    assert imports["lease"] >= {"offering", "remote"}  # the script finds imports at all
    assert circle_in(imports) == []


def test_a_circle_is_found_also_under_type_checking() -> None:
    hidden = "if TYPE_CHECKING:\n    from cloudcmp.model.lease import Lease\n"
    assert imports_of(hidden) == {"lease"}
    assert circle_in({"lease": {"remote"}, "remote": {"lease"}, "plan": {"lease"}, "cell": set()}) == [
        "lease",
        "plan",
        "remote",
    ]
