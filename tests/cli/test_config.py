"""`cloudcmp config`, and the verbs that follow the settings."""

from pathlib import Path

import pytest

from tests.cost.served import Sources, served

from .command import Said, cloudcmp
from .conftest import SMALL, TINY

VERBS = (
    ("config",),
    ("config", "currency"),
    ("run", str(SMALL)),
    ("demo",),
    ("import", "table.csv"),
    ("check", "--live", "simulated"),
    ("list", "offerings"),
    ("list", "prices", "--vcpus", "2"),
    ("list", "studies"),
    ("fetch", "aws"),
    ("run", "--resume", "x", "--budget", "5"),
    ("start", "--yes", "--budget", "5"),
)


def said(folder: Path, *words: str | Path) -> Said:
    return cloudcmp(*words, cwd=folder, CLOUDCMP_CONFIG=str(folder / "config.toml"), AWS_EC2_METADATA_DISABLED="true")


def test_settings_are_shown_set_and_unset(tmp_path: Path) -> None:
    shown = said(tmp_path, "config")
    assert shown.code == 0
    assert "cloudcmp-studies" in shown.out
    assert shown.out.count("default") == 3
    assert f"file: {tmp_path / 'config.toml'}, which does not exist" in shown.out.replace("\n", " ")
    assert said(tmp_path, "config", "currency", "EUR").out.split("\n")[1].split() == ["currency", "EUR", "file"]
    assert said(tmp_path, "config", "regions", "aws/eu-central-1", "simulated/nimbus").code == 0
    assert said(tmp_path, "config", "--json").json["data"] == {
        "file": str(tmp_path / "config.toml"),
        "settings": [
            {"key": "out", "value": "cloudcmp-studies", "from": "default"},
            {"key": "regions", "value": ["aws/eu-central-1", "simulated/nimbus"], "from": "file"},
            {"key": "currency", "value": "EUR", "from": "file"},
        ],
    }
    unset = said(tmp_path, "config", "--unset", "currency", "--json")
    assert unset.json["data"]["settings"] == [{"key": "currency", "value": None, "from": "default"}]
    assert "currency" not in (tmp_path / "config.toml").read_text()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("size",), "unknown setting 'size'"),
        (("curency", "EUR"), "nearest: currency"),
        (("currency", "EURO"), "is no currency"),
        (("currency", "EUR", "USD"), "takes one value"),
        (("--unset", "size"), "unknown setting 'size'"),
        (("currency", "--unset", "currency"), "removes one setting"),
    ],
)
def test_a_wrong_word_is_one_line_and_writes_nothing(words: tuple[str, ...], what: str, tmp_path: Path) -> None:
    told = said(tmp_path, "config", *words)
    assert (told.code, told.err.count("\n"), told.out) == (2, 1, "")
    assert what in told.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_bad_file_is_one_line_for_every_verb_that_reads_it(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("offering,metric,unit,better,value\na,speed,op/s,higher,1\n")
    (tmp_path / "config.toml").write_text("currency = 'EURO'\n")
    told = said(tmp_path, *words)
    assert (told.code, told.err) == (
        2, f"{tmp_path / 'config.toml'}: currency: EURO is no currency (ISO 4217); write e.g. USD or EUR\n",
    )  # fmt: skip
    assert sorted(one.name for one in tmp_path.iterdir()) == ["config.toml", "table.csv"]


def test_new_studies_go_to_the_folder_of_the_settings_and_are_listed(tmp_path: Path) -> None:
    assert said(tmp_path, "config", "out", "all").code == 0
    assert said(tmp_path, "run", TINY.resolve(), "--quiet").code == 0
    (made,) = (tmp_path / "all").iterdir()
    rows = said(tmp_path, "list", "studies", "--json").json["data"]["rows"]
    assert str(made) in [one["study"] for one in rows]


def test_an_amount_alone_takes_the_currency(measured: Path, tmp_path: Path) -> None:
    bare = said(tmp_path, "run", "--resume", measured, "--budget", "5")
    assert "needs a currency" in bare.err
    assert said(tmp_path, "config", "currency", "EUR").code == 0
    for words in (("run", "--resume", measured, "--budget", "5"), ("check", "--live", "aws", "--budget", "5")):
        assert "needs a currency" not in said(tmp_path, *words).err
    started = said(tmp_path, "start", "--yes", "--no-fetch", "--budget", "5", "--json")
    assert started.code == 2
    assert "the budget is in EUR and the prices of these machines are in USD" in started.err


def test_an_amount_alone_in_a_study_stays_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("currency = 'EUR'\n")
    text = SMALL.read_text() + "budget: 5\n"
    (tmp_path / "study.yaml").write_text(text)
    told = said(tmp_path, "plan", "study.yaml")
    assert told.code == 2
    assert "needs a currency" in told.err


def test_lists_are_limited_to_the_regions_and_say_so(tmp_path: Path) -> None:
    every = said(tmp_path, "list", "offerings", "simulated", "--json").json
    (tmp_path / "config.toml").write_text("regions = ['simulated/nimbus']\n")
    some = said(tmp_path, "list", "offerings", "simulated", "--json").json
    assert (
        {one["region"] for one in some["data"]["rows"]}
        == {"nimbus"}
        != {one["region"] for one in every["data"]["rows"]}
    )
    assert some["warnings"] == ["only simulated/nimbus, as in your settings; every region: --region all"]
    for more in (("--region", "all"), ("--region", "all", "--vcpus", "1-")):
        whole = said(tmp_path, "list", "offerings", "simulated", *more, "--json").json
        assert {one["region"] for one in whole["data"]["rows"]} == {one["region"] for one in every["data"]["rows"]}
        assert whole["warnings"] == []
    filtered = said(tmp_path, "list", "prices", "--provider", "simulated", "--vcpus", "1-")
    assert "only simulated/nimbus" in filtered.err
    assert "stratus" not in filtered.out
    assert "only simulated" not in said(tmp_path, "list", "offerings", "local").err


def test_fetch_takes_the_regions_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("regions = ['aws/eu-central-1', 'gcp/europe-west3']\n")
    sources = Sources()

    def fetched(*words: str) -> Said:
        return cloudcmp(
            "fetch", "aws", *words, "--json", cwd=tmp_path, CLOUDCMP_CONFIG=str(tmp_path / "config.toml"),
            XDG_DATA_HOME=str(tmp_path / "data"), CLOUDCMP_PRICES_AWS=address,
        )  # fmt: skip

    with served(sources) as address:
        usual, elsewhere, every = fetched(), fetched("--region", "us-east-1"), fetched("--region", "all")
    assert usual.code == 0, usual.out
    assert "only aws/eu-central-1, as in your settings; every region: --region all" in usual.json["warnings"]
    assert elsewhere.code == 2
    assert elsewhere.err == "aws/us-east-1: there is no list of such a region\n"
    assert every.code == 2  # as without settings: all lists of Amazon are too much
    assert "megabytes" in every.err
