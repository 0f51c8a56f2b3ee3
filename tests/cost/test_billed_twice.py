"""What stands in two files of a bill: parts of one delivery are added up, what was delivered twice counts once."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cost import bills
from tests.cost.bills import NOVEMBER_9, Usage, write
from tests.cost.test_billed import KEY, MAKERS, STUDY, WANTED

from cloudcmp.cost.billed import EstimatedCost, Format, Kind, LeasedMachine, read, reconcile_bill
from cloudcmp.errors import UserMistake
from cloudcmp.units import Money

DAY_S = 86400
TEN_HOURS = [
    Usage("i-0aaa", "0.10", study=STUDY, slot="launch-0", start=NOVEMBER_9 + 3600 * hour) for hour in range(10)
]


def total(*paths: Path) -> Decimal:
    """All that the files bill for the study."""
    return sum((one.amount for one in read(list(paths), WANTED).charged), Decimal(0))


def directions(folder: Path) -> tuple[Path, Path]:
    """A report in two parts: traffic into a machine in the one, and out of it in the other, in all else the same."""
    sent = Usage("i-0aaa", "0.01", "traffic", study=STUDY, slot="launch-0")
    first, second = bills.aws_rows([*TEN_HOURS, sent]), bills.aws_rows([sent])
    for rows, operation in ((first, "InterZone-In"), (second, "InterZone-Out")):
        for row in rows:
            row["lineItem/Operation"] = operation
    return write(folder / "r-1.csv", first, modified=1.0), write(folder / "r-2.csv", second, modified=2.0)


def test_parts_of_a_report_add_up_where_they_hold_lines_that_are_much_alike(tmp_path: Path) -> None:
    assert total(*directions(tmp_path)) == Decimal("1.02")


@pytest.mark.parametrize("format", [Format.AWS, Format.AZURE, Format.FOCUS])
def test_a_line_that_two_parts_share_does_not_replace_a_day(tmp_path: Path, format: Format) -> None:
    used = [*TEN_HOURS, Usage("vol-1", "1", "disk", study=STUDY), Usage("ip-1", "1", "address", study=STUDY)]
    one = write(tmp_path / "1.csv", MAKERS[format](used), modified=1.0)
    two = write(tmp_path / "2.csv", MAKERS[format]([Usage("vol-1", "2", "disk", study=STUDY)]), modified=2.0)
    assert total(one, two) == Decimal(5)


def test_what_one_manifest_names_is_one_delivery(tmp_path: Path) -> None:
    alike = [write(tmp_path / f"r-{at}.csv", bills.aws_rows(TEN_HOURS[:1]), modified=float(at)) for at in (1, 2)]
    assert total(*alike) == Decimal("0.10")
    said = tmp_path / "r-Manifest.json"
    said.write_text(json.dumps({"reportKeys": ["r/r-1.csv", "r/r-2.csv"]}))
    assert total(*alike, said) == Decimal("0.20")


@pytest.mark.parametrize("format", list(Format))
def test_exports_that_overlap_count_each_day_once(tmp_path: Path, format: Format) -> None:
    def days(first: int, last: int) -> list[Usage]:
        return [Usage("i-0aaa", "1", study=STUDY, start=NOVEMBER_9 + DAY_S * day) for day in range(first, last)]

    old = write(tmp_path / "1.csv", MAKERS[format](days(0, 10)), modified=1.0)
    new = write(tmp_path / "2.csv", MAKERS[format](days(8, 15)), modified=2.0)
    assert total(old, new) == total(new, old) == Decimal(15)


def test_google_s_later_export_of_a_day_adds_to_it(tmp_path: Path) -> None:
    """The export of an hour comes in parts: what two queries share is left out line by line."""
    late = bills.gcp_rows([Usage("disk-1", "0.05", "disk", study=STUDY, slot="launch-0")])
    late[0]["export_time"] = "2026-11-12 00:00:00 UTC"
    rows = bills.gcp_rows(TEN_HOURS)
    one = write(tmp_path / "1.ndjson", rows, modified=1.0)
    two = write(tmp_path / "2.csv", [rows[-1], *late], modified=2.0)
    assert total(one, two) == Decimal("1.05")


def test_the_same_report_in_two_spellings_counts_once(tmp_path: Path) -> None:
    old, new = bills.aws_rows(TEN_HOURS), bills.aws2_rows(TEN_HOURS)
    for row in new:
        for name in ("line_item_usage_start_date", "line_item_usage_end_date"):
            row[name] = row[name].replace("T", " ").replace("Z", ".000")
    paths = write(tmp_path / "1.csv", old, modified=1.0), write(tmp_path / "2.csv", new, modified=2.0)
    assert total(*paths) == Decimal("1.00")


def test_the_same_bill_in_two_formats_is_refused(tmp_path: Path) -> None:
    one = write(tmp_path / "cur.csv", bills.aws_rows(TEN_HOURS))
    two = write(tmp_path / "focus.csv", bills.focus_rows(TEN_HOURS))
    with pytest.raises(UserMistake, match=r"focus\.csv: it bills in focus what .*cur\.csv bills in aws-cur"):
        total(one, two)
    other = write(tmp_path / "other.csv", bills.focus_rows([Usage("i-0bbb", "1", study=STUDY)]))
    assert total(one, other) == Decimal("2.00")  # two clouds, each in its own format


def test_an_estimate_that_is_not_whole_has_no_ratio(tmp_path: Path) -> None:
    used = [Usage("i-0aaa", "1", study=STUDY, slot="launch-0"), Usage("i-0bbb", "10", study=STUDY, slot="launch-1")]
    billed = read([write(tmp_path / "b.csv", bills.aws_rows(used))], WANTED)
    other = ("launch-1", 1)
    leased = {key: LeasedMachine("x", "", NOVEMBER_9, NOVEMBER_9 + 3600) for key in (KEY, other)}
    one, ten = Money(Decimal(1), "USD"), Money(Decimal(10), "USD")
    for known, ratio in ((ten, 1.0), (None, None)):
        estimates = [EstimatedCost(KEY, Kind.MACHINE, one), EstimatedCost(other, Kind.MACHINE, known)]
        (total,) = reconcile_bill(billed, estimates, leased, NOVEMBER_9 + DAY_S).totals
        assert total.used == 11
        assert (total.ratio, total.difference) == (ratio, None if ratio is None else 0)


def test_what_is_bought_ahead_is_not_used(tmp_path: Path) -> None:
    rows = bills.focus_rows([Usage("i-0aaa", "500", study=STUDY, slot="launch-0")])
    rows[0]["ChargeCategory"] = "Purchase"
    (one,) = read([write(tmp_path / "b.csv", rows)], WANTED).charged
    assert (one.item.key, one.item.kind) == (KEY, Kind.ADJUSTMENT)
