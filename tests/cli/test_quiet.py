"""`--quiet` leaves out progress, and nothing else."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.cli.main import build
from cloudcmp.model.inventory import Inventory
from cloudcmp.model.leftover import SweepResult

from .command import cloudcmp
from .conftest import SMALL


def test_a_quiet_run_tells_only_what_failed(tmp_path: Path) -> None:
    loud = cloudcmp("run", SMALL, "--out", "AAAA", cwd=tmp_path, COLUMNS="100")
    quiet = cloudcmp("run", SMALL, "--out", "BBBB", "--quiet", cwd=tmp_path, COLUMNS="100")
    assert (quiet.code, quiet.out) == (loud.code, loud.out.replace("AAAA", "BBBB"))
    steps = re.compile(r"\d+ trials\b|round \d+: |comparing, and writing")
    assert steps.match(loud.err)
    assert "failed: " in quiet.err
    assert quiet.err.splitlines() == [line for line in loud.err.splitlines() if not steps.match(line)]


def test_a_quiet_live_check_tries_the_same_promises(tmp_path: Path) -> None:
    loud, quiet = (cloudcmp("check", "--live", "simulated", *more, cwd=tmp_path) for more in ((), ("--quiet",)))
    assert "trying 1 of" in loud.err
    assert (quiet.code, quiet.err) == (loud.code, "")
    moments = re.compile(r"\d{8}T\d{6}Z")
    assert moments.sub("then", quiet.out) == moments.sub("then", loud.out)


def test_faults_stay(tmp_path: Path) -> None:
    for words in (("run", "--resume", "nowhere"), ("cleanup", "nowhere"), ("sweep", "clout"), ("list", "metrics", "x")):
        loud, quiet = cloudcmp(*words, cwd=tmp_path), cloudcmp(*words, "--quiet", cwd=tmp_path)
        assert loud.code == 2
        assert quiet == loud


@pytest.mark.parametrize(
    ("words", "target", "result", "name"),
    [
        (("sweep",), "cloudcmp.app.sweep.sweep_providers", SweepResult(), "say"),
        (("fetch", "libcloud"), "cloudcmp.app.fetch.fetch", (), "progress"),
        (("list", "providers"), "cloudcmp.app.list_.inventory", Inventory("providers", ()), 2),
        (("check", "simulated"), "cloudcmp.app.check.preflight.check_providers", None, 1),
    ],
)
def test_steps_of_a_quiet_verb_are_heard_by_nobody(
    words: tuple[str, ...], target: str, result: Any, name: str | int,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    async def none_checked() -> tuple[()]:
        return ()

    def stands_in(*given: Any, **named: Any) -> Any:
        step: Callable[[str], None] | None = given[name] if isinstance(name, int) else named[name]
        if step is not None:
            step("waiting for a provider")
        return none_checked() if result is None else result

    monkeypatch.setattr(target, stands_in)
    heard = []
    for more in ((), ("--quiet",)):
        build()(args=[*words, *more], standalone_mode=False)
        heard.append(capsys.readouterr().err)
    assert heard == ["waiting for a provider\n", ""]
