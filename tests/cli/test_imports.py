"""What each verb loads: libraries that take long come only where their work is done."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from .command import cloudcmp

# What takes a tenth of a second or more to load, but for rich and pydantic, which typer loads itself. The clouds' own
# libraries come with a sign of credentials, which a rented machine gives by being one. `scipy.stats` takes two seconds,
# `scipy.special` a quarter of one.
LONG = {
    "numpy", "scipy", "scipy.stats", "pandas", "duckdb", "pyarrow", "pyarrow.dataset", "ruamel.yaml", "vl_convert",
    "jinja2", "asyncssh", "httpx",
}  # fmt: skip
# A stand-in, because pyarrow loads pandas where that is installed, and it need not be here.
PANDAS = "raise RuntimeError('pandas was loaded')\n"
SCRIPT = (
    "import sys\nfrom cloudcmp.cli.entry import main\n"
    "for line in sys.argv[1:]:\n"
    "    sys.argv[1:] = line.split('\\n')\n"
    "    try:\n        main()\n    except SystemExit as done:\n        assert not done.code, done.code\n"
    "    finally:\n        print(*sorted(sys.modules), file=sys.stderr)"
)


def loaded(*arguments: str, home: Path) -> set[str]:
    """Which of the long ones a command loads, in an empty home."""
    return loaded_by(arguments, home=home)[-1]


def loaded_by(*commands: Sequence[str], home: Path) -> list[set[str]]:
    """Which of the long ones are loaded after each of some commands, run in one process one after the other."""
    (home / "pandas.py").write_text(PANDAS, encoding="utf-8")
    paths = os.pathsep.join(filter(None, (str(home), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"HOME": str(home), "XDG_DATA_HOME": str(home), "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map("\n".join, commands)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = [set(line.split()) for line in done.stderr.splitlines()]
    return [LONG & names for names in said if "cloudcmp.cli.entry" in names]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported study of two candidates."""
    folder = tmp_path_factory.mktemp("imported")
    rows = [f"{name},ops_per_s,op/s,higher,{100 + at},{at}" for name in ("a", "b") for at in range(1, 7)]
    table = folder / "table.csv"
    table.write_text("\n".join(["offering,metric,unit,better,value,round", *rows]), encoding="utf-8")
    assert cloudcmp("import", table, "--out", folder / "study").code == 0
    return folder / "study"


def test_lists_load_nothing_that_computes(tmp_path: Path) -> None:
    kinds = ("providers", "offerings", "prices", "probes", "suites", "metrics", "tools", "studies")
    found = dict(zip(kinds, loaded_by(*(("list", kind) for kind in kinds), home=tmp_path), strict=True))
    assert found.pop("studies") <= {"numpy"}
    assert not any(found.values()), found


def test_published_prices_are_computed_without_any_table_on_disk(tmp_path: Path) -> None:
    assert loaded("list", "prices", "deval-2017", home=tmp_path) == {"numpy", "scipy"}


def test_a_plan_loads_no_engine(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "schema: 1\nquestion: which?\nprobes: [{probe: fma}]\ncandidates:\n"
        "  - {provider: simulated, region: nimbus, offering: small}\n",
        encoding="utf-8",
    )
    assert loaded("plan", str(study), home=tmp_path) == {"numpy", "ruamel.yaml", "scipy"}


def test_an_imported_study_is_compared_without_duckdb_and_pandas(imported: Path, tmp_path: Path) -> None:
    assert loaded("compare", str(imported), home=tmp_path) == {"numpy", "pyarrow", "scipy"}


def test_a_table_is_followed_without_duckdb_and_what_draws(tmp_path: Path) -> None:
    rows = [f"a,ops_per_s,op/s,higher,{100 + at},2026-01-{at + 1:02d}T00:00:00Z" for at in range(12)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["offering,metric,unit,better,value,time", *rows]), encoding="utf-8")
    assert loaded("history", str(table), home=tmp_path) == {"numpy", "pyarrow", "scipy"}


def test_a_measured_study_is_compared_without_what_draws(measured: Path, tmp_path: Path) -> None:
    assert loaded("compare", str(measured), home=tmp_path) == {"duckdb", "numpy", "pyarrow", "scipy"}
