"""Drawings take their font from memory, wherever the machine has the same one in a file."""

import os
from pathlib import Path

import pytest

from cloudcmp.report.charts import fonts


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_folders_with_the_font_are_left_out_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path, "truetype/liberation/LiberationSans-Bold.ttf", "truetype/liberation/deep/Other.ttf",
        "truetype/noto/Noto.ttf", "opentype/a/b/C.otf")  # fmt: skip
    deep = tmp_path / "truetype/liberation/deep"
    assert fonts.folders_without(tmp_path) == [tmp_path / "opentype", deep, tmp_path / "truetype/noto"]
    assert fonts.folders_without(tmp_path / "none") == []
    assert fonts.folders_without(tmp_path / "opentype") == [tmp_path / "opentype"]


def test_the_list_names_the_other_folders_and_goes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "liberation/LiberationSans-Regular.ttf", "a & b/Other.ttf")
    monkeypatch.delenv("FONTCONFIG_FILE", raising=False)
    monkeypatch.setattr(fonts, "_FOLDERS", (str(tmp_path),))
    with fonts.own_font_only_in_memory():
        listed = Path(os.environ["FONTCONFIG_FILE"])
        assert f"<dir>{tmp_path}/a &amp; b</dir>" in listed.read_text()
        assert "liberation" not in listed.read_text()
    assert "FONTCONFIG_FILE" not in os.environ
    assert not listed.exists()


def test_nothing_changes_without_the_font_or_with_a_list_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "noto/Noto.ttf")
    monkeypatch.setattr(fonts, "_FOLDERS", (str(tmp_path), str(tmp_path / "none")))
    monkeypatch.delenv("FONTCONFIG_FILE", raising=False)
    with fonts.own_font_only_in_memory():
        assert "FONTCONFIG_FILE" not in os.environ
    put(tmp_path, "liberation/LiberationSans-Regular.ttf")
    monkeypatch.setenv("FONTCONFIG_FILE", "/mine")
    with fonts.own_font_only_in_memory():
        assert os.environ["FONTCONFIG_FILE"] == "/mine"
    assert os.environ["FONTCONFIG_FILE"] == "/mine"
