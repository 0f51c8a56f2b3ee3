"""`cloudcmp start`, typed by a user at a terminal and by a script."""

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cloudcmp.provider.credential_signs import SIGNS
from tests.cost.served import Sources, served
from tests.slices import long

from .command import Said, cloudcmp, forked, installed
from .terminal import Terminal

PROMPTS = ("1/5", "2/5", "3/5", "4/5", "5/5")


def nobody(home: Path) -> dict[str, str]:
    """A user without any cloud's credentials, whose machine asks nobody for some."""
    clouds = ("AWS_", *(prefix for one in SIGNS.values() for prefix in one.variables))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(clouds)}
    nowhere = {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
    return {**kept, **nowhere, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "COLUMNS": "80"}


def said(home: Path, *words: str | Path, **more: str) -> Said:
    return forked(words, nobody(home) | more, home)


def at_terminal(home: Path, *words: str) -> Terminal:
    return Terminal(home, nobody(home), *words)


def test_five_questions_at_a_terminal_and_each_default_is_one_key(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start", "--out", "first.yaml")
    for prompt, typed in zip(PROMPTS, ("web", "", "2/4", "cpu,scaling", ""), strict=True):
        terminal.until(prompt)
        terminal.types(typed)
    terminal.until("Fetch price lists now?")
    terminal.types("")  # no: there are no credentials
    assert terminal.ended() == 0, terminal.shown
    said_first = terminal.shown[: terminal.shown.index("1/5")]
    assert "Nothing is created and nothing is spent." in " ".join(said_first.split())
    assert "fetching" not in terminal.shown
    assert "written: first.yaml" in terminal.shown
    text = (tmp_path / "first.yaml").read_text()
    assert "serve a web site" in text
    assert "{vcpus: 2, memory_gib: 4}" in text
    assert "provider: simulated" in text
    assert "scaling_latency_s" in text
    assert "disk" not in text


def test_a_wrong_answer_is_told_and_asked_again(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start", "--users", "us", "--size", "small", "--matters", "cpu", "--budget",
                           "5 USD", "--no-fetch")  # fmt: skip
    terminal.until("1/5")
    terminal.types("gaming")
    terminal.until("'gaming' is none of web, batch, database, general")
    terminal.until("[general]")
    terminal.types("batch")
    assert terminal.ended() == 0, terminal.shown
    assert "2/5" not in terminal.shown
    assert "compute in batches" in (tmp_path / "start.yaml").read_text()


def answered(terminal: Terminal, *answers: str) -> None:
    """Answer the five questions, and fetch nothing."""
    for prompt, typed in zip(PROMPTS, answers, strict=True):
        terminal.until(prompt)
        terminal.types(typed)
    terminal.until("[y/N]")
    terminal.types("")


def test_too_small_a_budget_is_asked_again_and_the_other_answers_are_kept(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start")
    answered(terminal, "database", "germany", "4 cpus 16 gb", "memory", "0.01")
    terminal.until("0.01 USD is too little for the smallest study that gives a verdict; it needs at")
    terminal.until("5/5")
    terminal.until("[")
    terminal.types("0.02 USD")
    terminal.until("0.02 USD is too little")
    terminal.until("5/5")
    terminal.types("")  # the least that is enough
    assert terminal.ended() == 0, terminal.shown
    for line in ("germany: europe is taken, with machines in Frankfurt", "4 vCPUs and 16 GiB",
                 "0.01 USD: US dollars are assumed"):  # fmt: skip
        assert line in terminal.shown
    assert [terminal.shown.count(prompt) for prompt in PROMPTS] == [1, 1, 1, 1, 3]
    text = (tmp_path / "start.yaml").read_text()
    assert "hold a database, for users in Europe" in text
    assert "{vcpus: 4, memory_gib: 16}" in text
    assert "triad_bytes_per_s" in text


def test_a_size_that_is_not_sold_is_asked_again_and_so_is_one_that_costs_too_much(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start")
    answered(terminal, "batch", "us", "512/4096", "cpu", "0.50 USD")
    terminal.until("no size near 512/4096 is sold; the nearest is simulated/")
    terminal.until("3/5")
    terminal.until("[4/16]")
    terminal.types("")
    terminal.until("0.50 USD is too little")
    terminal.until("or size to answer")
    terminal.until("[")
    terminal.types("size")
    terminal.until("3/5")
    terminal.until("[4/16]")
    terminal.types("1/2")
    assert terminal.ended() == 0, terminal.shown
    text = (tmp_path / "start.yaml").read_text()
    assert "{vcpus: 1, memory_gib: 2}" in text
    assert "budget: 0.50 USD" in text
    assert "compute in batches, for users in the US" in text


@long
def test_where_the_price_matters_work_for_money_decides(tmp_path: Path) -> None:
    begun = said(tmp_path, "start", "--yes", "--matters", "network,price", "--budget", "50")
    assert begun.code == 0, begun.err
    assert "--budget: 50 USD: US dollars are assumed" in begun.err
    shown = " ".join(begun.out.split())
    assert "added for the price: cpu and memory" in shown
    assert "price: a second verdict, on the work that 1 USD buys, for cpu, memory" in shown
    ran = said(tmp_path, "run", "start.yaml", "--out", "start", "--json")
    assert ran.code == 0, ran.err
    for kind, metrics in (("comparisons", {"rtt_s", "tcp_bytes_per_s"}), ("money", set[str]())):
        decided = {one["cell"].partition(" ")[0] for one in ran.json["data"][kind] if one["decides"]}
        assert decided == metrics | {"int_op_per_s", "lu_flop_per_s", "triad_bytes_per_s"}


@pytest.mark.parametrize("at", ["1/5", "5/5"])
def test_ctrl_c_leaves_nothing(tmp_path: Path, at: str) -> None:
    terminal = at_terminal(tmp_path, "start")
    for prompt in PROMPTS[: PROMPTS.index(at)]:
        terminal.until(prompt)
        terminal.types("")
    terminal.until(at)
    terminal.interrupts()
    assert terminal.ended() == 130
    assert "Traceback" not in terminal.shown
    assert terminal.shown.endswith("\ninterrupted\n")
    assert [path for path in tmp_path.iterdir() if path.name != "data"] == []


def test_answers_that_end_leave_nothing(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start")
    terminal.until("1/5")
    terminal.ends()
    assert terminal.ended() == 2
    assert "the input ended early" in terminal.shown
    assert not (tmp_path / "start.yaml").exists()


def test_a_script_gives_options_or_is_told_which(tmp_path: Path) -> None:
    refused = said(tmp_path, "start", "--for", "web")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "give --users, --size, --matters, --budget, or --yes" in refused.err
    wrong = said(tmp_path, "start", "--size", "huge", "--yes")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert wrong.err.startswith("--size: 'huge' is no size")
    assert [path for path in tmp_path.iterdir() if path.name != "data"] == []


def test_the_printed_commands_lead_to_a_report_and_a_recommendation(tmp_path: Path) -> None:
    begun = said(tmp_path, "start", "--for", "batch", "--matters", "memory", "--yes")
    assert begun.code == 0, begun.err
    assert max(map(len, begun.out.splitlines())) <= 80
    next_ = begun.out.partition("next:\n")[2]
    lines = [shlex.split(line)[1:] for line in next_.splitlines()]
    assert [words[0] for words in lines] == ["plan", "run", "report", "recommend"]
    for words in lines:
        done = said(tmp_path, *words, BROWSER="true")
        assert done.code == 0, done.err
    assert "RECOMMENDED  simulated/" in done.out
    assert "SIMULATED" in (tmp_path / "start" / "report.html").read_text()
    again = said(tmp_path, "start", "--yes")
    assert again.code == 2
    assert "is not overwritten" in again.err


def test_what_price_lists_say_is_shown_as_not_measured(tmp_path: Path) -> None:
    today = datetime.now(UTC).date().isoformat()
    (tmp_path / "own.csv").write_text(
        "provider,name,amount,currency,unit,region,vcpus,memory_gib,as_of\n"
        f"aws,m7i.large,0.1207,USD,h,eu-central-1,2,8,{today}\n"
        f"gcp,n2-standard-2,0.1103,USD,h,europe-west3,2,8,{today}\n"
        f"gcp,n2-standard-4,0.2206,USD,h,europe-west3,4,16,{today}\n"
    )
    fetch = ("fetch", "--from", "own.csv", "--as", "csv")
    assert installed(*fetch, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / "data")).code == 0
    shown = said(tmp_path, "start", "--yes").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "by list price, not measured" in shown
    assert shown.index("gcp n2-standard-2") < shown.index("aws m7i.large")
    assert "0.1207 USD" in shown
    assert "n2-standard-4" not in shown
    told = "no price list has this size on azure:\n  cloudcmp fetch azure --region germanywestcentral\n"
    assert told in shown


def test_the_document_names_the_study_and_what_comes_next(tmp_path: Path) -> None:
    document = said(tmp_path, "start", "--yes", "--json").json
    assert document["schema"] == "cloudcmp.start/1"
    data = document["data"]
    assert data["simulated"] is True
    assert data["answers"]["budget"] == {"amount": "20", "currency": "USD"}
    assert data["next"][0] == "cloudcmp plan start.yaml"
    assert {one["provider"] for one in data["providers"]} <= {"aws", "azure", "gcp"}
    assert not any(one["usable"] for one in data["providers"])
    assert cloudcmp("start", "--help").code == 0


def test_all_that_is_wrong_is_told_at_once_and_the_answers_first(tmp_path: Path) -> None:
    (tmp_path / "start.yaml").write_text("mine")
    refused = said(tmp_path, "start", "--for", "atlantis", "--budget", "-3 EUR")
    lines = refused.err.splitlines()
    assert refused.code == 2
    assert [line.partition(":")[0] for line in lines] == ["--for", "--budget", "cloudcmp start", "start.yaml"]
    assert "'atlantis' is none of web" in lines[0]
    assert "'-3 EUR' is not more than zero; it is the most that may be spent" in lines[1]
    assert "give --users, --size, --matters, or --yes" in lines[2]
    assert (tmp_path / "start.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--budget", "0.01 USD"), "it needs at least "),
        (("--budget", "5 XYZ"), "XYZ is no currency (ISO 4217)"),
        (("--size", "512/4096"), "no size near 512/4096 is sold; the nearest is simulated/"),
        (("--matters", "price,luck"), "'luck' is none of cpu, memory, disk, network, scaling, price"),
        (("--out", "nope/dir/x.yaml"), "nope/dir: no such folder"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(tmp_path: Path, words: tuple[str, str], says: str) -> None:
    refused = said(tmp_path, "start", "--yes", *words)
    assert (refused.code, refused.err.count("\n"), refused.out) == (2, 1, "")
    assert says in refused.err
    assert [path for path in tmp_path.iterdir() if path.name != "data"] == []


def test_the_least_budget_that_is_told_is_enough(tmp_path: Path) -> None:
    refused = said(tmp_path, "start", "--yes", "--budget", "0.01 USD").err
    least = refused.partition("at least ")[2].partition(";")[0]
    assert said(tmp_path, "start", "--yes", "--budget", least).code == 0


def test_a_size_that_is_not_sold_is_told_beside_what_is_taken(tmp_path: Path) -> None:
    shown = " ".join(said(tmp_path, "start", "--yes", "--size", "9/9").out.split())
    assert "simulated/nimbus/large differs from the requested size: 4 vCPUs instead of 9, 16 GiB" in shown
    assert "expected time: simulated: seconds; on real clouds " in shown
    assert "the budget is not enforced on simulated clouds, because they bill nothing" in shown


def test_a_budget_in_another_currency_than_the_prices_is_refused(tmp_path: Path) -> None:
    refused = said(tmp_path, "start", "--yes", "--budget", "100 EUR")
    assert refused.code == 2
    assert "the budget is in EUR and the prices of these machines are in USD" in refused.err
    assert list(tmp_path.glob("*.yaml")) == []


def test_prompts_are_wrapped_at_words(tmp_path: Path) -> None:
    terminal = at_terminal(tmp_path, "start")
    for prompt in PROMPTS:
        terminal.until(prompt)
        terminal.types("")
    terminal.until("Fetch price lists now?")
    terminal.until("[y/N]")
    terminal.ends()
    assert terminal.ended() == 2
    assert max(map(len, terminal.shown.splitlines())) <= 80
    words = terminal.shown.split()
    for word in ("europe,", "south-america,", "2/8", "germanywestcentral,"):
        assert word in words


def test_prices_that_are_asked_for_are_fetched_and_a_failure_is_one_line(tmp_path: Path) -> None:
    with served(Sources()) as address:
        lists = {"CLOUDCMP_PRICES_AWS": address, "CLOUDCMP_PRICES_AZURE": address, "CLOUDCMP_PRICES_GCP": address}
        found = said(tmp_path, "start", "--fetch", "--yes", **lists)
    assert found.code == 0, found.err
    text = " ".join(found.out.split())
    assert "prices of aws in eu-central-1" in text
    assert "aws m7i.large" in text
    assert "no prices of gcp were fetched, continuing without them: gcp: Google's catalogue needs an API key" in text
    assert "fetching the price list of aws in eu-central-1" in found.err


def test_names_of_clouds_are_replaced_on_the_screen_and_not_in_the_study(tmp_path: Path) -> None:
    done = said(tmp_path, "start", "--yes", "--anonymise", "--out", "first.yaml")
    assert done.code == 0, done.err
    shown = (done.out + done.err).casefold()
    assert [name for name in ("aws", "azure", "gcp", "nimbus", "stratus", "eu-west-1") if name in shown] == []
    assert "C4: not used" in done.out
    assert "nimbus" in (tmp_path / "first.yaml").read_text(encoding="utf-8")
    found = said(tmp_path, "start", "--yes", "--anonymise", "--json", "--out", "second.yaml").json["data"]
    assert [one["name"] for one in found["candidates"]] == ["C1.1", "C2.1", "C3.1"]
