"""The other faces of `compare`: an exit code, Markdown, every pair; and words that the shell completes."""

from pathlib import Path

import pytest

from tests.cli.command import cloudcmp, installed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven offerings, each a tenth better than the one before it; two measurements."""
    folder = tmp_path_factory.mktemp("table")
    wobble = (1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.002, 0.998)
    rows = [f"o{name},{metric},u,{better},{factor**name * wobble[(at + name) % 8] * 100:.4f},{at}"
            for metric, better, factor in (("rate", "higher", 1.1), ("delay", "lower", 1 / 1.1))
            for name in range(7) for at in range(8)]  # fmt: skip
    path = folder / "t.csv"
    path.write_text("offering,metric,unit,better,value,round\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert cloudcmp("import", path, "--out", folder / "study").code == 0
    return folder / "study"


@pytest.mark.parametrize(
    ("requirement", "code", "words"),
    [
        ("o1 not worse than o0 by 5 %", 0, "holds: rate: "),
        ("o1 better than o0", 0, "holds: delay: "),
        ("o0 not worse than o1 by 5 %", 1, "fails: rate: "),
        ("o1 same as o0 by 9.9 % in rate", 1, "cannot tell: rate: "),
        ("o6 better than o0 by 50 % in rate", 0, "holds: rate: "),
    ],
)
def test_a_requirement_is_an_exit_code(table: Path, requirement: str, code: int, words: str) -> None:
    done = cloudcmp("compare", table, "--assert", requirement)
    assert done.code == code, done.out
    assert words in done.out
    data = cloudcmp("compare", table, "--assert", requirement, "--json").json["data"]
    assert (data["holds"] is True) is (code == 0)
    assert len(data["measurements"]) == (1 if " in " in requirement else 2)


@pytest.mark.parametrize(
    ("requirement", "why"),
    [
        ("nothing", "'nothing' is no requirement; write e.g."),
        ("o1 better than o9", "the study has no candidate 'o9'; nearest: o"),
        ("o1 better than o1", "'o1' is both candidates; name two"),
        ("o1 better than o0 in none", "the study has no cell 'none'"),
    ],
)
def test_what_cannot_be_judged_is_one_line(table: Path, requirement: str, why: str) -> None:
    done = cloudcmp("compare", table, "--assert", requirement)
    assert done.code == 2
    assert why in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_markdown_is_printed_whole(table: Path) -> None:
    done = cloudcmp("compare", table, "--markdown")
    assert done.code == 0
    assert "| measurement | best | next against the best |" in done.out
    assert cloudcmp("compare", table, "--markdown", "--json").code == 2


def test_every_pair_is_asked_for_on_demand(table: Path) -> None:
    def verdicts(*more: str) -> list[str]:
        data = cloudcmp("compare", table, *more, "--json").json["data"]
        return [one["p_adjusted"] for one in data["comparisons"]]

    best, every = verdicts(), verdicts("--all-pairs")
    assert len(best) == len(every) == 42
    assert sum(best) < sum(every)


def test_the_shell_completes_verbs() -> None:
    done = installed(_CLOUDCMP_COMPLETE="complete_bash", COMP_WORDS="cloudcmp re", COMP_CWORD="1")
    assert done.out.split() == ["recommend", "regions", "report", "reconcile"]
