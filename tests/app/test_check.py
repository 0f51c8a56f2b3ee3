"""What is looked at before a study begins, and the contract tried out within a budget."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cloudcmp.agent import locate
from cloudcmp.app import plan as planning
from cloudcmp.app.check.live import prepare
from cloudcmp.app.check.live import run as prove
from cloudcmp.app.check.preflight import check, check_plan, check_providers, preflight, refuse
from cloudcmp.app.provider_clients import UnavailableProvider
from cloudcmp.app.run import start
from cloudcmp.errors import NoCredentials, OutsideFault, Refused, Throttled, UserMistake
from cloudcmp.execute.teardown import RunEnd
from cloudcmp.model.check import LiveCheck, ProviderFinding
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.safety import Finding
from cloudcmp.provider import registry
from cloudcmp.report.check_summary import MARKS, next_steps, not_set_up, table, verdict
from cloudcmp.report.documents import check as document
from cloudcmp.report.progress import Silence
from cloudcmp.report.table import Head

from .paid import PRICE, TODAY, Paid


def plan_of(provider: str, more: str = "") -> Plan:
    text = (
        f"schema: 1\nquestion: Which?\ncandidates:\n  - {{provider: {provider}, region: local, offering: 1cpu{more}}}\n"
        "probes: [{probe: fma}]\nlaunches: 1\nbudget: 5 USD\n"
    )
    return planning.plan_text(text, "study.yaml")


def found_of(checked: Sequence[ProviderFinding], what: str) -> Finding:
    (one,) = [each.finding for each in checked if each.finding.what == what]
    return one


def checked(provider: Any, candidates: Sequence[Candidate] = (), **how: Any) -> tuple[ProviderFinding, ...]:
    return asyncio.run(check({provider.name: provider}, candidates, **how))


def test_all_that_is_needed_is_looked_at(paid: type[Paid]) -> None:
    found = asyncio.run(check_plan(plan_of("paid")))
    assert [one.finding.what for one in found] == ["plan", "credentials", "rights", "price", "agent", "clock"]
    assert [one.finding.ok for one in found] == [True, True, True, True, None, None]
    assert paid.created == []


def test_a_finding_is_told_in_a_word_and_a_sign(paid: type[Paid]) -> None:
    paid.found = (Finding("quota", False, "0 of 8 vCPUs", "ask for more"), Finding("rights", None, "not told"))
    checked = asyncio.run(check_providers(["paid"]))
    columns, rows = table(checked)
    assert [one.title if isinstance(one, Head) else one for one in columns] == ["provider", "what", "holds", "found"]
    assert ("paid", "quota", "! not ok", "0 of 8 vCPUs") in rows
    assert ("paid", "rights", "? unknown", "not told") in rows
    assert "next, paid quota: ask for more" in next_steps(checked)
    assert not [one for one in next_steps(checked) if "rights" in one]
    assert all(mark.isascii() for mark in MARKS.values())
    assert {"provider": "paid", "what": "rights", "ok": None, "text": "not told", "next": ""} in document(
        asyncio.run(check_providers(["paid"]))
    )["findings"]


def test_a_missing_price_refuses_where_money_is_spent_and_only_there(paid: type[Paid]) -> None:
    paid.price = None
    assert found_of(asyncio.run(check_plan(plan_of("paid"))), "price").ok is False
    assert found_of(asyncio.run(check_plan(plan_of("local"))), "price").ok is None
    assert found_of(asyncio.run(check_plan(plan_of("paid", ", price: 0.10 USD/h"))), "price").ok is True


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (NoCredentials.at("paid", "ExpiredToken", "log in again"), "credentials"),
        (ModuleNotFoundError("No module named 'botocore'", name="botocore"), "extra"),
        (UserMistake.at("paid/nowhere", "there is no such region", "nearest: local"), "settings"),
        (Throttled.at("paid", "RequestLimitExceeded", ""), "answer"),
        (TimeoutError("timed out"), "answer"),
    ],
)
def test_a_provider_that_cannot_be_asked_is_told_apart(paid: type[Paid], error: Exception, what: str) -> None:
    class Mute(paid):  # type: ignore[misc,valid-type]
        async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
            raise error

    found = found_of(checked(Mute(Path())), what)
    assert found.ok is False
    assert found.text


def test_a_provider_whose_extra_is_missing_is_a_finding() -> None:
    missing = UnavailableProvider("aws", "botocore is not installed", "add the extra: cloudcmp[aws]")
    (one,) = asyncio.run(check({}, (), [missing]))
    assert (one.provider, one.finding.what, one.finding.ok) == ("aws", "extra", False)


def test_a_missing_agent_says_where_it_was_looked_for(
    paid: type[Paid], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLOUDCMP_AGENT", str(tmp_path / "nothing"))
    found = found_of(asyncio.run(check_plan(plan_of("local"))), "agent")
    assert found.ok is False
    assert "not there" in found.text


def test_the_agent_is_the_one_for_the_machines(paid: type[Paid]) -> None:
    plan = plan_of("paid")
    arms = [replace(one, offering=replace(one.offering, attributes=(("architecture", "arm64"),)))
            for one in plan.candidates]  # fmt: skip
    unknown = [replace(one, offering=replace(one.offering, attributes=())) for one in plan.candidates]
    found = found_of(checked(paid(Path()), arms), "agent")
    assert "aarch64-unknown-linux" in found.text
    assert found_of(checked(paid(Path()), unknown), "agent").ok is None


def test_a_clock_that_is_before_the_installation_is_wrong(paid: type[Paid]) -> None:
    assert found_of(checked(paid(Path()), now=lambda: 0.0), "clock").ok is False
    assert found_of(checked(paid(Path()), now=time.time), "clock").ok is None
    paid.found = (Finding("clock", True, "0.2 s from the provider's"),)
    assert found_of(checked(paid(Path()), now=lambda: 0.0), "clock").ok is True


def test_an_unknown_provider_is_named_with_the_nearest() -> None:
    with pytest.raises(UserMistake, match="nearest: simulated"):
        asyncio.run(check_providers(["simulatd"]))


def test_what_nobody_set_up_is_no_fault_unless_it_was_named(paid: type[Paid], monkeypatch: pytest.MonkeyPatch) -> None:
    paid.found = (Finding("credentials", False, "there are none", "log in"), Finding("quota", False, "0 vCPUs"))
    makers = {"paid": registry._FACTORIES["paid"]}
    monkeypatch.setattr(registry, "_FACTORIES", makers)
    monkeypatch.setattr(registry, "_long_tail", tuple)
    assert found_of(asyncio.run(check_providers([])), "credentials").ok is None
    assert found_of(asyncio.run(check_providers([])), "quota").ok is False
    assert found_of(asyncio.run(check_providers(["paid"])), "credentials").ok is False


def test_what_was_found_before_a_provider_hangs_is_told(paid: type[Paid]) -> None:
    over = threading.Event()

    class Slow(paid):  # type: ignore[misc,valid-type]
        def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
            over.wait(30.0)
            return ()

    began = time.monotonic()
    try:
        found = checked(Slow(Path()), plan_of("paid").candidates, within_s=0.3)
    finally:
        over.set()
    assert time.monotonic() - began < 20.0
    assert found_of(found, "rights").ok is True
    assert found_of(found, "answer").text == "it did not answer within 0.3 s"
    assert not [one for one in found if one.finding.what == "price"]


def test_who_is_not_set_up_takes_one_line_and_no_row(paid: type[Paid], monkeypatch: pytest.MonkeyPatch) -> None:
    paid.found = (Finding("credentials", False, "there are none", "log in"),)
    monkeypatch.setattr(registry, "_FACTORIES", {name: registry._FACTORIES[name] for name in ("paid", "local")})
    monkeypatch.setattr(registry, "_long_tail", tuple)
    checked = asyncio.run(check_providers([]))
    assert {row[0] for row in table(checked)[1]} == {"local"}
    assert not_set_up(checked) == ["not set up, paid: there are none; log in"]
    assert next_steps(checked) == []
    assert list(verdict(checked)) == ["as far as known, a study could start on local"]
    asked_for = asyncio.run(check_providers(["paid"]))
    assert [row[:3] for row in table(asked_for)[1]] == [("paid", "credentials", "! not ok")]
    assert not_set_up(asked_for) == []
    assert next_steps(asked_for) == ["next, paid credentials: log in"]
    assert list(verdict(asked_for)) == ["a study could not start on paid: see credentials"]


def test_what_is_in_the_way_is_told_first_and_by_name() -> None:
    found = (
        ProviderFinding("study", Finding("plan", False, "no budget")),
        ProviderFinding("nimbus", Finding("account", None, "account 1", "write account: '1'")),
        ProviderFinding("cirrus", Finding("clock", False, "400 s ahead", "set the clock")),
        ProviderFinding("cirrus", Finding("quota", False, "0 of 8", "ask for more")),
    )
    assert [one.partition(":")[0] for one in next_steps(found)] == [
        "next, cirrus clock", "next, cirrus quota", "next, nimbus account",
    ]  # fmt: skip
    assert list(verdict(found)) == [
        "the study cannot be run: see plan",
        "as far as known, a study could start on nimbus",
        "a study could not start on cirrus: see clock, quota",
    ]


def test_what_does_not_hold_refuses_with_a_line_each() -> None:
    rights = Finding("rights", False, "paid: may not terminate", "attach the policy")
    price = Finding("price", False, "paid: no price is known")
    refuse([Finding("quota", None, "not told"), Finding("host", True, "there")])
    with pytest.raises(OutsideFault) as outside:
        refuse([rights, price])
    assert [fault.where for fault in outside.value.faults] == ["rights", "price"]
    assert outside.value.exit_code == 3
    with pytest.raises(UserMistake) as mistake:
        refuse([price])
    assert mistake.value.exit_code == 2
    assert str(mistake.value) == "price: paid: no price is known; see: cloudcmp check"


def test_p10_where_deleting_is_denied_nothing_is_created(paid: type[Paid], tmp_path: Path) -> None:
    paid.found = (Finding("rights", False, "UnauthorizedOperation: ec2:TerminateInstances", "attach the policy"),)
    plan = plan_of("paid")
    providers = {"paid": paid(tmp_path)}
    with pytest.raises(OutsideFault, match=r"rights: paid: UnauthorizedOperation: ec2:TerminateInstances"):
        refuse(asyncio.run(preflight(providers, plan)))
    with pytest.raises(OutsideFault, match="TerminateInstances"):
        prove(prepare("paid", budget="1 USD", region=None, offering=None, price=None))
    assert paid.created == []


def test_p13_an_unknown_or_old_price_refuses_and_a_given_one_does_not(paid: type[Paid]) -> None:
    paid.price = None
    with pytest.raises((UserMistake, Refused), match="price"):
        prepare("paid", budget="1 USD", region=None, offering=None, price=None)
    assert prepare("paid", budget="1 USD", region=None, offering=None, price="0.01 USD/h").worst is not None
    paid.price = replace(PRICE, as_of=TODAY.replace(year=TODAY.year - 1, day=1))
    with pytest.raises((UserMistake, Refused), match="days old"):
        prepare("paid", budget="1 USD", region=None, offering=None, price=None)


def test_what_machines_are_made_of_is_fetched_by_a_study_and_by_no_check(
    paid: type[Paid], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told: list[str] = []

    async def prepare(self: Paid, candidates: Sequence[Candidate], say: Callable[[str], None]) -> None:
        told.extend(f"{one.id} after {len(self.created)} machines" for one in candidates)
        raise Refused.at("paid", "there is no apt-get", "")

    monkeypatch.setattr(paid, "prepare", prepare, raising=False)
    asyncio.run(check_plan(plan_of("paid")))
    assert told == []
    text = "schema: 1\nquestion: Which?\ncandidates: [{provider: paid, region: local, offering: 1cpu}]\n"
    plan = planning.plan_text(f"{text}probes: [{{probe: fma}}]\nlaunches: 1\nbudget: 5 USD\n", "study.yaml")
    with pytest.raises(Refused, match="no apt-get"):
        start(plan, text, tmp_path / "out", work=None, wait=False, progress=Silence(), leave=_never)
    assert told == ["paid/local/1cpu after 0 machines"]
    assert not (tmp_path / "out").exists()
    told.clear()
    with pytest.raises(Refused, match="no apt-get"):
        prove(prepare_try("paid"))
    assert len(told) == 1
    paid.found = (Finding("rights", False, "UnauthorizedOperation", "attach the policy"),)
    with pytest.raises(OutsideFault):
        prove(prepare_try("paid"))
    assert len(told) == 1
    assert paid.created == []


def _never(_: RunEnd) -> NoReturn:
    raise AssertionError("nothing was begun that could be left")


def prepare_try(provider: str) -> LiveCheck:
    return prepare(provider, budget="1 USD", region=None, offering=None, price=None)


def test_the_agent_is_there_for_these_tests() -> None:
    assert os.access(locate(), os.X_OK)
