"""Every verb can be found, explained and misused."""

import subprocess
import sys

import pytest

from cloudcmp.cli.main import build

from .command import cloudcmp, installed

VERBS = [str(command.name) for command in build().registered_commands]
LATE = {
    "numpy",
    "scipy",
    "duckdb",
    "pyarrow",
    "pydantic",
    "ruamel",
    "rich",
    "vl_convert",
    "jinja2",
    "asyncio",
}


def test_the_verbs_are_in_the_order_of_use() -> None:
    assert VERBS[:6] == ["start", "run", "demo", "plan", "list", "compare"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_gives_an_example_and_the_exit_codes(verb: str) -> None:
    said = cloudcmp(*verb.split(), "--help")
    assert said.code == 0
    assert f"Example: cloudcmp {verb}" in " ".join(said.out.split())
    assert "--json" in said.out
    assert "Exit codes: 0 done" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_help_imports_nothing_that_takes_long() -> None:
    script = (
        "import sys\nfrom cloudcmp.cli.main import build\n"
        "try:\n    build()(args=['--help'], standalone_mode=False)\nexcept SystemExit:\n    pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].strip("[]").replace("'", "").split(", "))
    assert "typer" in imported
    assert not imported & LATE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rn"], "run"),
        (["run", "--foo"], "--foo"),
        (["list", "foo"], "providers"),
        (["plan"], "study"),
        (["plan", "nowhere.yaml"], "nowhere.yaml"),
        (["compare", "nowhere"], "nowhere"),
        (["published", "deval-2071"], "nearest: deval-2017"),
        (["list", "probes", "fmaa"], "nearest: fma"),
        (["run", "--on", "simulatd"], "nearest: simulated"),
        (["run", "--resume", "x", "--short"], "--resume"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: list[str], says: str) -> None:
    said = cloudcmp(*arguments)
    assert said.code == 2
    assert says in said.err
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["list", "metric"], "cloudcmp list: kind: 'metric' is none of providers, offerings, prices, probes, suites, "
                             "metrics, tools, credits, studies; did you mean metrics? see 'cloudcmp list --help'"),
        (["list"], "cloudcmp list: missing argument 'kind'; choose one of providers, offerings, prices, probes, "
                   "suites, metrics, tools, credits, studies; see 'cloudcmp list --help'"),
        (["comapre", "x"], "cloudcmp: no such command 'comapre'; did you mean compare? see 'cloudcmp --help'"),
        (["qqqq"], "cloudcmp: no such command 'qqqq'; see 'cloudcmp --help'"),
        (["run", "--budgt"], "cloudcmp run: no such option: --budgt; did you mean --budget? see 'cloudcmp run --help'"),
        (["run", "--seed", "x"], "cloudcmp run: --seed: 'x' is no whole number; see 'cloudcmp run --help'"),
        (["run", "--seed", "1.5"], "cloudcmp run: --seed: '1.5' is no whole number; see 'cloudcmp run --help'"),
        (["compare", "x", "--purchase", "free"], "cloudcmp compare: --purchase: 'free' is none of on-demand, spot, "
                                                 "reserved; see 'cloudcmp compare --help'"),
        (["import"], "cloudcmp import: missing argument 'files'; see 'cloudcmp import --help'"),
    ],
)  # fmt: skip
def test_a_mistake_says_what_is_known_and_nothing_of_libraries(arguments: list[str], line: str) -> None:
    told = cloudcmp(*arguments)
    assert (told.code, told.err) == (2, f"{line}\n")


def test_the_installed_command_says_the_same() -> None:
    for arguments in (("list",), ("import", "--help")):
        assert installed(*arguments) == cloudcmp(*arguments)


def test_a_mistake_is_a_document_with_json() -> None:
    said = cloudcmp("compare", "nowhere", "--json")
    assert said.code == 2
    assert said.json["schema"] == "cloudcmp.compare/1"
    assert said.json["data"] is None
    assert set(said.json["errors"][0]) == {"where", "what", "next"}


@pytest.mark.parametrize("kind", ["providers", "offerings", "prices", "probes", "suites", "metrics", "studies"])
def test_every_list_fits_80_columns_and_has_a_document(kind: str) -> None:
    said = cloudcmp("list", kind)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    document = cloudcmp("list", kind, "--json").json
    assert document["errors"] == []
    assert document["schema"] == "cloudcmp.list/1"
    assert document["data"]["kind"] == kind
    assert document["data"]["rows"]
