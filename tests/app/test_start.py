"""From answers to a study file: what is asked of clouds, what fits a budget, and what price lists say at once.

The clouds are stand-ins for this test: none is a real one.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.app import plan as planning
from cloudcmp.app import start as starting
from cloudcmp.errors import NoCredentials, RefusedAnswer, UserMistake
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.safety import Finding
from cloudcmp.model.start import CloudAccess
from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.credential_signs import signs_of
from cloudcmp.report.first_study import next_commands, prices_table, summary_lines
from cloudcmp.study import questions, starter
from cloudcmp.units import Money

TODAY = datetime.now(UTC).date()
ANSWERS = questions.answers({})
AWS_SEEN = (CloudAccess("aws", True, "account 1"),)


class Cloud:
    """A provider that is only looked at."""

    def __init__(self, findings: Sequence[Finding] | Exception, wait_s: float = 0.0) -> None:
        self._findings, self._wait_s = findings, wait_s

    async def check(self, candidates: object) -> Sequence[Finding]:
        import asyncio

        await asyncio.sleep(self._wait_s)
        if isinstance(self._findings, Exception):
            raise self._findings
        return self._findings


def seen(monkeypatch: pytest.MonkeyPatch, cloud: Cloud, within_s: float = 5.0) -> CloudAccess:
    monkeypatch.setattr(starting, "open_clients", lambda known, means: ({"aws": cloud}, ()))
    monkeypatch.setattr(starting, "names", lambda: ("aws", "local", "simulated"))
    (one,) = starting.detect_clouds(within_s)
    return one


def test_a_cloud_that_takes_the_credentials_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen(monkeypatch, Cloud([Finding("credentials", True, "account 1"), Finding("clock", None, "?")]))
    assert found == CloudAccess("aws", True, "account 1")


@pytest.mark.parametrize(
    ("findings", "says"),
    [
        ([Finding("credentials", False, "there are none", "set AWS_PROFILE")], "there are none; set AWS_PROFILE"),
        ([Finding("settings", False, "no endpoint")], "no endpoint"),
        (NoCredentials.at("aws", "they have expired"), "aws: they have expired"),
        (OSError("no route"), "no route"),
    ],
)
def test_one_that_does_not_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, findings: Sequence[Finding] | Exception, says: str
) -> None:
    assert seen(monkeypatch, Cloud(findings)) == CloudAccess("aws", False, says)


def test_one_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    found = seen(monkeypatch, Cloud([], wait_s=60.0), within_s=0.05)
    assert found == CloudAccess("aws", False, "it did not answer within 0.05 s")
    assert time.monotonic() - begun < 20


def test_a_cloud_without_any_sign_of_credentials_is_not_asked(tmp_path: Path) -> None:
    nowhere = tmp_path / "firmware"
    assert signs_of("aws", {}, tmp_path, nowhere)  # asking it is quick
    for name in ("gcp", "azure"):
        assert not signs_of(name, {"HOME": "x", "NO_GCE_CHECK": "true"}, tmp_path, nowhere)
    assert signs_of("gcp", {"GOOGLE_APPLICATION_CREDENTIALS": "key.json"}, tmp_path, nowhere)
    assert signs_of("azure", {"AZURE_CLIENT_ID": "1"}, tmp_path, nowhere)
    (tmp_path / ".azure").mkdir()
    assert signs_of("azure", {}, tmp_path, nowhere)
    nowhere.mkdir()
    (nowhere / "product_name").write_text("Google Compute Engine\n")
    assert signs_of("gcp", {}, tmp_path, nowhere)


def sells(monkeypatch: pytest.MonkeyPatch, *sold: Offering) -> None:
    """Have `aws` sell these, and the price book know the same."""
    monkeypatch.setattr(Ec2Provider, "offerings", lambda self, region=None: sold)
    monkeypatch.setattr(
        starting, "book_offerings", lambda name, region: tuple(one for one in sold if one.provider == name)
    )
    assert planning.offerings_of("aws", "eu-central-1") == sold


def offering(name: str, price: str | None, vcpus: float = 2, memory_gib: float = 8.0) -> Offering:
    told = Price(Decimal(price), "USD", "a price list", TODAY) if price else None
    return Offering("aws", "eu-central-1", name, vcpus, memory_gib, "general", told)


TWO = (offering("m7i.large", "0.12"), offering("m7i.xlarge", "0.24", 4, 16.0))


def test_with_credentials_the_study_is_of_that_cloud_within_the_budget(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sells(monkeypatch, *TWO)
    found = starting.start(ANSWERS, tmp_path / "first.yaml", AWS_SEEN)
    assert [one.offering.name for one in found.plan.candidates] == ["m7i.large", "m7i.xlarge"]
    worst = found.plan.quote.worst_cost
    assert worst is not None
    assert 0 < worst.amount <= 20
    assert (found.form.launches, found.form.runs) == (8, 2)
    assert found.path.read_text() == found.text
    assert next_commands(found) == [
        f"cloudcmp plan {found.path}",
        f"cloudcmp check {found.path}",
        f"cloudcmp run {found.path} --out {tmp_path / 'first'}",
        f"cloudcmp report {tmp_path / 'first'} --open",
        f"cloudcmp recommend {tmp_path / 'first'} --maximise int_op_per_s",
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"first.yaml", starter.SCHEMA_FILE}


def test_a_small_budget_takes_fewer_rounds_runs_and_matters_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sells(monkeypatch, *TWO)
    whole = starting.start(ANSWERS, tmp_path / "whole.yaml", AWS_SEEN).plan.quote.worst_cost
    assert whole is not None
    told = replace(ANSWERS, budget=replace(whole, amount=whole.amount * Decimal("0.8")))
    found = starting.start(told, tmp_path / "half.yaml", AWS_SEEN)
    assert found.plan.quote.worst_cost is not None
    assert found.plan.quote.worst_cost.amount <= told.budget.amount
    assert found.form.launches == 6
    tiny = replace(ANSWERS, budget=replace(whole, amount=Decimal("0.01")))
    with pytest.raises(UserMistake, match=r"is too little for the smallest study.* it needs at least 1.18 USD"):
        starting.start(tiny, tmp_path / "tiny.yaml", AWS_SEEN)
    assert not (tmp_path / "tiny.yaml").exists()
    least = replace(ANSWERS, budget=replace(whole, amount=Decimal("1.18")))
    found = starting.start(least, tmp_path / "least.yaml", AWS_SEEN)
    assert found.form == starter.Form(6, 1, ("cpu",))
    assert "left out, because the budget is too small: memory, disk" in summary_lines(found)


def test_the_least_budget_and_the_nearest_size_are_proposed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sells(monkeypatch, *TWO)
    for answers, option in (
        (replace(ANSWERS, vcpus=512, memory_gib=4096), "--size"),
        (replace(ANSWERS, budget=Money(Decimal("0.01"), "USD")), "--budget"),
    ):
        with pytest.raises(RefusedAnswer) as refused:
            starting.start(answers, tmp_path / "s.yaml", AWS_SEEN)
        assert [fault.where for fault in refused.value.faults] == [option]
        told = questions.answers({option: refused.value.instead})
        starting.start(told, tmp_path / f"{option}.yaml", AWS_SEEN)


@pytest.mark.parametrize(
    ("price", "says"),
    [
        ("0.24", ["price: a second verdict, on the work that 1 USD buys, for memory"]),
        (None, ["price: not compared while it is unknown: aws/eu-central-1/m7i.xlarge"]),
    ],
)
def test_a_price_that_matters_and_is_unknown_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, price: str | None, says: list[str]
) -> None:
    sells(monkeypatch, TWO[0], offering("m7i.xlarge", price, 4, 16.0))
    told = questions.answers({"--matters": "price,scaling,memory"})
    found = starting.start(told, tmp_path / "s.yaml", AWS_SEEN)
    lines = list(summary_lines(found))
    assert found.form.matters == ("memory", "scaling")
    assert [line for line in lines if line.startswith("price: ")] == says
    assert not any(line.startswith("added for") for line in lines)


def test_nothing_near_the_size_is_refused_with_the_nearest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sells(monkeypatch, *TWO)
    told = replace(ANSWERS, vcpus=512, memory_gib=4096)
    with pytest.raises(UserMistake, match=r"the nearest is aws/eu-central-1/m7i.xlarge, 4 vCPUs, 16 GiB"):
        starting.start(told, tmp_path / "s.yaml", AWS_SEEN)
    assert list(tmp_path.iterdir()) == []


def test_without_a_price_the_worst_case_is_unknown_and_the_list_to_fetch_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sells(monkeypatch, offering("m7i.large", None), offering("m7i.xlarge", None, 4, 16.0))
    found = starting.start(ANSWERS, tmp_path / "s.yaml", AWS_SEEN)
    assert found.cheapest == ()
    assert "worst case: unknown, because a price is unknown; until then nothing is created" in summary_lines(found)
    assert next_commands(found)[0] == "cloudcmp fetch aws --region eu-central-1"


def test_a_cloud_that_sells_nothing_like_it_is_left_out_and_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sells(monkeypatch)
    found = starting.start(ANSWERS, tmp_path / "s.yaml", AWS_SEEN)
    assert found.clouds == ()
    assert found.left_out[0].startswith("aws is left out: ")
    assert all(one.simulated for one in found.plan.candidates)
    assert any("three INVENTED clouds" in line for line in summary_lines(found))


def test_the_cheapest_by_price_list_are_of_the_asked_size_and_dated(monkeypatch: pytest.MonkeyPatch) -> None:
    sells(
        monkeypatch,
        offering("dear", "0.30"), offering("cheap", "0.08"), offering("big", "0.05", 4, 16.0),
        offering("lean", "0.01", 2, 2.0), offering("fat", "0.02", 2, 64.0), offering("unknown", None),
        offering("roomy", "0.10", 2, 16.0), offering("fair", "0.11"),
    )  # fmt: skip
    found, unlisted = starting.cheapest_by_price_list(ANSWERS)
    assert [one.name for one in found] == ["cheap", "roomy", "fair"]
    assert [name for name, _ in unlisted] == ["azure", "gcp"]
    heads, rows = prices_table(found)
    assert len(heads) == len(rows[0])
    assert rows[0] == ("aws cheap", "eu-central-1", "2 vCPUs, 8 GiB", "0.08 USD", TODAY.isoformat())


def test_a_file_that_is_there_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("mine")
    with pytest.raises(UserMistake, match="is not overwritten"):
        starting.start(ANSWERS, path, ())
    (tmp_path / "link.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserMistake, match="is not overwritten"):
        starting.check_new_file(tmp_path / "link.yaml")
    with pytest.raises(UserMistake, match="is not a valid name of a study file"):
        starting.check_new_file(tmp_path / "study.txt")
    assert path.read_text() == "mine"
    draft = tmp_path / f".new.yaml.{os.getpid()}.part"
    draft.symlink_to(path)
    starting.write_new(tmp_path / "new.yaml", "new")
    assert (tmp_path / "new.yaml").read_text() == "new"
    assert not (tmp_path / "new.yaml").is_symlink()
    assert not draft.is_symlink()
    assert path.read_text() == "mine"
    starting.check_new_file(tmp_path / "new" / "study.yaml")
    for folder in (tmp_path / "no" / "folder", path):
        with pytest.raises(UserMistake, match="no such folder"):
            starting.check_new_file(folder / "study.yaml")
    assert not (tmp_path / "no").exists()
