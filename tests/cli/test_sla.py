"""`sla` as a command."""

import re
from pathlib import Path

import pytest

from cloudcmp.answer.sla.sentences import uptime_words
from cloudcmp.cost.credits.tables import credit_table
from tests.evidence import appended, written
from tests.made_once import THREE_SIZES, run_once

from .command import cloudcmp

MAY = 1777593600
UTILITY = """\
schema: 1
utility:
  speed: {of: fma_flop_per_s, weight: 1, midpoint: 1.2e10, slope: 4}
budget: 0.2 USD/h
"""


def _rows(days: int, down: range, every: int = 300) -> str:
    lines = ["time,ok,seconds"]
    for at in range(days * 86400 // every):
        lines.append(f"{MAY + every * at},0," if at in down else f"{MAY + every * at},1,0.{at % 80 + 10}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sla")
    (made / "watch.csv").write_text(_rows(31, range(2000, 2020)), encoding="utf-8")
    (made / "study").symlink_to(run_once(tmp_path_factory, "three-sizes", THREE_SIZES))
    (made / "utility.yaml").write_text(UTILITY, encoding="utf-8")
    (made / "jumps.csv").write_text("time,ok,seconds\n100,1,0.1\n50,1,0.1\n99,1,0.1\n", encoding="utf-8")
    (made / "late.csv").write_text("time,ok,seconds\n100,1,70\n160,1,0.1\n", encoding="utf-8")
    (made / "negative.csv").write_text("time,ok,seconds\n100,1,-0.1\n160,1,0.1\n", encoding="utf-8")
    (made / "empty.csv").write_text("time,ok,seconds\n", encoding="utf-8")
    gap = f"{MAY},1,0.1\n{MAY + 60},1,0.1\n{MAY + 90 * 86400},1,0.1\n"
    (made / "gap.csv").write_text(f"time,ok,seconds\n{gap}", encoding="utf-8")
    return made


def test_the_answer_is_the_first_sentence_and_all_fits_the_terminal(folder: Path) -> None:
    said = cloudcmp("sla", "watch.csv", "--claim", "availability >= 99.9 % a month", "--credits", "aws-ec2-region",
                    "--bill", "1200 USD", "--loss", "500 USD/h", "--one-zone", "300 USD/month", "--two-zones",
                    "620 USD/month", "--page", "page.html", cwd=folder)  # fmt: skip
    assert said.code == 1
    lines = said.out.splitlines()
    told = " ".join(" ".join(lines[:3]).split())
    assert told.startswith(
        "'availability >= 99.9 % a month' is broken by watch.csv: at most 99.788 % of the time up in"
    )
    whole = " ".join(said.out.split())
    assert "pays 10 % of the bill, 120.00 USD for 2026-05" in whole
    assert "claim it until 2026-07-31" in whole
    assert max(map(len, lines)) <= 80
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "burn rate of the error budget" in page


def test_the_document_has_the_windows_the_credits_and_the_copies(folder: Path) -> None:
    said = cloudcmp("sla", "watch.csv", "--claim", "p99 <= 900 ms a month", "--credits", "aws-ec2-instance",
                    "--availability", "99 %", "--loss", "9 USD/h", "--one-zone", "3 USD/month", "--two-regions",
                    "8 USD/month", "--json", cwd=folder)  # fmt: skip
    assert (said.code, said.err) == (0, "")
    found = said.json
    assert found["schema"] == "cloudcmp.sla/1"
    (claim,) = found["data"]["claims"]
    assert (claim["standing"], claim["misses"], claim["windows"][0]["n"]) == ("met", 20, 8928)
    (credit,) = found["data"]["credits"]
    assert credit["periods"][0]["likely"]["free_hours"] == 3  # 20 + 60 + 20 minutes
    assert credit["expected"]["days"] == 31
    assert found["data"]["nines"][0]["arrangements"][1]["arrangement"] == "two regions"


def test_a_study_is_asked_about_its_measurements(folder: Path) -> None:
    said = cloudcmp("sla", "study", "--claim", "mean fma_flop_per_s >= 12 Gflop/s", cwd=folder)
    assert said.code == 2
    assert "is not a number in flop/s" in said.err
    said = cloudcmp("sla", "study", "--claim", "mean fma_flop_per_s >= 12e9", "--utility", "utility.yaml", "--json",
                    cwd=folder)  # fmt: skip
    data = said.json["data"]
    assert [one["standing"] for one in data["claims"]] == ["broken", "met", "met"]
    assert {one["by"] for one in data["claims"]} == {"launch"}
    assert data["utility"]["choice"]["key"]["name"] == "medium"
    assert data["simulated"] is True
    assert said.code == 1


def test_a_tidy_table_is_a_study_too(folder: Path) -> None:
    said = cloudcmp("export", "study", "--out", "tidy.csv", cwd=folder)
    assert said.code == 0, said.err
    told = cloudcmp("sla", "tidy.csv", "--claim", "mean fma_flop_per_s >= 12e9", "--json", cwd=folder)
    standings = {one["subject"].rpartition("/")[2]: one["standing"] for one in told.json["data"]["claims"]}
    assert standings == {"small": "broken", "medium": "met", "large": "met"}
    assert [one["n"] for one in told.json["data"]["claims"]] == [8, 8, 8]


def test_a_window_that_a_study_does_not_cover_cannot_be_told(folder: Path) -> None:
    said = cloudcmp("sla", "study", "--claim", "mean fma_flop_per_s >= 12e9 over 1 year", "--json", cwd=folder)
    assert {(one["standing"], one["doubt"]) for one in said.json["data"]["claims"]} == {("cannot tell", "unseen")}


def test_without_a_source_a_claim_is_planned() -> None:
    said = cloudcmp("sla", "--claim", "p99 <= 300 ms over 1 month")
    assert said.code == 0
    told = " ".join(said.out.split())
    assert told.startswith("'p99 <= 300 ms over 1 month' takes 299 independent samples without a miss in each month")


def test_credit_tables_are_listed(folder: Path) -> None:
    said = cloudcmp("list", "credits", "--json")
    names = [one["table"] for one in said.json["data"]["rows"]]
    assert names[:3] == ["aws-ec2-region", "aws-ec2-instance", "aws-ec2-2008"]
    whole = cloudcmp("list", "credits", "aws-ec2-instance")
    assert "clock hours down for over 6 min" in whole.out


CLAIM = ["--claim", "availability >= 99 % a month"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["watch.csv"], "cloudcmp sla: nothing is asked; give --claim, --credits, --utility or --loss"),
        (
            ["watch.csv", "--claim", "availability >= 101 %"],
            "--claim: 'availability >= 101 %' asks for an",
        ),
        (["gap.csv", *CLAIM], "gap.csv: nobody looked from 2026-06-01 to 2026-07-01"),
        (["empty.csv", *CLAIM], "empty.csv: holds no sample"),
        (["jumps.csv", *CLAIM], "jumps.csv: sample 2 at 1970-01-01 00:00:50 UTC is not after the one before it"),
        (["late.csv", *CLAIM], "late.csv: sample 2 at 1970-01-01 00:02:40 UTC begins before the one before it"),
        (["negative.csv", *CLAIM], "negative.csv: sample 1 took -0.1 s"),
        (["watch.csv", "--every", "0 s", *CLAIM], "--every: '0 s' is not above zero"),
        (["watch.csv", "--credits", "aws"], "--credits: no credit table 'aws' is known"),
        (["watch.csv", "--credits", "aws-ec2-region", "--bill", "0 USD"], "--bill: '0 USD' is not more than zero; an"),
        (["watch.csv", *CLAIM, "--bill", "5 USD"], "--bill: is about --credits"),
        (["study", "--credits", "aws-ec2-region"], "--credits: no source has downtime"),
        (["watch.csv", "--claim", "p99 rtt_s <= 2 ms"], "--claim: a watch has no 'rtt_s'"),
        (
            ["watch.csv", "--claim", "p5 throughput >= 1 MB/s"],
            "watch.csv: the answer at 2026-05-01 00:00:00 UTC has no",
        ),
        (["study", "--claim", "p99 <= 2 ms"], "--claim: a study has many measurements"),
        (["study", "--claim", "p99 rtt_s <= 2 ms"], "--claim: the study did not measure 'rtt_s'"),
        (["none", *CLAIM], "none: no such study or file"),
        (["watch.csv", "--loss", "5 USD/h"], "--loss: the costs of one copy and of two are unknown"),
        (["watch.csv", "--loss", "5 USD", "--one-zone", "1 USD/month"], "--loss: '5 USD' needs its period"),
        (["watch.csv", "--one-zone", "1 USD/month", *CLAIM], "--loss: costs of copies are given, and no loss"),
        (["--loss", "5 USD/h", "--one-zone", "1 USD/month", "--two-zones", "2 USD/month"], "--loss: the availability"),
        (["--availability", "120 %", *CLAIM], "--availability: '120 %' is not above 0 and at most 100 %"),
        (["study", "--utility", "none.yaml"], "none.yaml: there is no such file"),
        (["--utility", "utility.yaml"], "--utility: no source is named"),
        (["watch.csv", "--confidence", "1", *CLAIM], "--confidence: 1.0 is not between 0.5 and 1"),
    ],
)
def test_a_mistake_is_one_line(folder: Path, words: list[str], told: str) -> None:
    said = cloudcmp("sla", *words, cwd=folder)
    assert said.code == 2, said.out
    assert said.err.splitlines()[-1].startswith(told)
    assert "Traceback" not in said.err


def test_evidence_of_a_watch_is_a_source(tmp_path: Path) -> None:
    folder = written(tmp_path / "evidence")
    said = cloudcmp("sla", folder, "--claim", "availability >= 50 %", "--claim", "p50 <= 900 ms", "--json")
    assert [(one["n"], one["misses"]) for one in said.json["data"]["claims"]] == [(12, 0), (12, 0)]


def test_samples_of_evidence_that_nobody_signed_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    appended(written(tmp_path / "evidence"), 8)
    words = ["sla", "evidence", "--claim", "availability >= 50 %", "--credits", "aws-ec2-region"]
    said = cloudcmp(*words, cwd=tmp_path)
    assert (
        "evidence: 8 of 20 samples, of which 8 failed, are left out; with them, as --unsigned counts, 60.0 % of "
        "samples are good; no watcher signed them that wrote them" in " ".join(said.out.split())
    )
    data = cloudcmp(*words, "--json", cwd=tmp_path).json["data"]
    assert [(one["n"], one["misses"]) for one in data["claims"]] == [(12, 0)]
    assert data["credits"][0]["periods"][0]["likely"]["down_s"] == 0
    assert data["credits"][0]["periods"][0]["most"]["down_s"] == 480
    assert data["evidence"] == [
        {"source": "evidence", "samples": 20, "failed": 8, "unsigned": 8, "unsigned_failed": 8, "counted": False}
    ]
    data = cloudcmp(*words, "--json", "--unsigned", cwd=tmp_path).json["data"]
    assert [(one["n"], one["misses"]) for one in data["claims"]] == [(20, 8)]
    assert data["credits"][0]["periods"][0]["likely"]["down_s"] == 480
    assert data["evidence"][0]["counted"] is True


def test_changed_evidence_is_no_source(tmp_path: Path) -> None:
    folder = written(tmp_path / "evidence")
    path = folder / "evidence.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"ok":true', b'"ok":null', 1))
    said = cloudcmp("sla", folder, *CLAIM)
    assert (said.code, "evidence.jsonl:3: was changed" in said.err) == (2, True)


def test_a_credit_that_rests_on_the_reading_says_so(tmp_path: Path) -> None:
    """Five samples that fail apart: nothing if each outage was a moment, and 10 % if each lasted until the next."""
    rows = "\n".join(f"{MAY + 300 * at},{int(at % 900 != 5)},{'' if at % 900 == 5 else '0.1'}" for at in range(8928))
    (tmp_path / "apart.csv").write_text(f"time,ok,seconds\n{rows}\n", encoding="utf-8")
    said = cloudcmp("sla", "apart.csv", "--credits", "aws-ec2-region", "--bill", "1000 USD", cwd=tmp_path)
    told = " ".join(said.out.split())
    assert "pays 10 % of the bill, 100.00 USD" in told
    assert "That is the likely reading: if outages were as short as the samples allow, it pays nothing." in told


def test_an_uptime_just_below_a_tier_is_not_shown_as_the_tier() -> None:
    table = credit_table("aws-ec2-region")
    assert uptime_words(99.98997, table, 5) == "99.98997 %"
    assert uptime_words(99.888, table, 5) == "99.888 %"


def test_new_names_hide_services_offerings_and_agreements(folder: Path) -> None:
    words = ("sla", "watch.csv", "study", "--claim", "availability >= 99.9 % a month", "--credits", "aws-ec2-region",
             "--bill", "1200 USD", "--loss", "500 USD/h", "--one-zone", "300 USD/month", "--two-zones",
             "620 USD/month", "--utility", "utility.yaml", "--claim", "p50 fma_flop_per_s >= 1")  # fmt: skip
    said = cloudcmp(*words, "--anonymise", "--page", "hidden.html", cwd=folder)
    page = (folder / "hidden.html").read_text(encoding="utf-8")
    shown = said.out.replace("hidden.html", "") + re.sub(r"(?s)<style>.*?</style>|<[^>]*>", " ", page)
    assert said.code == 1, said.err
    assert "Traceback" not in said.err
    assert not re.search(r"(?i)\baws\b|amazon|ec2|watch\.csv|nimbus|\bsmall\b|\blarge\b", shown)
    assert "service 1" in shown
    assert "agreement 1" in shown
    assert "C1.1" in shown
    named, hidden = (cloudcmp(*words, *more, "--json", cwd=folder).json["data"] for more in ((), ("--anonymise",)))
    assert [one["value"] for one in named["claims"]] == [one["value"] for one in hidden["claims"]]
    assert [one["utility"] for one in named["utility"]["options"]] == [
        one["utility"] for one in hidden["utility"]["options"]
    ]
