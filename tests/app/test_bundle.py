"""Bundles: complete, true to the study, the same bytes again, and refused when one byte was changed."""

import hashlib
import json
from pathlib import Path

import pytest

from cloudcmp.app.bundle import export_bundle
from cloudcmp.app.export import export
from cloudcmp.app.import_ import import_files
from cloudcmp.app.study_view import view
from cloudcmp.app.tool_files import ImportOptions
from cloudcmp.errors import CorruptStore, UserMistake
from cloudcmp.report.citation import Citation
from tests.cli.command import cloudcmp
from tests.late import Late
from tests.made_once import run_once

yaml = Late("ruamel.yaml")

STUDY = """\
schema: 1
question: Which is fast enough?
candidates:
  - {provider: simulated, region: nimbus, offering: small, price: 0.10 USD/h}
  - {provider: simulated, region: stratus, match: {vcpus: 2, memory_gib: 4}, price: 0.15 USD/h}
probes:
  - {probe: fma, params: {threads: one}}
  - {probe: scaling}
launches: 6
runs: 2
seed: 77
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_once(tmp_path_factory, "for-bundles", STUDY)


@pytest.fixture
def bundle(measured: Path, tmp_path: Path) -> Path:
    export_bundle(measured, tmp_path / "bundle", ["Doe, Jane", "A Team"])
    return tmp_path / "bundle"


def test_every_file_is_described_with_its_size_and_digest(bundle: Path) -> None:
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    resources = {one["path"]: one for one in package["resources"]}
    assert {*resources, "datapackage.json"} == {path.name for path in bundle.iterdir()}
    for name, one in resources.items():
        content = (bundle / name).read_bytes()
        assert one["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert one["bytes"] == len(content)
    assert package["contributors"][0] == {"title": "Doe, Jane", "roles": ["author"]}


def test_the_schema_names_the_columns_of_the_table(bundle: Path) -> None:
    import pyarrow.parquet as pq

    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    (table,) = [one for one in package["resources"] if "schema" in one]
    fields = table["schema"]["fields"]
    found = pq.read_schema(bundle / table["path"])
    assert [one["name"] for one in fields] == found.names
    kinds = {"string": "string", "number": "double", "integer": "int64", "datetime": "string"}
    for one in fields:
        kind = str(found.field(one["name"]).type)
        assert kind in {kinds[one["type"]], f"large_{kinds[one['type']]}"} or kind.startswith(("decimal", "dict"))


def test_an_imported_bundle_exports_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    again = import_files([str(bundle)], tmp_path / "again", None, ImportOptions())
    export(again.folder, tmp_path / "again.parquet", None)
    assert (tmp_path / "again.parquet").read_bytes() == (bundle / "values.parquet").read_bytes()
    assert view(again.folder).plan.question == "Which is fast enough?"


def test_a_study_gives_the_same_bundle_twice(measured: Path, bundle: Path, tmp_path: Path) -> None:
    export_bundle(measured, tmp_path / "second", ["Doe, Jane", "A Team"])
    for path in bundle.iterdir():
        assert (tmp_path / "second" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("name", ["values.parquet", "METHODS.md", "plan.json"])
def test_a_changed_byte_is_found_on_import(bundle: Path, tmp_path: Path, name: str) -> None:
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(content)
    with pytest.raises(CorruptStore, match=f"{name}: differs from its digest"):
        import_files([str(bundle)], tmp_path / "again", None, ImportOptions())


def test_a_missing_file_and_one_elsewhere_are_refused(bundle: Path, tmp_path: Path) -> None:
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    package["resources"][1]["path"] = "../study.yaml"
    (bundle / "METHODS.md").unlink()
    with pytest.raises(CorruptStore, match="is missing"):
        import_files([str(bundle)], tmp_path / "again", None, ImportOptions())
    (bundle / "datapackage.json").write_text(json.dumps(package), encoding="utf-8")
    with pytest.raises(UserMistake, match="is no package of cloudcmp"):
        import_files([str(bundle)], tmp_path / "again", None, ImportOptions())


def test_a_folder_with_content_is_not_touched(measured: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserMistake, match="is there already"):
        export_bundle(measured, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_methods_count_what_the_study_did(bundle: Path) -> None:
    text = (bundle / "METHODS.md").read_text(encoding="utf-8")
    for words in ("All values are simulated", "2 candidates were measured", "6 rounds", "(seed 77)",
                  "12 launches began", "2 probes (", "ran 2 times", "Holm-corrected over "):  # fmt: skip
        assert words in text
    plan = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))
    assert plan["seed"] == 77
    assert f"{len(plan['trials'])} of {len(plan['trials'])} trials" in text
    assert "0.10,USD" in (bundle / "prices.csv").read_text(encoding="utf-8")
    assert (bundle / "study.yaml").read_text(encoding="utf-8") == STUDY


def test_the_citation_is_yaml_with_its_authors(bundle: Path) -> None:
    cff = yaml.YAML(typ="safe").load((bundle / "CITATION.cff").read_text(encoding="utf-8"))
    assert cff["cff-version"] == "1.2.0"
    assert cff["authors"] == [{"family-names": "Doe", "given-names": "Jane"}, {"name": "A Team"}]
    assert "date-released" not in cff  # a virtual day is no day
    assert "author = {Doe, Jane and A Team}" in (bundle / "citation.bib").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ['a "quoted" title: #1 & 5 % of {all} \\ them', "ä\nline", "- dash", "@x{y}"])
def test_titles_are_quoted_in_both_forms(text: str) -> None:
    one = Citation(text, (), 1_700_000_000.0, "0.1.0", simulated=False)
    cff = yaml.YAML(typ="safe").load(one.cff())
    assert (cff["title"], cff["authors"], str(cff["date-released"])) == (text, [{"name": "anonymous"}], "2023-11-14")
    body = one.bibtex()
    depth = 0
    for at, letter in enumerate(body):
        depth += {"{": 1, "}": -1}.get(letter, 0) if body[at - 1] != "\\" else 0
        assert depth >= 0
    assert depth == 0
    assert "year = {2023}" in body


def test_an_anonymous_bundle_of_a_measured_study_names_none_of_its_clouds(measured: Path, tmp_path: Path) -> None:
    written = export_bundle(measured, tmp_path / "b", anonymise=True)
    assert "study.yaml" not in written.files
    for path in (tmp_path / "b").iterdir():
        text = path.read_bytes().decode(errors="replace")
        assert not any(name in text for name in ("nimbus", "stratus", "small")), path.name
    assert "All values are simulated" in (tmp_path / "b" / "METHODS.md").read_text(encoding="utf-8")


def test_options_of_a_table_do_not_fit_a_bundle(measured: Path, tmp_path: Path) -> None:
    done = cloudcmp("export", measured, "--bundle", tmp_path / "b", "--out", tmp_path / "t.csv")
    assert (done.code, done.err) == (2, "--bundle: a bundle is a folder of its own; leave out --out and --format\n")
    done = cloudcmp("export", measured, "--author", "Me")
    assert done.code == 2
