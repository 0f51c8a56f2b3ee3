"""The scenario of the page on simulated worlds gives what the page shows; the reference names every key."""

from pathlib import Path

from tests.cli.command import cloudcmp
from tests.docs.pages import DOCS, blocks

from cloudcmp.study import scenario_shape as shapes

PAGE = DOCS / "how-to" / "simulate.md"
SHAPES = (
    shapes.ScenarioShape, shapes.BaseShape, shapes.CentreShape, shapes.GroupingShape, shapes.WorkShape,
    shapes.MeasuredShape, shapes.MatrixShape, shapes.SearchShape, shapes.VariantShape, shapes.PublishedShape,
)  # fmt: skip


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    shown = list(blocks(PAGE))
    text = next(block.text for block in shown if block.info == "scenario shop.yaml")
    (tmp_path / "shop.yaml").write_text(text, encoding="utf-8")
    printed = next(block.text for block in shown if block.info == "console")
    command, _, rest = printed.partition("\n")
    done = cloudcmp(*command.split()[2:], cwd=tmp_path)
    assert done.code == 0, done.err
    assert [line.rstrip() for line in done.out.splitlines()] == rest.splitlines()


def test_the_reference_names_every_key() -> None:
    page = (DOCS / "reference" / "scenario-file.md").read_text(encoding="utf-8")
    keys = {field.alias or name for shape in SHAPES for name, field in shape.model_fields.items()}
    assert {key for key in keys if key not in page} == set()
