"""A report under a limit on addresses, as login nodes set it: written, or refused in one line, never a stack trace."""

import subprocess
from pathlib import Path

import pytest

from tests.slices import long, some

from .command import COMMAND, Said, installed


def limited(limit: str, *arguments: object) -> Said:
    """Run the command in a shell that set a limit, in KiB, before."""
    line = f'ulimit {limit}; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", line, "-", COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


@long
def test_too_few_addresses_are_told_in_one_line(measured: Path, tmp_path: Path) -> None:
    said = limited(f"-v {20 * 2**20}", "report", measured, "--out", tmp_path / "r.html")
    assert said.code == 3
    what = "cloudcmp report: figures cannot be drawn with an address limit of 20480 MiB"
    assert said.err == f"{what}; allow 72 GiB of addresses (ulimit -v); they use no memory\n"
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def unlimited(measured: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report and the figures of a command without a limit."""
    folder = tmp_path_factory.mktemp("unlimited")
    said = installed("report", measured, "--out", folder / "r.html", "--figures", folder / "some")
    assert said.code == 0, said.err
    return folder


@long
@pytest.mark.parametrize("limit", some([f"-v {100 * 2**20}", f"-S -v {20 * 2**20}"], 1, 1))
def test_with_enough_of_them_the_report_is_the_same(
    limit: str, measured: Path, unlimited: Path, tmp_path: Path
) -> None:
    """Enough is also a limit that may be raised for the process that draws."""
    said = limited(limit, "report", measured, "--out", tmp_path / "r.html", "--figures", tmp_path / "some")
    assert (said.code, said.err) == (0, "")
    assert (tmp_path / "r.html").read_bytes() == (unlimited / "r.html").read_bytes()
    for path in (tmp_path / "some").iterdir():
        assert path.read_bytes() == (unlimited / "some" / path.name).read_bytes()
