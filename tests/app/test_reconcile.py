"""The bill beside the study's own count.

The bills are made by hand from the documented columns, and the studies' ledgers by tests or by a run on an emulated
EC2: no real bill and no real account was ever seen.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.app.reconcile import reconcile
from cloudcmp.cost.billed import ComparedLine, Kind, State
from cloudcmp.errors import UserMistake
from cloudcmp.model.bill import BillLine
from cloudcmp.model.lease import FIREWALL, INSTANCE, LeaseEvent, LeaseRow
from cloudcmp.model.offering import Volume
from cloudcmp.provider.gcp.tags import label
from cloudcmp.store import StudyStore
from cloudcmp.units import Money
from tests.analysis.planted import plan_of, price
from tests.app.test_not_its_fault import STUDY, command
from tests.cli.command import cloudcmp, installed
from tests.cost import bills
from tests.cost.bills import HOUR_S, NOVEMBER_9, Usage, write
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import ec2
from tests.needs import needs_machines

NOW = NOVEMBER_9 + 5 * 86400
MARCH = datetime(2027, 3, 1, tzinfo=UTC).timestamp()


def study(
    folder: Path, *, currency: str = "USD", name: str = "eu", zone: str = "", beside: str = "0.005",
    lines: tuple[BillLine, ...] = (),
) -> tuple[Path, str]:  # fmt: skip
    """A study of two candidates on aws with a disk and an address each, whose first launches came and went."""
    plan = plan_of(candidates=2, rounds=1, prices=[price("0.10", currency), price("0.20", currency)], runner="aws")
    disk = Volume("gp3", 10 * 2**30, price=price("0.01", currency))
    sold = [replace(one.offering, provider="aws") for one in plan.candidates]
    candidates = [
        replace(one, offering=sold[at], volume=disk, beside=price(beside, currency))
        for at, one in enumerate(plan.candidates)
    ]
    quote = replace(plan.quote, expected_cost=Money(Decimal("0.6"), "USD"), worst_cost=Money(Decimal(4), "USD"),
                    lines=lines)  # fmt: skip
    plan = replace(plan, candidates=tuple(candidates), name=name, quote=quote)
    with StudyStore.create(folder, plan, study_text="", provenance={}, created_at=NOVEMBER_9) as store:
        for at, per_hour in enumerate(("0.115", "0.215")):
            lived(store, f"launch-{at}", f"{zone}i-0{at:016x}", Decimal(per_hour), currency, hours=at + 1)
        group = LeaseRow("launch-0.firewall", 1, LeaseEvent.INTENT, "aws", "r", FIREWALL, "f", "t", NOVEMBER_9)
        store.append_lease(group)
        return folder, store.tag


def lived(store: StudyStore, slot: str, id: str, per_hour: Decimal, currency: str, hours: int) -> None:
    """A machine that was asked for, came, and was seen gone after so many hours."""
    intent = LeaseRow(slot, 1, LeaseEvent.INTENT, "aws", "r", INSTANCE, slot, slot, NOVEMBER_9, None, per_hour,
                      currency, 4 * HOUR_S)  # fmt: skip
    store.append_lease(intent)
    store.append_lease(replace(intent, event=LeaseEvent.CREATED, at=NOVEMBER_9 + 5, cloud_id=id))
    store.append_lease(replace(intent, event=LeaseEvent.GONE, at=NOVEMBER_9 + hours * HOUR_S, cloud_id=id))


ONE, TWO = "i-00000000000000000", "i-00000000000000001"


def whole_bill(tag: str) -> list[Usage]:
    """All that the two machines of the study may be billed, with tags and ids."""
    first = {"study": tag, "slot": "launch-0"}
    second = {"study": tag, "slot": "launch-1"}
    return [
        Usage(ONE, "0.1000", **first),
        Usage("vol-1", "0.0110", "disk", **first),
        Usage(ONE, "0.0050", "address", **first),
        Usage(ONE, "0.0300", "traffic", **first),
        Usage(TWO, "0.2000", **second),
        Usage(TWO, "0.2000", start=NOVEMBER_9 + HOUR_S, **second),
        Usage("vol-2", "0.0200", "disk", hours=2, **second),
        Usage(TWO, "0.0100", "address", hours=2, **second),
        Usage("i-9", "50", study="another-study"),
        Usage("bucket", "70", "other"),
    ]


def by(sides: tuple[ComparedLine, ...], slot: str, kind: Kind) -> ComparedLine:
    (found,) = (one for one in sides if (one.slot, one.kind) == (slot, kind))
    return found


@pytest.mark.parametrize("maker", [bills.aws_rows, bills.aws2_rows, bills.focus_rows, bills.gcp_rows])
def test_each_resource_and_kind_stands_beside_its_estimate(tmp_path: Path, maker) -> None:
    folder, tag = study(tmp_path / "s")
    found = reconcile(folder, [write(tmp_path / "b.ndjson", maker(whole_bill(tag)))], now=NOW)
    machine = by(found.sides, "launch-1", Kind.MACHINE)
    assert (machine.candidate, machine.resource.endswith(TWO), machine.lines) == ("c1", True, 2)
    assert machine.billed is not None
    assert machine.billed.amount == machine.estimated.amount == Decimal("0.40")
    assert (machine.difference.amount, machine.ratio, machine.state) == (0, 1.0, State.BOTH)
    disk = by(found.sides, "launch-0", Kind.DISK)
    assert (disk.billed.amount, disk.estimated.amount) == (Decimal("0.011"), Decimal("0.01"))
    assert (disk.difference.amount, disk.ratio) == (Decimal("0.001"), pytest.approx(1.1))
    traffic = by(found.sides, "launch-0", Kind.TRAFFIC)
    assert (traffic.billed.amount, traffic.estimated, traffic.ratio) == (Decimal("0.03"), None, None)
    (total,) = found.totals
    assert (total.used, total.estimated) == (Decimal("0.576"), Decimal("0.545"))
    assert total.difference == Decimal("0.031")
    assert found.alarms == ()
    assert [(one.study, one.amount) for one in found.foreign] == [("another-study", Decimal(50))]


def test_a_daily_bill_of_azure(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.azure_rows(whole_bill(tag)))], now=NOW)
    assert found.totals[0].used == Decimal("0.576")
    assert found.alarms == ()  # a line of a day reaches beyond the machine's end


def test_google_knows_machines_by_name_and_tags_by_labels(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s", name="A.Study", zone="europe-west4-a/")
    assert label(tag) != tag  # a label holds no capital and no dot
    own = {"study": label(tag), "slot": "launch-0"}
    used = [Usage(ONE, "0.09", **own), Usage("disk-1", "0.02", "disk", **own), Usage(TWO, "0.40")]
    found = reconcile(folder, [write(tmp_path / "b.ndjson", bills.gcp_rows(used))], now=NOW)
    assert by(found.sides, "launch-0", Kind.MACHINE).ratio == pytest.approx(0.9)
    assert by(found.sides, "launch-0", Kind.DISK).ratio == pytest.approx(2.0)
    assert by(found.sides, "launch-1", Kind.MACHINE).ratio == pytest.approx(1.0)
    assert found.alarms == ()


def test_what_is_billed_and_not_in_the_ledger_is_an_alarm(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    used = [*whole_bill(tag), Usage("i-0fff", "3.00", study=tag), Usage("vol-9", "1.00", "disk", study=tag)]
    used.append(Usage("vol-2", "0.50", "disk", study=tag, slot="launch-1", start=NOVEMBER_9 + 30 * HOUR_S))
    used.append(Usage("vol-8", "0.25", "disk", study=tag, start=NOVEMBER_9 + 30 * HOUR_S))
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(used))], now=NOW)
    assert found.alarms == (
        "disk vol-2: 0.520 USD, billed after it was seen gone",
        "machine i-0fff: 3.00 USD, billed with this study's tag, and not in its ledger",
        "disk vol-8: 0.250 USD, billed after it was seen gone",
    )
    assert next(one for one in found.sides if one.resource == "vol-9").state is State.BY_TAG
    assert any("activate cloudcmp:slot" in note for note in found.notes)


def test_what_is_not_billed_yet_is_said_with_how_far_the_files_reach(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    first = [one for one in whole_bill(tag) if one.slot == "launch-0"]
    path = write(tmp_path / "b.csv", bills.aws_rows(first))
    found = reconcile(folder, [path], now=NOW)
    missing = by(found.sides, "launch-1", Kind.MACHINE)
    assert (missing.state, missing.billed, missing.estimated.amount) == (State.NOT_YET, None, Decimal("0.40"))
    assert (found.totals[0].difference, found.totals[0].ratio) == (None, None)  # of all that was estimated
    assert "1 of 2 machines of the ledger are not billed yet; the files reach until 2026-11-09 11:00 UTC" in found.notes
    assert "this one may change until 2026-12-08" in found.notes[0]
    assert reconcile(folder, [path], now=MARCH).preliminary_until is None
    invoiced = write(tmp_path / "i.csv", bills.aws_rows([replace(one, invoice="42") for one in first]))
    assert reconcile(folder, [invoiced], now=NOW).preliminary_until is None


def test_a_bill_in_another_currency_has_no_difference(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s", currency="EUR")
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(whole_bill(tag)))], now=NOW)
    assert {(one.difference, one.ratio) for one in found.sides} == {(None, None)}
    assert [(one.currency, one.used, one.estimated, one.difference) for one in found.totals] == [
        ("EUR", Decimal(0), Decimal("0.545"), None),
        ("USD", Decimal("0.576"), None, None),
    ]
    assert any("billed in USD, estimated in EUR: no difference is known" in note for note in found.notes)


def test_credits_refunds_and_taxes_stand_apart(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    own = {"study": tag, "slot": "launch-0"}
    used = [*whole_bill(tag), Usage(ONE, "-0.05", type="credit", **own), Usage(ONE, "0.02", type="tax", **own)]
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(used))], now=NOW)
    assert found.totals[0].used == Decimal("0.576")
    assert found.totals[0].apart == ((Kind.CREDIT, Decimal("-0.05")), (Kind.TAX, Decimal("0.02")))


def test_the_quote_of_the_whole_plan_is_told_beside(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(whole_bill(tag)))], now=NOW)
    assert "quoted for the whole plan: 0.600 USD, at worst 4.00 USD" in found.notes


def test_traffic_is_estimated_as_the_quote_has_it_a_launch_each(tmp_path: Path) -> None:
    egress = BillLine(
        "egress to zone, aws/r", Decimal(3), "GB", Decimal("0.01"), Money(Decimal("0.03"), "USD"), "", "c0"
    )
    folder, tag = study(tmp_path / "s", lines=(egress,))
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(whole_bill(tag)))], now=NOW)
    traffic = by(found.sides, "launch-0", Kind.TRAFFIC)
    assert (traffic.billed.amount, traffic.estimated.amount, traffic.ratio) == (Decimal("0.03"), Decimal("0.03"), 1.0)
    assert "traffic is estimated from the plan, not from what was sent" in found.notes


def test_the_disk_under_the_system_is_not_taken_for_an_address(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s", beside="0.006")  # an address, and a disk that came with the machine
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows(whole_bill(tag)))], now=NOW)
    assert by(found.sides, "launch-0", Kind.ADDRESS).estimated.amount == Decimal("0.005")
    assert by(found.sides, "launch-0", Kind.DISK).estimated.amount == Decimal("0.011")
    assert by(found.sides, "launch-0", Kind.MACHINE).estimated.amount == Decimal("0.099")


def test_a_bill_without_any_line_of_the_study_says_so(tmp_path: Path) -> None:
    folder, _ = study(tmp_path / "s")
    found = reconcile(folder, [write(tmp_path / "b.csv", bills.aws_rows([Usage("bucket", "70", "other")]))], now=NOW)
    assert {one.state for one in found.sides} == {State.NOT_YET}
    assert found.totals[0].difference is None
    assert any("2 of 2 machines of the ledger are not billed yet" in note for note in found.notes)


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    folder, _ = study(tmp_path / "s")
    with pytest.raises(UserMistake, match="nearest: azure"):
        reconcile(folder, [tmp_path / "b.csv"], "azur")


def test_the_command_shows_it_within_80_columns_and_ends_with_1_for_an_alarm(tmp_path: Path) -> None:
    folder, tag = study(tmp_path / "s")
    path = write(tmp_path / "b.csv", bills.aws_rows(whole_bill(tag)))
    told = installed("reconcile", folder, "--bill", path)
    assert told.code == 0, told.err
    assert "used: 0.576 USD billed, 0.545 USD estimated, ratio 1.057" in told.out
    assert "another study's tag 'another-study': 50.00 USD" in told.out
    assert max(map(len, told.out.splitlines())) <= 80
    assert re.search(r"machine: c1 launch-1/1 +0\.4000 +0\.4000 +\+0\.0000 +1\.000", told.out)
    more = write(tmp_path / "c.csv", bills.aws_rows([Usage("i-0fff\x1b[31m", "3.00", study=tag)]))
    told = cloudcmp("reconcile", folder, "--bill", path, "--bill", more)
    assert told.code == 1
    assert "alarm: machine i-0fff" in told.err
    assert "cloudcmp sweep" in told.err
    assert "\x1b" not in told.out + told.err
    document = cloudcmp("reconcile", folder, "--bill", path, "--json").json
    assert document["schema"] == "cloudcmp.reconcile/1"
    assert document["data"]["totals"][0]["used"] == "0.5760"
    nothing = cloudcmp("reconcile", folder, "--bill", tmp_path / "nowhere.csv")
    assert (nothing.code, nothing.err.count("\n")) == (2, 1)


@needs_machines
def test_a_study_that_ran_on_the_emulated_cloud_finds_each_of_its_machines_on_the_bill(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY.replace("launches: 2", "launches: 1"))
    with ec2(boot=ssh_boot(tmp_path / "m")) as cloud:
        code, told = command(tmp_path, cloud, "run", tmp_path / "s.yaml", "--out", tmp_path / "out")
        assert code == 0, told
    with StudyStore.open(tmp_path / "out", write=False) as store:
        leases = [one for one in store.leases() if one.kind == INSTANCE]
        tag = store.tag
    assert len(leases) == 2
    used = [
        Usage(one.cloud_id, "0.0002", study=tag, slot=one.slot, start=one.created_at // HOUR_S * HOUR_S)
        for one in leases
    ]
    found = reconcile(tmp_path / "out", [write(tmp_path / "b.csv", bills.aws_rows(used))])
    machines = [one for one in found.sides if one.kind is Kind.MACHINE]
    assert [one.state for one in machines] == [State.BOTH] * 2
    assert all(one.ratio is not None and one.estimated.amount > 0 for one in machines)
    assert found.alarms == ()
    assert json.dumps(found.preliminary_until) != "null"
