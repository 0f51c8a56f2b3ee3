"""The user's settings: read from a file that people write, changed without losing a line of it."""

import json
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.app import settings
from cloudcmp.app.list_ import inventory
from cloudcmp.app.offerings.search import filters, search
from cloudcmp.app.settings import Settings
from cloudcmp.app.study_folder import new_folder
from cloudcmp.errors import CloudcmpError, StorageFault, UserMistake


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLOUDCMP_CONFIG", str(tmp_path / "own" / "config.toml"))
    (tmp_path / "own").mkdir()
    return tmp_path / "own" / "config.toml"


def test_where_the_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLOUDCMP_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert settings.settings_path() == tmp_path / ".config" / "cloudcmp" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert settings.settings_path() == tmp_path / "xdg" / "cloudcmp" / "config.toml"
    assert settings.load() == Settings()


def test_every_key_is_read(file: Path) -> None:
    file.write_text(
        'out = "~/s"\nregions = ["aws/eu-central-1", "gcp/europe-west3", "aws/us-east-1"]\ncurrency = "EUR"'
    )
    found = settings.load()
    assert found.out == Path.home() / "s"
    assert found.regions_of("aws") == ("eu-central-1", "us-east-1")
    assert found.regions_of("azure") == ()
    assert found.currency == "EUR"
    assert all(row.is_set for row in settings.rows(found))
    assert not any(row.is_set for row in settings.rows(Settings()))


@pytest.mark.parametrize(
    ("text", "where", "what", "next_"),
    [
        ("currency = 'EURO'", ": currency", "EURO is no currency", "write e.g. USD or EUR"),
        ("currency = 5", ": currency", "5 is no text", 'write e.g. currency = "EUR"'),
        ("currncy = 'EUR'", "", "unknown setting 'currncy'", "nearest: currency"),
        ("[out]\na = 1", ": out", "is no text", 'write e.g. out = "~/studies"'),
        ("out = 'studies'", ": out", "'studies' is not absolute", 'write e.g. out = "~/studies"'),
        ("out = '/dev/null'", ": out", "is no folder", 'write e.g. out = "~/studies"'),
        ("out = '~nobody-of-this-name/x'", ": out", "home", "write e.g."),
        ("regions = 'aws/eu'", ": regions", "it is no list", 'write e.g. regions = ["aws/eu-central-1"]'),
        ("regions = ['eu-central-1']", ": regions", "is no PROVIDER/REGION", "write e.g."),
        ("regions = ['asw/eu-central-1']", ": regions", "'asw' is no provider", "nearest: aws"),
        ("regions = [1]", ": regions", "1 is no text", "write e.g."),
        ("regions = ", "", "is no TOML", "mend it, or remove it"),
        ("a = 1\n b c", ":2:4", "is no TOML", "mend it, or remove it"),
        ("a = '", "", "is no TOML", "mend it, or remove it"),
        ("x = " + "[" * 5000, "", "is no TOML", "mend it, or remove it"),
        ("#" * 70_000, "", "is longer than", "remove what is no setting"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(file: Path, text: str, where: str, what: str, next_: str) -> None:
    file.write_text(text)
    with pytest.raises(UserMistake) as told:
        settings.load()
    (fault,) = told.value.faults
    assert fault.where.startswith(f"{file}{where}")
    assert what in fault.what
    assert next_ in fault.next
    assert "\n" not in fault.line()
    assert len(fault.line()) < 400


def test_what_is_no_file_is_told(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"currency = '\xff'")
    with pytest.raises(UserMistake, match="is not UTF-8"):
        settings.load()
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UserMistake, match="is no plain file"):
        settings.load()
    file.unlink()
    file.mkdir()
    with pytest.raises(UserMistake, match="is a directory"):
        settings.load()
    file.rmdir()
    (tmp_path / "dotfiles").write_text("currency = 'CHF'")
    file.symlink_to(tmp_path / "dotfiles")
    assert settings.load().currency == "CHF"
    with pytest.raises(UserMistake, match="is a link"):
        settings.store("currency", ["EUR"])
    assert settings.load().currency == "CHF"


def test_a_key_is_written_for_its_owner_alone(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDCMP_CONFIG", str(tmp_path / "new" / "config.toml"))
    monkeypatch.chdir(tmp_path)
    settings.store("out", ["a/../studies"])
    settings.store("regions", ["aws/eu-central-1,gcp/europe-west3", "azure/eastus"])
    settings.store("currency", ["EUR"])
    path = tmp_path / "new" / "config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    regions = (("aws", "eu-central-1"), ("gcp", "europe-west3"), ("azure", "eastus"))
    assert settings.load() == Settings(tmp_path / "studies", regions, "EUR")
    assert [one.name for one in path.parent.iterdir()] == ["config.toml"]
    for key in ("out", "regions", "currency", "currency"):
        settings.remove(key)
    assert settings.load() == Settings()
    assert path.read_text().startswith("# Settings of cloudcmp.")


def test_comments_stay(file: Path) -> None:
    file.write_text("# mine\n\ncurrency = 'EUR'\n# the end")
    settings.store("currency", ["CHF"])
    settings.store("out", ["/somewhere"])
    assert file.read_text() == '# mine\n\ncurrency = "CHF"\n# the end\nout = "/somewhere"\n'
    settings.remove("currency")
    assert file.read_text() == '# mine\n\n# the end\nout = "/somewhere"\n'


@pytest.mark.parametrize(
    "text",
    [
        "currency = 'EUR' # the usual one\n",
        '"currency" = "EUR"\n',
        'currency = """\\\nEUR"""\n',
        'currency = """\\\n\\\ncurrency = """\n',
    ],
)
def test_what_would_be_lost_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    for change in (lambda: settings.store("currency", ["CHF"]), lambda: settings.remove("currency")):
        with pytest.raises(UserMistake, match="would be lost"):
            change()
    assert file.read_text() == text


def test_a_bad_value_is_mended_by_a_good_one_and_never_written(file: Path) -> None:
    file.write_text("currency = 'EURO'\n")
    with pytest.raises(UserMistake, match="no currency"):
        settings.store("currency", ["DOLLAR"])
    with pytest.raises(UserMistake, match="EURO"):
        settings.store("out", ["/x"])
    assert file.read_text() == "currency = 'EURO'\n"
    settings.store("currency", ["EUR"])
    assert settings.load().currency == "EUR"
    for key, words in (("out", [""]), ("out", ["a", "b"]), ("out", []), ("size", ["1"]), ("regions", ["eu"])):
        with pytest.raises(UserMistake):
            settings.store(key, words)
    with pytest.raises(UserMistake, match="unknown setting"):
        settings.remove("size")


def test_a_folder_that_cannot_be_written_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CLOUDCMP_CONFIG", str(tmp_path / "file" / "config.toml"))
    assert settings.load() == Settings()
    with pytest.raises(StorageFault):
        settings.store("currency", ["EUR"])


_LINES = st.one_of(
    st.just("currency = 'EUR'"), st.just('regions = ["aws/eu-central-1"]'), st.just('out = "/x"'),
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=20),
    st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=20).map(lambda text: f"# {text}"),
)  # fmt: skip


@given(st.lists(_LINES, max_size=4).map("\n".join), st.sampled_from(["CHF", "USD"]))
def test_a_changed_file_has_every_other_line(tmp_path_factory: pytest.TempPathFactory, text: str, code: str) -> None:
    path = tmp_path_factory.mktemp("settings") / "config.toml"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLOUDCMP_CONFIG", str(path))
        if refused := _refusal(code):
            assert "\n" not in refused
            assert path.read_bytes() == text.encode()
            return
        after = path.read_bytes().decode()
        assert _values(after) == {**_values(text), "currency": code}
        kept = [line for line in text.splitlines() if not line.startswith("currency")]
        assert [line for line in after.splitlines() if not line.startswith("currency")] == kept
        assert settings.load().currency == code


def _refusal(code: str) -> str:
    try:
        settings.store("currency", [code])
    except CloudcmpError as fault:
        return str(fault)
    return ""


def _values(text: str) -> Mapping[str, Any]:
    return tomllib.loads(text)


def test_an_amount_alone_gets_the_currency_of_the_settings(file: Path) -> None:
    assert settings.with_currency("20") == "20"
    file.write_text("currency = 'EUR'")
    assert settings.with_currency(" 20.5 ") == "20.5 EUR"
    for text in ("20 USD", "20 %", "", "twenty", "20 USD/h", "1,000"):
        assert settings.with_currency(text) == text


def test_new_studies_are_made_where_the_settings_say(file: Path, tmp_path: Path) -> None:
    file.write_text(f"out = {json.dumps(str(tmp_path / 'all'))}")
    assert new_folder("x", None).parent == tmp_path / "all"
    assert new_folder("x", Path("here")) == Path("here")


def test_offerings_are_those_of_the_regions(file: Path) -> None:
    file.write_text('regions = ["simulated/nimbus"]')
    _, usual = settings.chosen_regions(())
    assert usual == {"simulated": ("nimbus",)}
    assert {one.region for one in inventory("offerings", "simulated", places=usual).items} == {"nimbus"}
    assert {one.region for one in inventory("offerings", "local", places=usual).items} == {"local"}
    found = search(filters(provider="simulated", places=usual))
    assert {one.offering.region for one in found.offerings} == {"nimbus"}
    assert settings.chosen_regions(["all"]) == ((), {})
    assert settings.chosen_regions(["stratus"]) == (("stratus",), {})
    with pytest.raises(UserMistake, match="all excludes"):
        settings.chosen_regions(["all", "stratus"])
