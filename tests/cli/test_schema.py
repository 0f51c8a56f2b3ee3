"""`cloudcmp schema`, and the line and file with which `start` helps editors."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from cloudcmp.store import StudyStore
from cloudcmp.study.faults import Faults
from cloudcmp.study.tree import read_tree

from .command import cloudcmp
from .test_start import said

LINE = "# yaml-language-server: $schema="


def test_the_schema_is_printed_or_written(tmp_path: Path) -> None:
    printed = cloudcmp("schema", cwd=tmp_path)
    assert printed.code == 0
    schema = json.loads(printed.out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for _ in range(2):  # an earlier schema is replaced
        written = cloudcmp("schema", "--out", "study.json", cwd=tmp_path)
        assert (written.code, written.out) == (0, "study.json\n")
        assert json.loads((tmp_path / "study.json").read_text(encoding="utf-8")) == schema
    assert cloudcmp("schema", "--out", "/dev/stdout", cwd=tmp_path).out == printed.out
    assert cloudcmp("schema", "--json", cwd=tmp_path).json["data"] == schema
    assert cloudcmp("schema", "--json", "--out", "study.json", cwd=tmp_path).json["data"] == {"path": "study.json"}


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"title": "mine"}')
    refused = cloudcmp("schema", "--out", "mine.json", cwd=tmp_path)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "is no schema of cloudcmp" in refused.err
    assert (tmp_path / "mine.json").read_text() == '{"title": "mine"}'


@pytest.mark.parametrize("place", ["first.yaml", "sub/first.yaml"])
def test_a_first_study_names_a_schema_that_accepts_it(tmp_path: Path, place: str) -> None:
    begun = said(tmp_path, "start", "--yes", "--out", place)
    assert begun.code == 0, begun.err
    path = tmp_path / place
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith(LINE)
    named = path.parent / first.removeprefix(LINE)
    assert f"written: {named.relative_to(tmp_path)}, with which editors" in " ".join(begun.out.split())
    validator = Draft202012Validator(json.loads(named.read_text(encoding="utf-8")))
    assert validator.is_valid(read_tree(path.read_bytes(), Faults(place)).data)


def test_the_line_for_editors_is_not_stored_and_changes_no_plan(tmp_path: Path) -> None:
    assert said(tmp_path, "start", "--yes", "--matters", "memory", "--out", "first.yaml").code == 0
    path = tmp_path / "first.yaml"
    for folder in ("a", "b"):
        ran = said(tmp_path, "run", "first.yaml", "--on", "simulated", "--out", folder)
        assert ran.code == 0, ran.err
        _, _, rest = path.read_text(encoding="utf-8").partition("\n")
        path.write_text(f"# another line\n{rest}", encoding="utf-8")
    with StudyStore.open(tmp_path / "a", write=False) as a, StudyStore.open(tmp_path / "b", write=False) as b:
        assert "yaml-language-server" not in a.study_text
        assert a.study_text == b.study_text
        assert a.tag == b.tag


def test_a_file_of_the_users_own_is_kept_and_the_study_is_written(tmp_path: Path) -> None:
    (tmp_path / "cloudcmp.schema.json").write_text("mine")
    begun = said(tmp_path, "start", "--yes")
    assert begun.code == 0, begun.err
    assert "editors cannot check it: cloudcmp.schema.json: is there already" in " ".join(begun.out.split())
    assert (tmp_path / "cloudcmp.schema.json").read_text() == "mine"
    assert (tmp_path / "start.yaml").is_file()
