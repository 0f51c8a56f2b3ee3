"""The contract tried out within a budget: what is told before, what is left after."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.app.check.live import TTL_S, prepare
from cloudcmp.app.check.live import run as prove
from cloudcmp.app.cleanup import cleanup
from cloudcmp.errors import BudgetSpent, Refused, UserMistake
from cloudcmp.model.lease import CreateRequest, Handle
from cloudcmp.model.offering import Billing
from cloudcmp.provider.local import LocalProvider
from cloudcmp.provision.contract import TESTED
from cloudcmp.report.check_summary import live_announcement, live_summary

from .paid import Paid


@pytest.mark.parametrize("provider", ["local", "simulated"])
def test_the_contract_holds_here_as_it_is_said(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tryout = prepare(provider, budget=None, region=None, offering=None, price=None)
    assert tryout.worst is None
    assert "nothing is billed" in live_announcement(tryout, TTL_S)[0]
    proved = prove(tryout)
    assert proved.differs == ()
    assert proved.left == ()
    assert proved.broken == ()
    assert {one.clause for one in proved.rulings if one.holds is None} == set(TESTED[provider].unknown)
    assert not tryout.folder.exists()
    assert "not on a real account" in " ".join(
        live_summary(provider, len(proved.rulings), proved.differs, proved.left, interrupted=False)
    )


def test_the_worst_case_is_told_before_and_kept_within_the_budget(paid: type[Paid]) -> None:
    tryout = prepare("paid", budget="1 USD", region=None, offering=None, price=None)
    assert tryout.worst is not None
    # Three machines of 0.02 USD/h for half an hour each.
    assert tryout.worst.amount == Decimal("0.03")
    assert "at worst 0.0300 USD" in live_announcement(tryout, TTL_S)[0]
    with pytest.raises(BudgetSpent, match=r"worst case is 0.0300 USD, above the budget of 0.0290 USD"):
        prepare("paid", budget="0.029 USD", region=None, offering=None, price=None)


def test_a_whole_hour_is_counted_where_hours_are_billed(paid: type[Paid]) -> None:
    paid.billing = Billing(3600.0, 3600.0)
    tryout = prepare("paid", budget="1 USD", region=None, offering=None, price=None)
    assert tryout.worst is not None
    assert tryout.worst.amount == Decimal("0.06")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"budget": None}, "give a budget"),
        ({"budget": "1"}, "needs a currency"),
        ({"budget": "1 EUR"}, "one currency"),
        ({"price": "0"}, "'0' is no price of one hour; write e.g. '0.10 USD/h'$"),
        ({"region": "lokal"}, "nearest: local"),
        ({"offering": "1cpus"}, "nearest: 1cpu"),
    ],
)
def test_what_cannot_be_tried_out_is_refused_before_anything_is_made(
    paid: type[Paid], how: dict[str, str | None], says: str
) -> None:
    options: dict[str, Any] = {"budget": "1 USD", "region": None, "offering": None, "price": None} | how
    with pytest.raises((UserMistake, Refused), match=says):
        prepare("paid", **options)
    assert paid.created == []


@pytest.mark.parametrize(
    ("allow", "says"),
    [
        (None, "admits only named addresses"),
        ("0.0.0.0/0", "too many addresses to admit"),
        ("10.0.0.0/8", "too many"),
        ("here", "does not appear to be"),
        ("203.0.113.7/32,::/0", "too many"),
    ],
)
def test_a_firewall_lets_in_only_whom_the_user_names(paid: type[Paid], allow: str | None, says: str) -> None:
    paid.parts = ("firewall", "instance")
    with pytest.raises(UserMistake, match=says):
        prepare("paid", budget="1 USD", region=None, offering=None, price=None, allow=allow)
    ok = prepare("paid", budget="1 USD", region=None, offering=None, price=None, allow="203.0.113.7/32,2001:db8::1/128")
    assert ok.allow == "203.0.113.7/32,2001:db8::1/128"
    assert paid.created == []


def test_where_nothing_could_be_made_it_has_not_begun(paid: type[Paid], monkeypatch: pytest.MonkeyPatch) -> None:
    async def create(self: Paid, request: CreateRequest) -> str:
        raise Refused.at("paid", "OptInRequired", "sign up")

    monkeypatch.setattr(paid, "create", create)
    proved = prove(prepare("paid", budget="1 USD", region=None, offering=None, price=None))
    assert not proved.begun
    assert proved.left == ()
    assert any("OptInRequired" in one.why for one in proved.rulings)


def test_what_is_left_is_told_and_cleanup_ends_it(paid: type[Paid], monkeypatch: pytest.MonkeyPatch) -> None:
    tryout = prepare("paid", budget="1 USD", region=None, offering=None, price=None)
    sticks = True

    async def destroy(self: LocalProvider, handle: Handle) -> None:
        if sticks:
            raise Refused.at(handle.cloud_id, "UnauthorizedOperation", "")
        await LocalProvider.destroy(self, handle)

    monkeypatch.setattr(paid, "destroy", destroy)
    monkeypatch.setattr("cloudcmp.provision.lifecycle.patience_with", lambda provider: _quick(), raising=True)
    monkeypatch.setattr("cloudcmp.provision.contract_run.patience_with", lambda provider: _quick())
    proved = prove(tryout)
    assert len(proved.left) == 2
    assert all("UnauthorizedOperation" in line for line in proved.left)
    assert tryout.folder.is_dir()
    sticks = False
    done = cleanup(tryout.folder)
    destroyed, left = done.destroyed, done.left
    assert len(destroyed) == 2
    assert left == ()


def _quick() -> Any:
    from cloudcmp.provision import Patience

    return Patience(grace_s=0.0, poll_s=0.01, give_up_s=0.05, listings=1)
