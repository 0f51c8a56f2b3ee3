"""Bills read line by line. Each is made by hand from the documented columns (bills.py): no real bill was ever seen."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cost import bills
from tests.cost.bills import Usage, write
from tests.slices import long

from cloudcmp.cost.billed import Format, Kind, StudyMarks, fields, read
from cloudcmp.cost.billed.fields import Tags
from cloudcmp.cost.billed.formats import LAYOUTS, lines
from cloudcmp.cost.billed.gather import BillContents
from cloudcmp.errors import UserMistake

STUDY = "eu-1c9e04b7aa55"
KEY = ("launch-0", 1)
WANTED = StudyMarks.of(STUDY, {KEY: "i-0aaa", ("launch-1", 1): "i-0bbb"})
MAKERS = {
    Format.AWS: bills.aws_rows,
    Format.AZURE: bills.azure_rows,
    Format.GCP: bills.gcp_rows,
    Format.FOCUS: bills.focus_rows,
}
USED = [
    Usage("i-0aaa", "0.0104", study=STUDY, slot="launch-0"),
    Usage("vol-01", "0.0011", "disk", study=STUDY, slot="launch-0"),
    Usage("i-0aaa", "0.02", "traffic", study=STUDY, slot="launch-0"),
    Usage("ip-01", "0.005", "address", study=STUDY, slot="launch-0"),
    Usage("i-0bbb", "0.0104"),
    Usage("i-0ccc", "7.5", study="other-study"),
    Usage("db-1", "99"),
]


def sums(billed: BillContents) -> dict[tuple[object, Kind], Decimal]:
    return {(one.item.key, one.item.kind): one.amount for one in billed.charged}


OWN = {
    (KEY, Kind.MACHINE): Decimal("0.0104"),
    (KEY, Kind.DISK): Decimal("0.0011"),
    (KEY, Kind.TRAFFIC): Decimal("0.02"),
    (KEY, Kind.ADDRESS): Decimal("0.005"),
    (("launch-1", 1), Kind.MACHINE): Decimal("0.0104"),
}


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "ndjson"])
@pytest.mark.parametrize("format", list(Format))
def test_each_format_is_told_from_its_columns_and_gives_the_same_sums(
    tmp_path: Path, format: Format, ending: str
) -> None:
    billed = read([write(tmp_path / f"bill.{ending}", MAKERS[format](USED))], WANTED)
    assert billed.formats == (format,)
    assert sums(billed) == OWN
    assert [(one.study, one.amount, one.lines) for one in billed.foreign] == [("other-study", Decimal("7.5"), 1)]
    assert billed.records == len(USED)
    assert billed.notes == ()


def test_the_second_report_of_aws_with_its_map_of_tags(tmp_path: Path) -> None:
    rows = bills.aws2_rows(USED)
    assert "line_item_usage_start_date" in rows[0]
    assert sums(read([write(tmp_path / "cur2.csv", rows)], WANTED)) == OWN
    maps = [{**row, "resource_tags": list(json.loads(str(row["resource_tags"])).items())} for row in rows]
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [(name, pa.map_(pa.string(), pa.string()) if name == "resource_tags" else pa.string()) for name in rows[0]]
    )
    pq.write_table(pa.Table.from_pylist(maps, schema=schema), tmp_path / "cur2.parquet")
    assert sums(read([tmp_path / "cur2.parquet"], WANTED)) == OWN


@pytest.mark.parametrize("format", list(Format))
def test_what_is_no_use_stands_apart(tmp_path: Path, format: Format) -> None:
    used = [
        Usage("i-0aaa", "1.5", study=STUDY),
        Usage("i-0aaa", "0.3", study=STUDY, type="tax"),
        Usage("i-0aaa", "-0.7", study=STUDY, type="credit"),
    ]
    found = sums(read([write(tmp_path / "b.ndjson", MAKERS[format](used))], WANTED))
    expected = {Kind.MACHINE: "1.5", Kind.TAX: "0.3", Kind.CREDIT: "-0.7"}
    if format is Format.GCP:  # the credit is within a line of use that cost nothing
        assert found[KEY, Kind.MACHINE] == Decimal("1.5")
    assert {kind: found[KEY, kind] for kind in expected} == {kind: Decimal(one) for kind, one in expected.items()}


def test_a_refund_and_a_discount_are_not_use(tmp_path: Path) -> None:
    used = [Usage("i-0aaa", "-1", study=STUDY, type="refund"), Usage("i-0aaa", "-2", study=STUDY, type="fee")]
    found = sums(read([write(tmp_path / "b.csv", bills.aws_rows(used))], WANTED))
    assert found == {(KEY, Kind.REFUND): Decimal(-1), (KEY, Kind.ADJUSTMENT): Decimal(-2)}


def test_taxes_without_a_tag_are_told_to_be_the_accounts(tmp_path: Path) -> None:
    used = [Usage("", "3", type="tax"), Usage("i-0aaa", "1", study=STUDY)]
    billed = read([write(tmp_path / "b.csv", bills.aws_rows(used))], WANTED)
    assert sums(billed) == {(KEY, Kind.MACHINE): Decimal(1)}
    assert "1 line of tax, credits or refunds have no tag" in billed.notes[0]


def test_a_report_that_was_delivered_again_counts_once(tmp_path: Path) -> None:
    day = 86400.0
    first = [Usage("i-0aaa", "1", study=STUDY), Usage("i-0aaa", "2", study=STUDY, start=bills.NOVEMBER_9 + 3600)]
    corrected = [Usage("i-0aaa", "1", study=STUDY), Usage("i-0aaa", "2.5", study=STUDY, start=first[1].start)]
    later = [*corrected, Usage("i-0aaa", "4", study=STUDY, start=bills.NOVEMBER_9 + day)]
    old = write(tmp_path / "a" / "r-1.csv", bills.aws_rows(first), modified=100.0)
    new = write(tmp_path / "b" / "r-1.csv", bills.aws_rows(later), modified=200.0)
    for paths in ([old, new], [new, old]):
        billed = read(paths, WANTED)
        assert sums(billed) == {(KEY, Kind.MACHINE): Decimal("7.5")}
        assert billed.notes == (f"{old}: 2 lines left out, delivered again in {new} (newer by the time of its file)",)


def test_the_manifest_says_which_delivery_is_the_newest(tmp_path: Path) -> None:
    one = [Usage("i-0aaa", "1", study=STUDY)]
    two = [Usage("i-0aaa", "3", study=STUDY)]
    old = write(tmp_path / "aaa" / "r-1.csv", bills.aws_rows(one), modified=900.0)
    new = write(tmp_path / "bbb" / "r-1.csv", bills.aws_rows(two), modified=100.0)
    assert sums(read([old, new], WANTED)) == {(KEY, Kind.MACHINE): Decimal(1)}
    said = tmp_path / "r-Manifest.json"
    said.write_text(json.dumps({"assemblyId": "bbb", "reportKeys": ["bucket/r/20261101-20261201/bbb/r-1.csv"]}))
    billed = read([old, said, new], WANTED)
    assert sums(billed) == {(KEY, Kind.MACHINE): Decimal(3)}
    assert "newer by its manifest" in billed.notes[0]


def test_the_parts_of_one_report_add_up(tmp_path: Path) -> None:
    parts = [[Usage("i-0aaa", "1", study=STUDY)], [Usage("i-0bbb", "2", study=STUDY)]]
    paths = [write(tmp_path / f"r-{at}.csv.gz", bills.aws_rows(one)) for at, one in enumerate(parts)]
    assert sum(sums(read(paths, WANTED)).values()) == Decimal(3)
    assert read(paths, WANTED).notes == ()


def test_google_adds_corrections_and_only_lines_that_are_the_same_in_everything_are_delivered_twice(
    tmp_path: Path,
) -> None:
    regular = bills.gcp_rows([Usage("i-0aaa", "1", study=STUDY)])
    correction = [{**regular[0], "cost": -0.25, "export_time": "2026-11-12 00:00:00 UTC"}]
    one = write(tmp_path / "1.ndjson", regular, modified=1.0)
    two = write(tmp_path / "2.ndjson", correction, modified=2.0)
    again = write(tmp_path / "3.ndjson", [*regular, *correction], modified=3.0)
    assert sums(read([one, two], WANTED)) == {(KEY, Kind.MACHINE): Decimal("0.75")}
    assert sums(read([one, two, again], WANTED)) == {(KEY, Kind.MACHINE): Decimal("0.75")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("name,cost\nx,1\n", "of no bill that is known"),
        ("BilledCost,ChargeCategory,BillingCurrency,ChargePeriodStart\n1,Usage,USD,2026-11-09\n", "neither resource"),
        ("{not json\n", "1: no JSON object"),
        ('{"cost": ' + "[" * 100000 + "\n", "1: no JSON object"),
        ('"' + "x" * 200000, "no CSV"),
    ],
)
def test_what_is_no_bill_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "b.csv"
    path.write_text(text)
    with pytest.raises(UserMistake) as told:
        read([path], WANTED)
    assert says in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("BilledCost", "NaN", "'NaN' is no amount"),
        ("BilledCost", "-Infinity", "is no amount"),
        ("BilledCost", "1e400", "is no amount"),
        ("BilledCost", "", "is no amount"),
        ("BillingCurrency", "dollars", "is no currency"),
        ("ChargePeriodStart", "yesterday", "is no date"),
        ("ChargePeriodStart", "99999-01-01", "is no date"),
        ("Tags", '{"cloudcmp:study": ', "its tags cannot be read"),
        ("Tags", '"cloudcmp' + "[" * 100000, "its tags cannot be read"),
        ("Tags", "[1, 2, 'cloudcmp']", "its tags cannot be read"),
    ],
)
def test_a_line_that_says_nothing_is_named(tmp_path: Path, column: str, value: str, says: str) -> None:
    good, bad = bills.focus_rows([Usage("i-0aaa", "1", study=STUDY), Usage("i-0aaa", "1", study=STUDY)])
    path = write(tmp_path / "b.csv", [good, {**bad, column: value}])
    with pytest.raises(UserMistake) as told:
        read([path], WANTED)
    assert str(told.value).startswith(f"{path}:3: ")
    assert says in str(told.value)


def test_a_file_that_breaks_off_is_told_and_not_counted(tmp_path: Path) -> None:
    whole = write(tmp_path / "b.csv.gz", bills.aws_rows(USED * 200)).read_bytes()
    (tmp_path / "b.csv.gz").write_bytes(whole[:-40])
    with pytest.raises(UserMistake, match="the gzip file ends or breaks here"):
        read([tmp_path / "b.csv.gz"], WANTED)
    text = bills.csv_of(bills.aws_rows(USED))
    (tmp_path / "c.csv").write_text(text.rstrip()[: text.rstrip().rfind(",")])
    with pytest.raises(UserMistake, match=r"c\.csv:8: 14 fields where the header has 15"):
        read([tmp_path / "c.csv"], WANTED)
    (tmp_path / "d.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(UserMistake, match="no readable Parquet file"):
        read([tmp_path / "d.parquet"], WANTED)
    (tmp_path / "e.csv").write_bytes(b"PK\x03\x04")
    with pytest.raises(UserMistake, match="is a zip archive"):
        read([tmp_path / "e.csv"], WANTED)
    (tmp_path / "f.csv").write_bytes("BilledCost,Ämter\n".encode("latin-1"))
    with pytest.raises(UserMistake, match="is not UTF-8 text"):
        read([tmp_path / "f.csv"], WANTED)
    for nothing in (tmp_path, tmp_path / "nowhere.csv"):
        with pytest.raises(UserMistake):
            read([nothing], WANTED)


def test_a_named_format_that_the_file_is_not_says_which_it_looks_like(tmp_path: Path) -> None:
    path = write(tmp_path / "b.csv", bills.aws_rows(USED))
    with pytest.raises(UserMistake, match="which azure has; it looks like aws-cur"):
        read([path], WANTED, Format.AZURE)


def test_a_report_without_tags_says_what_may_be_missed(tmp_path: Path) -> None:
    rows = [{key: one for key, one in row.items() if "Tags" not in key} for row in bills.aws_rows(USED)]
    billed = read([write(tmp_path / "b.csv", rows)], WANTED)
    assert {key for key, _ in sums(billed)} == {KEY, ("launch-1", 1)}
    assert "no column of tags" in billed.notes[0]


def test_a_label_cut_to_63_small_letters_is_still_the_studys() -> None:
    long = "A Study: " + "x" * 80
    wanted = StudyMarks.of(long, {("launch-0.2", 1): None})
    assert wanted.owns(fields.label(long))
    assert not wanted.owns("a-study")
    assert wanted.key("", Tags(fields.label(long), "launch-0-2", "1")) == ("launch-0.2", 1)
    assert wanted.key("", Tags("another", "launch-0-2", "1")) is None


@long
def test_a_million_lines_take_no_more_memory_than_a_thousand(tmp_path: Path) -> None:
    import tracemalloc

    head, one, other = bills.csv_of(bills.aws_rows([USED[0], USED[-1]])).splitlines()
    peaks = []
    for count in (1_000, 50_000):
        path = tmp_path / f"{count}.csv"
        path.write_text("\n".join([head, one, *([other] * count)]))
        tracemalloc.start()
        assert read([path], WANTED).records == count + 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000


MONEY = st.decimals(min_value=-1000, max_value=1000, allow_nan=False, places=8)


@settings(deadline=None, max_examples=30)
@given(amounts=st.lists(MONEY, min_size=1, max_size=20), cut=st.integers(0, 20))
def test_whatever_is_split_into_files_adds_up_exactly(
    tmp_path_factory: pytest.TempPathFactory, amounts: list[Decimal], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("split")
    used = [
        Usage("i-0aaa", f"{one:f}", study=STUDY, start=bills.NOVEMBER_9 + at * 3600) for at, one in enumerate(amounts)
    ]
    parts = [part for part in (used[:cut], used[cut:]) if part]
    paths = [write(folder / f"{at}.csv", bills.focus_rows(part)) for at, part in enumerate(parts)]
    assert sum(sums(read(paths, WANTED)).values()) == sum(amounts)


def _told(read_one: Callable[[str], object], text: str) -> object:
    """What a text is read as, or the words in which it is refused."""
    try:
        return read_one(text)
    except ValueError as refused:
        return str(refused)


@given(MONEY)
def test_an_amount_is_read_exactly(money: Decimal) -> None:
    for text in (f"{money:f}", f"{money:e}", f" {money:f} "):
        assert fields.amount(text) == money


@given(st.text(max_size=60).filter(lambda text: not set(text) <= set("0123456789.eE+- ")))
@example("1_000")
@example("١٢")
@example("1,5")
@example("NaN")
@example("1e999")
def test_what_is_no_amount_is_refused(text: str) -> None:
    assert "no amount of money" in str(_told(fields.amount, text))


@given(st.text(max_size=40))
@example("2026-13-01")
@example("13/13/2026")
def test_a_time_is_read_or_refused(text: str) -> None:
    found = _told(fields.seconds, text)
    assert found is None or isinstance(found, float) or "no date or time" in str(found)


@pytest.mark.parametrize(
    "text", ["2026-11-09T10:00:00Z", "2026-11-09 10:00:00 UTC", "2026-11-09T10:00:00.000Z", "2026-11-09T12:00:00+02:00"]
)
def test_a_time_in_each_spelling_is_the_same(text: str) -> None:
    assert fields.seconds(text) == bills.NOVEMBER_9


def test_american_days() -> None:
    assert fields.seconds("11/09/2026") == fields.seconds("2026-11-09")


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12), max_size=5), st.text(max_size=20))
def test_our_tag_is_found_among_any_others(others: dict[str, str], study: str) -> None:
    tags = {**others, "cloudcmp:study": study}
    inside = json.dumps(tags)[1:-1]
    listed = json.dumps([{"key": key, "value": value} for key, value in tags.items()])
    for text in (json.dumps(tags), inside, listed):
        assert fields.tags_in(text).study == study


@given(st.dictionaries(st.sampled_from(["amount", "currency", "start", "end", "type", "credits", "tags"]), st.text()))
def test_no_record_raises_anything_but_what_is_told(record: dict[str, str]) -> None:
    for layout in LAYOUTS.values():
        try:
            lines(layout, {"amount": "1", "currency": "USD", **record}, fields.tags_in(""))
        except ValueError:
            continue
