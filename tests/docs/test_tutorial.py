"""Pages that can be followed at any desk, typed from top to bottom."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.docs.pages import DOCS, blocks
from tests.emulated.guests import missing
from tests.slices import WHOLE, long

from cloudcmp.cli.entry import main
from cloudcmp.provider.registry import make
from cloudcmp.study.faults import Faults
from cloudcmp.study.tree import read_tree


class Reader:
    """Follows a page in an empty folder: saves the files that it shows and types its commands."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.chdir(folder)
        self.folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def follows(self, page: Path, wanted: Callable[[set[str]], bool]) -> int:
        """Do what a page says, as far as the words of a command are wanted; returns how many were typed."""
        largest = make("local").offerings()[-1].name
        shown = list(blocks(page))
        for block in shown:
            kind, _, name = block.info.partition(" ")
            if kind in {"yaml", "csv"} and name:
                text = block.text.replace("2cpu", largest)  # as the tutorial says to do where there is no 2cpu
                if not WHOLE:  # one boot shows what twelve do
                    text = text.replace("launches: 6", "launches: 1")
                (self.folder / name).write_text(text, encoding="utf-8")
        lines = [line.partition("|")[0] for block in shown if block.info == "sh" for line in block.text.splitlines()]
        typed = [shlex.split(line)[1:] for line in lines if line.startswith("cloudcmp ")]
        kept = [words for words in typed if wanted(set(words))]
        for words in kept:
            self._types(words)
        return len(kept)

    def _types(self, words: list[str]) -> None:
        # What measures for real is kept short, because other tests share the machine.
        real = words[0] == "run" and "--on" not in words and "--resume" not in words
        self._monkeypatch.setattr(sys, "argv", ["cloudcmp", *words, *(["--short"] if real else [])])
        with pytest.raises(SystemExit) as ended:
            main()
        told = self._capsys.readouterr()
        assert ended.value.code == 0, f"{' '.join(words)}: {told.err}"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Reader:
    return Reader(tmp_path, monkeypatch, capsys)


# Folders of the tutorial and what it asks of virtual machines; the demonstration, whose folder is called `first`, is
# driven whole by tests of its own.
GUESTS = {"guests", "qemu"}


def test_the_tutorial_can_be_followed(reader: Reader) -> None:
    assert reader.follows(DOCS / "tutorial.md", lambda words: not words & {"first", *GUESTS}) > 11
    assert (reader.folder / "mine" / "report.html").is_file()
    assert (reader.folder / "guests-simulated" / "report.html").is_file()
    assert (reader.folder / "mine.csv").read_text(encoding="utf-8").startswith("provider,")
    assert list((reader.folder / "figures").glob("*.svg"))


@long
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_its_guests_are_real(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(reader.folder / "state"))
    assert reader.follows(DOCS / "tutorial.md", lambda words: bool(words & GUESTS)) == 5
    assert (reader.folder / "guests" / "report.html").is_file()
    assert list((reader.folder / "state" / "cloudcmp" / "qemu").glob("vm-*")) == []


def test_an_editor_is_given_a_schema_as_described(reader: Reader) -> None:
    page = DOCS / "how-to" / "write-a-study.md"
    assert reader.follows(page, lambda words: bool(words & {"schema", "edited.yaml"})) == 2
    first = (reader.folder / "edited.yaml").read_text(encoding="utf-8").partition("\n")[0]
    named = reader.folder / first.removeprefix("# yaml-language-server: $schema=")
    schema = json.loads(named.read_text(encoding="utf-8"))
    study = read_tree((reader.folder / "edited.yaml").read_bytes(), Faults("edited.yaml")).data
    assert Draft202012Validator(schema).is_valid(study)
    assert not Draft202012Validator(schema).is_valid({**study, "lunches": 6})


def test_candidates_can_be_followed_over_time_as_described(reader: Reader) -> None:
    page = DOCS / "how-to" / "follow-over-time.md"
    assert reader.follows(page, lambda words: not words & {"--until", "--timer"}) == 5  # a short study has no days
    assert (reader.folder / "january.svg").is_file()


def test_a_table_can_be_imported_as_described(reader: Reader) -> None:
    assert reader.follows(DOCS / "how-to" / "import-other-tools.md", lambda words: True) > 4
    assert (reader.folder / "imported" / "report.html").is_file()
    assert (reader.folder / "back.parquet").is_file()
