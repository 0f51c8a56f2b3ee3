"""Scenario files: what they mean, and every fault with its line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answer.world.worlds import NOTHING_MEASURED, SCENARIOS, shipped

from cloudcmp.errors import UserMistake
from cloudcmp.model.scenario import Arrivals, Broker, LatencyChange, Mode, Scenario, Service, ServiceTimes
from cloudcmp.model.wide_area import PathTime, Phase, Site, VantagePoint, WideArea
from cloudcmp.study.scenario import MeasuredSources, read_scenario

GOOD = """\
schema: 1
name: small
service: 20 ms
user_bases:
  - {name: west, region: NA, users: {peak: 10, off_peak: 5}, peak: 14:00-16:00, requests_per_hour: 60, request: 1 KB}
data_centres:
  - {name: US, region: NA, machines: 2, price: 0.10 USD/h, transfer: 0.09 USD/GB}
  - {name: EU, region: EU, machines: 2, price: 0.10 USD/h, transfer: 0.09 USD/GB}
"""
TABLE = "from,NA,EU\nNA,5,80\nEU,80,5\n"


def read(text: str, folder: Path = Path(), sources: MeasuredSources = NOTHING_MEASURED) -> Scenario:
    return read_scenario(text.encode(), folder / "world.yaml", sources)


def faults(text: str, folder: Path = Path(), sources: MeasuredSources = NOTHING_MEASURED) -> list[str]:
    with pytest.raises(UserMistake) as told:
        read(text, folder, sources)
    return [one.line() for one in told.value.faults]


def test_a_small_scenario() -> None:
    found = read(GOOD)
    (base,) = found.bases
    assert (base.peak, base.peak_users, base.response_bytes) == ((14 * 3600.0, 16 * 3600.0), 10, 1000)
    assert [one.machines for one in found.deployments] == [(("US", 2), ("EU", 2))]
    assert (found.service, found.arrivals, found.broker) == (Service(0.02, "as given"), Arrivals.SPREAD, Broker.CLOSEST)
    assert found.latency.at("NA", "EU") == 0.150
    assert found.bandwidth.at("NA", "NA") == 2000e6 / 8


def test_peak_hours_over_midnight_are_allowed() -> None:
    found = read(GOOD.replace("14:00-16:00", "23:00-02:00"))
    assert found.bases[0].peak == (23 * 3600.0, 2 * 3600.0)


def test_work_is_taken_in_true_units_and_in_those_of_cloudanalyst() -> None:
    text = GOOD.replace("20 ms", "{instructions: 250, mips: 10000}")
    assert read(text).service.seconds == pytest.approx(25e-9)
    assert read(text + "compat: cloudanalyst\n").service.seconds == pytest.approx(25e-6)
    assert read(text + "compat: cloudanalyst\n").grouping == (10, 10)


def test_latencies_of_a_table_with_changes(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text(TABLE, encoding="utf-8")
    found = read(GOOD + "latency: {csv: times.csv, change: {NA to EU: 70 ms}}\nbandwidth: 1 Gbit/s\n", tmp_path)
    assert found.latency.at("EU", "NA") == found.latency.at("NA", "EU") == 0.070
    assert "changed: NA to EU 70 ms" in found.latency.source
    assert found.bandwidth.at("NA", "EU") == 1e9 / 8


def _wide(lacks: bool = False) -> MeasuredSources:
    paths = (PathTime(0, 0, Phase.RTT, 0.100, 5, 5), PathTime(0, 1, Phase.RTT, None if lacks else 0.020, 5, 5))
    area = WideArea((VantagePoint("Oslo"),), (Site("aws", "us"), Site("aws", "eu")), paths, "pings")
    return MeasuredSources(lambda _: area, lambda *_: Service(0.5, "measured on m", 6))


WAN = """\
service: {study: study, cell: task_time_s}
service_times: exponential
latency: {wan: area.csv}
bandwidth: 100 Mbit/s
user_bases:
  - {name: north, region: Oslo, users: 10, requests_per_hour: 60, request: 1 KB}
data_centres:
  - {name: US, region: aws/us, machines: 2}
  - {name: EU, region: aws/eu, machines: 2}
"""


def test_latencies_and_service_times_that_were_measured() -> None:
    found = read(WAN, sources=_wide())
    assert found.latency.at("Oslo", "aws/us") == 0.050
    assert found.latency.at("Oslo", "aws/eu") == 0.010
    assert found.service == Service(0.5, "measured on m", 6, ServiceTimes.EXPONENTIAL)
    assert faults(WAN, sources=_wide(lacks=True)) == [
        "world.yaml:6:27: no latency from Oslo to aws/eu is known that light in fibre could do; "
        "leave one of the two out, or measure it"
    ]


def test_variants_say_what_they_change() -> None:
    found = {one.name: one for one in shipped("delgado-twitter").variants}
    assert found["thesis"].latencies[0] == LatencyChange(("NA", "EU"), 0.1295)
    assert dict(found["local hours"].peaks)["N. America"] == (2 * 3600.0, 4 * 3600.0)
    assert found["true units"].corrected


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenarios_are_read(path: Path) -> None:
    assert shipped(path.stem).question


FAULTS = {
    "negative users": (("peak: 10", "peak: -10"), "5:37: users: -10 is not a number of users"),
    "no users": (("users: {peak: 10, off_peak: 5}, peak: 14:00-16:00", "users: 0"), "5:3: no base has any users"),
    "one number missing": (("{peak: 10, off_peak: 5}", "{peak: 10}"), "users: it needs peak and off_peak"),
    "no hours": (("peak: 14:00-16:00, ", ""), "5:37: the peak has other users, and its hours are not given"),
    "strange hours": (("14:00-16:00", "25:00-16:00"), "peak: '25:00-16:00' is no time window"),
    "a base in no region": (("west, region: NA", "west, region: N"), "5:26: 'N' is no place of the latencies; nearest"),
    "a centre in no region": (("EU, region: EU", "EU, region: Mars"), "8:24: 'Mars' is no place of the latencies"),
    "names twice": (("name: EU", "name: US"), "8:12: 'US' is the name of another one too"),
    "no machines": (("region: EU, machines: 2", "region: EU, machines: 0"), "machines: 0 is not a whole number from 1"),
    "price of zero": (("0.10 USD/h", "0 USD/h"), "a price of zero is an unknown price"),
    "two currencies": (("EU, machines: 2, price: 0.10 USD/h", "EU, machines: 2, price: 0.10 EUR/h"), "EUR, but others"),
    "no service time": (("service: 20 ms\n", ""), "1:1: service is missing"),
    "service without a unit": (("service: 20 ms", "service: 20"), "3:10: service: 20 is not known"),
    "service of zero": (("service: 20 ms", "service: 0 ms"), "3:10: service: '0 ms' is not between 0 and an hour"),
    "unknown key": (("name: small", "nmae: small"), "2:1: unknown key 'nmae'; nearest: name"),
}  # fmt: skip
ADDED = {
    "no broker": ("broker: nearest", "9:9: broker: 'nearest' is not known; write closest"),
    "no latency": ("latency: fast", "9:10: latency: 'fast' is not known"),
    "no bandwidth": ("bandwidth: 0 Mbit/s", "9:12: bandwidth: '0 Mbit/s' is not more than zero"),
    "two sources": ("latency: {csv: a.csv, wan: b.csv}", "9:10: latency has both csv and wan; keep one"),
    "no table": ("latency: {csv: none.csv}", "9:10: none.csv: no such file or directory"),
    "a change of nowhere": ("latency: {change: {NA to Mars: 5 ms}}", "'Mars' is no place of the latencies"),
    "long": ("duration: 30 days", "9:11: duration: not between a minute and 7 days"),
    "unknown centre": ("deployments: {x: {UK: 2}}", "'UK' is no data centre of this file"),
    "empty deployment": ("deployments: {x: {}}", "'x' has no data centre"),
    "no aim": ("search: {choose: 1}", "a search has either a target or a budget"),
    "two aims": ("search: {choose: 1, target: 1 s, budget: 5 USD}", "a search has either a target or a budget"),
    "too many": ("search: {choose: 3, target: 1 s}", "3 of 2 data centres cannot be chosen; write at most 2"),
    "above 100 %": ("search: {choose: 1, target: 1 s, share: 120 %}", "share: '120 %' is not between 0 and 1"),
    "share alone": ("search: {choose: 1, budget: 5 USD, share: 90 %}", "needs the time within which"),
    "a search of one run": ("runs: 1\nsearch: {choose: 1, target: 1 s}", "a search needs the interval"),
    "a variant of nobody": ("variants: {v: {why: so, peak: {east: '01:00-02:00'}}}", "'east' is no user base"),
    "a variant of nothing": ("variants: {v: {why: so, deployments: [x]}}", "'x' is no deployment of this file"),
    "a row of nobody": ("published: {document: d, table: t, rows: {a: east}}", "'east' is no user base"),
    "a variant over midnight": (
        "compat: cloudanalyst\nvariants: {v: {why: so, peak: {west: '23:00-02:00'}}}",
        "no peak over midnight",
    ),
    "slips and requests": ("mode: requests\ncompat: cloudanalyst", "CloudAnalyst has no mode such as this"),
    "groups of requests": ("mode: requests\ngrouping: {users: 2, requests: 2}", "grouping is of messages"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_named_with_its_line(kind: str) -> None:
    (old, new), expected = FAULTS[kind]
    assert old in GOOD
    told = faults(GOOD.replace(old, new, 1))
    assert any(expected in line and line.startswith("world.yaml:") for line in told), told


@pytest.mark.parametrize("kind", ADDED)
def test_a_fault_in_what_is_added_is_named_with_its_line(kind: str) -> None:
    text, expected = ADDED[kind]
    told = faults(f"{GOOD}{text}\n")
    assert any(expected in line for line in told), told


def test_no_data_centre() -> None:
    text = GOOD[: GOOD.index("data_centres")] + "data_centres: []\n"
    assert faults(text) == ["world.yaml:6:15: there is not a data centre; write at least one under data_centres"]


def test_cloudanalyst_has_no_peak_over_midnight() -> None:
    text = GOOD.replace("14:00-16:00", "23:00-02:00") + "compat: cloudanalyst\n"
    assert faults(text) == [
        "world.yaml:5:68: CloudAnalyst has no peak over midnight; leave out compat, or end the peak at 24:00"
    ]


def test_a_search_needs_every_price() -> None:
    text = GOOD.replace(", transfer: 0.09 USD/GB", "", 1) + "search: {choose: 1, target: 1 s}\n"
    assert faults(text)[0].startswith("world.yaml:7:5: a search needs the cost of 'US', whose transfer is not known")


def test_too_many_requests_are_refused() -> None:
    text = GOOD.replace("{peak: 10, off_peak: 5}", "{peak: 100000000, off_peak: 5}") + "mode: requests\n"
    assert "at most 100,000,000 are simulated" in faults(text)[0]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("from,NA,EU\nNA,5,80\n", "not square: 'EU' has a column and no line; add its line"),
        ("from,NA\nNA,5\nEU,80\n", "not square: 'EU' has a line and no column; add its column"),
        ("from,NA,EU\nNA,5,\nEU,80,5\n", "times.csv:2: no latency from NA to EU; write a number"),
        ("from,NA,EU\nNA,5\nEU,80,5\n", "times.csv:2: no latency from NA to EU; write a number"),
        ("from,NA,EU\nNA,5,-80\nEU,80,5\n", "times.csv:2: '-80' is not a number above 0; write a number"),
        ("from,NA,EU\nNA,5,80,9\nEU,80,5\n", "times.csv:2: 3 values for 2 places; remove the rest"),
        ("from,NA,NA\nNA,5,80\n", "times.csv:1: 'NA' stands there twice; name each place once"),
        ("", "times.csv:1: no places are named"),
    ],
)
def test_faults_of_a_table(tmp_path: Path, table: str, expected: str) -> None:
    (tmp_path / "times.csv").write_text(table, encoding="utf-8")
    told = faults(GOOD + "latency: {csv: times.csv}\nbandwidth: 1 Gbit/s\n", tmp_path)
    assert len(told) == 1
    assert expected in told[0].replace(" (and 1 more faults)", "")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_by_lines(text: str) -> None:
    try:
        found = read(GOOD + text)
    except UserMistake:
        assert all("\n" not in line for line in faults(GOOD + text))
    else:
        assert found.mode in Mode
