"""Inventories of fleets: a table of ours, a FOCUS bill, the JSON of describe-instances, and their join."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cost.bills import write

from cloudcmp.cost.inventory import read_inventory
from cloudcmp.errors import UserMistake
from cloudcmp.model.fleet import FleetMachine, Inventory, Skipped
from cloudcmp.model.market import OfferKey

HEAD = "resource,provider,offering,region,count,hours_per_month,usd_per_hour,cpu_p95_percent,memory_p95_percent"
M7I = OfferKey("aws", "us-east-1", "m7i.large")


def read(folder: Path, text: str, name: str = "any-name.txt") -> Inventory:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_inventory([path])


def fault(folder: Path, text: str) -> str:
    with pytest.raises(UserMistake) as raised:
        read(folder, text)
    return str(raised.value)


def focus(rows: Sequence[Mapping[str, Any]]) -> str:
    """A bill with the columns that all versions have; a row says only what differs."""
    usual = {
        "BilledCost": "2.4", "EffectiveCost": "2.4", "BillingCurrency": "USD", "ChargeCategory": "Usage",
        "ChargePeriodStart": "2026-10-01T00:00:00Z", "ChargePeriodEnd": "2026-10-02T00:00:00Z",
        "ConsumedQuantity": "24", "ConsumedUnit": "Hrs", "ProviderName": "AWS", "RegionId": "us-east-1",
        "ResourceId": "arn:aws:ec2:us-east-1:123456789012:instance/i-0aaa", "ServiceCategory": "Compute",
        "ServiceName": "Amazon Elastic Compute Cloud", "SkuMeter": "USE1-BoxUsage:m7i.large", "SkuPriceDetails": "",
        "CommitmentDiscountId": "", "CommitmentDiscountStatus": "", "CommitmentDiscountType": "", "x_Operation": "",
        "x_SkuDetails": "", "x_SystemLabels": "",
    }  # fmt: skip
    out = io.StringIO()
    writer = csv.DictWriter(out, list(usual))
    writer.writeheader()
    writer.writerows({**usual, **row} for row in rows)
    return out.getvalue()


def instance(**more: Any) -> dict[str, Any]:
    usual = {"InstanceId": "i-0aaa", "InstanceType": "m7i.large", "State": {"Code": 16, "Name": "running"},
             "Placement": {"AvailabilityZone": "us-east-1a", "Tenancy": "default"}, "Architecture": "x86_64",
             "PlatformDetails": "Linux/UNIX"}  # fmt: skip
    return {**usual, **more}


def document(*instances: Mapping[str, Any]) -> str:
    return json.dumps({"Reservations": [{"Instances": [one]} for one in instances]})


def test_a_table_has_one_row_for_each_machine(tmp_path: Path) -> None:
    text = f"{HEAD},committed_until,architecture\nweb,AWS,m7i.large,us-east-1,3,200,0.1,40,,2027-03-31,aarch64\n"
    found = read(tmp_path, text)
    assert found.currency == "USD"
    assert found.machines == (
        FleetMachine("web", M7I, 3, 200.0, 0.1, False, 0.4, None, "arm64", "committed", date(2027, 3, 31)),
    )


def test_what_a_table_leaves_out(tmp_path: Path) -> None:
    found = read(tmp_path, "provider,instance_type,owner\naws,m7i.large,me\naws,m7i.large,you\n")
    assert [(one.count, one.hours, one.price, one.has_list_price, one.cpu) for one in found.machines] == [
        (1, 730.0, None, True, None)
    ] * 2
    assert found.currency == ""
    assert found.notes == ("any-name.txt: columns that are not used: owner",)


def test_a_price_of_zero_is_unknown_and_no_hours_are_no_machine(tmp_path: Path) -> None:
    found = read(tmp_path, f"{HEAD}\na,aws,m7i.large,,,,0,,\nb,aws,m7i.large,,,0,0.1,,\n")
    assert [(one.name, one.price, one.has_list_price) for one in found.machines] == [("a", None, False)]
    assert found.skipped == (Skipped("machines that ran for 0 hours", 1),)
    assert found.notes == ("any-name.txt: 1 prices are zero: they count as unknown, not as free",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (f"{HEAD}\n", "has no rows"),
        ("provider,region\naws,us-east-1\n", "no column offering or instance_type or machine_type"),
        ("provider,offering,usd_per_hour,eur_per_hour\na,b,1,1\n", "two columns of prices"),
        ("provider,offering,cpu_p95_percnt\na,b,1\n", "unknown column 'cpu_p95_percnt'; did you mean cpu_p95_percent?"),
        (f"{HEAD}\na,aws,m7i.large,,,-5,0.1,,\n", ":2: hours_per_month -5 is not between 0 and 744"),
        (f"{HEAD}\na,aws,m7i.large,,,,-0.1,,\n", "the price -0.1 is below zero"),
        (f"{HEAD}\na,aws,m7i.large,,,,,140,\n", "cpu_p95_percent 140 is not between 0 and 100 %"),
        (f"{HEAD}\na,aws,m7i.large,,1.5,,,,\n", "count 1.5 is no whole number"),
        (f"{HEAD}\na,aws,m7i.large,,,,nan,,\n", "the price 'nan' is no number"),
        (f"{HEAD}\na,aws,,,,,,,\n", "the offering is empty"),
        (f"{HEAD}\na,aws,b,,,,,,\na,aws,c,,,,,,\n", ":3: resource a is in "),
        (f"{HEAD},committed_until\na,aws,b,,,,,,,soon\n", "committed_until 'soon' is no date"),
        (f"{HEAD},architecture\na,aws,b,,,,,,,sparc\n", "architecture 'sparc' is unknown; write any, x86_64 or arm64"),
        (f"{HEAD}\na,aws\n", "2 fields where the header has 9"),
    ],
)  # fmt: skip
def test_a_fault_of_a_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    found = fault(tmp_path, text)
    assert said in found
    assert "\n" not in found


def test_faults_of_several_rows_are_lines(tmp_path: Path) -> None:
    found = fault(tmp_path, f"{HEAD}\na,aws,b,,0,,,,\nc,aws,b,,,-1,,,\n")
    assert [line.partition(": ")[0][-2:] for line in found.splitlines()] == [":2", ":3"]


def test_the_rows_of_a_bill_add_up_to_machines(tmp_path: Path) -> None:
    second_day = {"ChargePeriodStart": "2026-10-02T00:00:00Z", "ChargePeriodEnd": "2026-10-03T00:00:00Z"}
    rows = [{}, {**second_day, "EffectiveCost": "1.2", "ConsumedQuantity": "12"},
            {"ServiceCategory": "Storage", "ServiceName": "Amazon S3"}, {"ChargeCategory": "Tax"},
            {"SkuMeter": "USE1-EBS:VolumeUsage.gp3"}, {"CommitmentDiscountStatus": "Unused"},
            {"ConsumedUnit": "GB", "SkuPriceDetails": '{"InstanceType": "m7i.large"}'}]  # fmt: skip
    found = read(tmp_path, focus(rows))
    (one,) = found.machines
    assert (one.name, one.key, one.count, one.has_list_price) == ("i-0aaa", M7I, 1, False)
    assert one.hours == pytest.approx(36 * 730 / 48)
    assert one.price == pytest.approx(3.6 / 36)
    assert found.currency == "USD"
    assert {(each.what, each.rows) for each in found.skipped} == {
        ("Amazon S3", 1), ("tax", 1), ("compute without an instance type", 1), ("unused commitments", 1),
        ("compute that is not billed by the hour", 1),
    }  # fmt: skip
    assert found.notes == ("any-name.txt: hours and costs are those of 2 days, for a month of 730 hours",)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"SkuMeter": "", "SkuPriceDetails": '{"InstanceType": "c8g.large", "CoreCount": 2}'}, "c8g.large"),
        ({"SkuMeter": "APS3-SpotUsage:c8g.large"}, "c8g.large"),
        ({"ProviderName": "Microsoft", "ServiceName": "Virtual Machines", "SkuMeter": "D4s v5"}, "Standard_D4s_v5"),
        ({"ProviderName": "Microsoft", "SkuMeter": "", "x_SkuDetails": '{"ServiceType": "Standard_D4s_v5"}'},
         "Standard_D4s_v5"),
        ({"ProviderName": "Google Cloud", "SkuMeter": "",
          "x_SystemLabels": '[{"key": "compute.googleapis.com/machine_spec", "value": "n2-standard-4"}]'},
         "n2-standard-4"),
    ],
)  # fmt: skip
def test_each_cloud_names_its_types_in_its_own_way(tmp_path: Path, row: dict[str, str], kind: str) -> None:
    (one,) = read(tmp_path, focus([row])).machines
    assert one.key.name == kind


def test_a_bill_may_be_in_any_format_of_bills(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(focus([{}, {"ResourceId": "i-0bbb"}]))))
    found = [
        read_inventory([write(tmp_path / f"bill.{end}", rows)]).machines for end in ("parquet", "ndjson", "csv.gz")
    ]
    assert [one.name for one in found[0]] == ["i-0aaa", "i-0bbb"]
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_processors_and_memory_that_are_billed_apart_are_one_machine(tmp_path: Path) -> None:
    label = '[{"key": "compute.googleapis.com/machine_spec", "value": "n2-standard-4"}]'
    row = {"ProviderName": "Google Cloud", "SkuMeter": "Core", "ConsumedUnit": "hour", "x_SystemLabels": label}
    (one,) = read(tmp_path, focus([{**row, "ConsumedQuantity": "96"}, {**row, "ConsumedQuantity": "384"}])).machines
    assert one.hours == pytest.approx(730.0)
    assert one.price == pytest.approx(4.8 / 24)


def test_a_commitment_counts_if_it_covers_most_hours(tmp_path: Path) -> None:
    used = {"CommitmentDiscountId": "ri-1", "CommitmentDiscountStatus": "Used", "CommitmentDiscountType": "Reserved"}
    few = {**used, "ConsumedQuantity": "20", "ResourceId": "i-0bbb"}
    rest = {"ConsumedQuantity": "28", "ResourceId": "i-0bbb"}
    found = {one.name: one.commitment for one in read(tmp_path, focus([used, few, rest])).machines}
    assert found == {"i-0aaa": "Reserved", "i-0bbb": ""}


def test_a_licence_and_a_free_machine_are_marked(tmp_path: Path) -> None:
    rows = [{"x_Operation": "RunInstances:0002"}, {"ResourceId": "i-0bbb", "EffectiveCost": "0"}]
    found = read(tmp_path, focus(rows))
    assert [one.system for one in found.machines] == ["RunInstances:0002", ""]
    assert [one.price for one in found.machines] == [pytest.approx(0.1), None]
    assert any("1 machines cost nothing" in note for note in found.notes)


def test_a_machine_that_changed_its_type_has_the_last_one(tmp_path: Path) -> None:
    later = {"ChargePeriodStart": "2026-10-02T00:00:00Z", "ChargePeriodEnd": "2026-10-03T00:00:00Z",
             "SkuMeter": "USE1-BoxUsage:m7i.xlarge"}  # fmt: skip
    found = read(tmp_path, focus([later, {}]))
    assert [one.key.name for one in found.machines] == ["m7i.xlarge"]
    assert any("1 machines changed their type" in note for note in found.notes)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"EffectiveCost": "much"}, ":2: 'much' is no amount of money"),
        ({"BillingCurrency": "?"}, "'?' is no currency"),
        ({"ChargePeriodEnd": "2026-09-01T00:00:00Z"}, "ends before it begins"),
        ({"ChargePeriodStart": "when"}, "'when' is no date or time"),
        ({"ServiceCategory": "Storage", "ServiceName": "Amazon S3"}, "no row is a machine's: 1 rows of Amazon S3"),
    ],
)
def test_a_fault_of_a_bill_is_one_line(tmp_path: Path, row: dict[str, str], said: str) -> None:
    found = fault(tmp_path, focus([row]))
    assert said in found
    assert "\n" not in found


def test_a_bill_in_two_currencies_is_refused(tmp_path: Path) -> None:
    assert "costs are in USD" in fault(tmp_path, focus([{}, {"BillingCurrency": "EUR"}]))


def test_running_instances_are_machines_at_list_prices(tmp_path: Path) -> None:
    text = document(instance(), instance(InstanceId="i-0bbb", State={"Name": "stopped"}),
                    instance(InstanceId="i-0ccc", PlatformDetails="Windows"),
                    instance(InstanceId="i-0ddd", InstanceLifecycle="spot"),
                    instance(InstanceId="i-0eee", Placement={"AvailabilityZone": "us-west-2-lax-1a"}))  # fmt: skip
    found = read(tmp_path, text)
    assert [(one.name, one.key.region, one.system, one.has_list_price) for one in found.machines] == [
        ("i-0aaa", "us-east-1", "", True), ("i-0ccc", "us-east-1", "Windows", True),
        ("i-0ddd", "us-east-1", "", False), ("i-0eee", "", "", True),
    ]  # fmt: skip
    assert found.skipped == (Skipped("machines that are stopped", 1),)


def test_the_lists_that_queries_leave_are_understood(tmp_path: Path) -> None:
    for text in (json.dumps([[instance()]]), json.dumps([instance()]), json.dumps([json.loads(document(instance()))])):
        assert [one.name for one in read(tmp_path, text).machines] == ["i-0aaa"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (document(instance())[:-20], "no JSON ("),
        ('{"Users": []}', "no Reservations with Instances"),
        ('{"Reservations": []}', "no instance is in it"),
        (document(instance(), instance()), "instance i-0aaa is there twice"),
        (document(instance(InstanceType=None)), "instance 'i-0aaa' has no InstanceType"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_a_fault_of_a_document_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    found = fault(tmp_path, text)
    assert said in found
    assert "\n" not in found


def test_files_are_joined_by_resource(tmp_path: Path) -> None:
    files = {"now.json": document(instance(), instance(InstanceId="i-0bbb")),
             "bill.csv": focus([{}, {"ResourceId": "i-0ccc"}]),
             "own.csv": f"{HEAD},committed_until\ni-0aaa,aws,m7i.large,,,,,,,2027-03-31\n"}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    used = tmp_path / "used.csv"
    used.write_text("instance_id,cpu_p95_percent\ni-0aaa,35\ni-0zzz,1\n", encoding="utf-8")
    found = read_inventory([tmp_path / name for name in files], used)
    one, two, three = found.machines
    assert (one.name, one.cpu, one.until) == ("i-0aaa", 0.35, date(2027, 3, 31))
    assert one.price == pytest.approx(0.1)
    assert (two.name, two.price, two.has_list_price) == ("i-0bbb", None, True)
    assert three.name == "i-0ccc"
    assert found.currency == "USD"
    assert found.notes[-1] == "used.csv: 1 of 2 resources are not in the inventory"


def test_two_currencies_and_two_types_of_one_resource(tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("resource,provider,offering,usd_per_hour\na,aws,m7i.large,1\n", encoding="utf-8")
    second.write_text("resource,provider,offering,eur_per_hour\na,aws,m7i.large,1\n", encoding="utf-8")
    with pytest.raises(UserMistake, match="prices are in USD and in EUR"):
        read_inventory([first, second])
    second.write_text("resource,provider,offering\na,aws,c7i.large\n", encoding="utf-8")
    found = read_inventory([first, second])
    assert [each.key.name for each in found.machines] == ["m7i.large"]
    assert found.notes == ("1 machines have another type in a later file: the first file counts",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resource,load\na,1\n", "no column resource, or none in use"),
        ("resource,cpu_p95_percent\na,1\na,2\n", "resource a is there twice"),
        ("resource,memory_p95_percent\na,x\n", "memory_p95_percent 'x' is no number"),
    ],
)
def test_a_fault_of_what_is_in_use_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    inventory, used = tmp_path / "inventory.csv", tmp_path / "used.csv"
    inventory.write_text("provider,offering\naws,m7i.large\n", encoding="utf-8")
    used.write_text(text, encoding="utf-8")
    with pytest.raises(UserMistake, match=said):
        read_inventory([inventory], used)


SHARE = st.one_of(st.none(), st.integers(0, 1000).map(lambda tenths: tenths / 1000))
MACHINES = st.lists(
    st.builds(
        FleetMachine,
        name=st.just(""),
        key=st.builds(OfferKey, st.sampled_from(["aws", "gcp"]), st.sampled_from(["", "r-1"]),
                      st.text("abc0123.-", min_size=1, max_size=9)),
        count=st.integers(1, 10**6),
        hours=st.integers(1, 7440).map(lambda tenths: tenths / 10),
        price=st.integers(1, 10**6).map(lambda parts: parts / 10**4),
        has_list_price=st.just(False),
        cpu=SHARE,
        memory=SHARE,
        architecture=st.sampled_from(["", "any", "x86_64", "arm64"]),
        until=st.none(),
    ),
    min_size=1, max_size=20,
)  # fmt: skip


@given(MACHINES)
def test_any_table_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, some: list[FleetMachine]
) -> None:
    def percent(share: float | None) -> str:
        return "" if share is None else f"{share * 100:.1f}"

    lines = [f"{HEAD},architecture"]
    lines += [
        f"id-{at},{one.key.provider},{one.key.name},{one.key.region},{one.count},{one.hours},{one.price},"
        f"{percent(one.cpu)},{percent(one.memory)},{one.architecture}"
        for at, one in enumerate(some)
    ]
    found = read(tmp_path_factory.mktemp("inventory"), "\n".join(lines) + "\n")
    for at, (one, other) in enumerate(zip(some, found.machines, strict=True)):
        assert other.name == f"id-{at}"
        assert (other.key, other.count, other.hours, other.price) == (one.key, one.count, one.hours, one.price)
        assert other.cpu == pytest.approx(one.cpu)
        assert other.memory == pytest.approx(one.memory)
        assert other.architecture == one.architecture


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 24), st.integers(1, 10**6), st.booleans()), min_size=1))
def test_any_bill_adds_up(
    tmp_path_factory: pytest.TempPathFactory, charges: list[tuple[int, int, int, bool]]
) -> None:  # fmt: skip
    rows = [
        {"ResourceId": f"i-0{of}", "ConsumedQuantity": str(hours), "EffectiveCost": str(money / 1000),
         "ServiceCategory": "Compute" if machine else "Storage"}
        for of, hours, money, machine in charges
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("bill")
    if not any(machine for *_, machine in charges):
        assert "no row is a machine's" in fault(folder, focus(rows))
        return
    found = read(folder, focus(rows))
    assert sum(one.hours for one in found.machines) / 730 * 24 == pytest.approx(
        sum(hours for _, hours, _, machine in charges if machine)
    )
    assert sum((one.price or 0) * one.hours for one in found.machines) / 730 * 24 == pytest.approx(
        sum(money / 1000 for *_, money, machine in charges if machine)
    )
    assert sum(one.rows for one in found.skipped) == sum(not machine for *_, machine in charges)


@settings(max_examples=200)
@given(st.one_of(st.binary(max_size=400), st.text(max_size=200).map(str.encode),
                 st.text("{}[]\",:0123456789.-eE\n InstaceRvodTyp", max_size=200).map(str.encode)))  # fmt: skip
def test_any_other_file_is_refused_in_words(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("other") / "file"
    path.write_bytes(content)
    with pytest.raises(UserMistake) as raised:
        read_inventory([path])
    assert str(raised.value).startswith(str(path))
