"""A study folder from a stranger, whose links and ledger point at what is the user's own."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forged import as_a_stranger_made_it, forget_trials, own_seals, revive_lease

from .command import Said, cloudcmp

STUDY = """\
schema: 1
question: How fast is this machine?
candidates: [{provider: local, offering: 1cpu}]
probes: [{probe: fma, params: {duration_s: "0.1"}}]
launches: 1
runs: 1
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, agent: Path) -> Path:
    """A small study that was measured on this machine."""
    place = tmp_path_factory.mktemp("own")
    (place / "own.yaml").write_text(STUDY)
    said = cloudcmp("run", place / "own.yaml", "--out", place / "study")
    assert said.code == 0, said.err
    return place / "study"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with documents, in which a process works that has no terminal."""
    documents = tmp_path / "home" / "Documents"
    documents.mkdir(parents=True)
    (documents / "letter.txt").write_text("dear")
    with subprocess.Popen(["sleep", "600"], cwd=documents, start_new_session=True) as bystander:
        yield tmp_path / "home"
        assert bystander.poll() is None, "the bystander was killed"
        bystander.kill()
    assert (documents / "letter.txt").read_text() == "dear"
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["Documents"]
    assert [path.name for path in documents.iterdir()] == ["letter.txt"]


@pytest.fixture(params=["work/launches", "work", "work/launches/Documents"])
def forged(request: pytest.FixtureRequest, own: Path, home: Path, tmp_path: Path) -> Path:
    """The study with a link to the home, and a live lease of the documents in it."""
    folder = tmp_path / "study"
    shutil.copytree(own, folder)
    link = folder / request.param
    if link.is_dir():
        shutil.rmtree(link)
    link.symlink_to(home / "Documents" if link.name == "Documents" else home)
    if link.name == "work":  # the folder of launches lies in the home then
        link.unlink()
        (tmp_path / "around").mkdir()
        (tmp_path / "around" / "launches").symlink_to(home)
        link.symlink_to(tmp_path / "around")
    revive_lease(folder, "Documents", own_seals(folder))  # as if the signature had not stopped it
    return folder


def _is_told(said: Said, folder: Path) -> bool:
    lines = said.err.splitlines()
    by_link = any(str(folder / "work") in line and "link" in line for line in lines)
    by_list = any(line.startswith("left: local/local instance Documents: it is not listed") for line in lines)
    return (by_link or by_list) and "Traceback" not in said.err


def test_cleanup_destroys_nothing_through_a_link(forged: Path) -> None:
    said = cloudcmp("cleanup", forged)
    assert said.code == 3
    assert "0 destroyed" in said.out
    assert _is_told(said, forged), said.err


def test_a_study_is_not_gone_on_with_through_a_link(forged: Path) -> None:
    forget_trials(forged)
    said = cloudcmp("run", "--resume", forged)
    assert said.code == 3
    assert _is_told(said, forged), said.err


@pytest.mark.parametrize("words", [["cleanup"], ["run", "--resume"]])
def test_a_strangers_study_is_refused_before_anything_is_looked_at(words: list[str], forged: Path) -> None:
    as_a_stranger_made_it(forged)
    said = cloudcmp(*words, forged)
    assert (said.code, said.out) == (2, "")
    assert "Documents" in said.err


@pytest.mark.parametrize("name", ["report.html", ".report.html.part", "report.html.new"])
def test_a_report_is_not_written_through_a_link(measured: Path, tmp_path: Path, name: str) -> None:
    folder, victim = tmp_path / "study", tmp_path / ".bashrc"
    shutil.copytree(measured, folder)
    (folder / "report.html").unlink()
    victim.write_text("alias ll='ls -l'\n")
    (folder / name).symlink_to(victim)
    said = cloudcmp("report", folder)
    assert said.code == 0, said.err
    assert victim.read_text() == "alias ll='ls -l'\n"
    assert not (folder / "report.html").is_symlink()
    assert "</html>" in (folder / "report.html").read_text()
