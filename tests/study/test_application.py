"""Files that describe an application by its demands."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.model.application import Application, ApplicationKind, Way
from cloudcmp.model.market import OfferKey
from cloudcmp.study.application import read_application

APPLICATIONS = Path(__file__).parents[2] / "studies" / "applications"


def read(text: str) -> Application:
    return read_application(text.encode(), Path("app.yaml"))


def faults(text: str) -> list[str]:
    with pytest.raises(UserMistake) as told:
        read(text)
    return [one.line() for one in told.value.faults]


def test_pages_are_operations_and_processor_time() -> None:
    found = read(
        "schema: 1\napplication: shop\nhome: {provider: aws, region: r, offering: small}\nentries: 1000\n"
        "pages: {start: {get: 2, query: 1, cpu: 5 ms, weight: 3}}\n"
    )
    (part,) = found.parts
    assert (found.kind, found.home, part.weight) == (ApplicationKind.PAGES, OfferKey("aws", "r", "small"), 3.0)
    assert [(one.name, one.way, one.amount) for one in part.demands] == [
        ("cpu", Way.CPU, 0.005), ("get", Way.COUNT, 2.0), ("query", Way.COUNT, 1.0),
    ]  # fmt: skip
    assert str(part.demands[2].cell) == "table_latency_s op=query;percentile=50;entries=1000"
    assert [(one.op, one.count) for one in part.charged] == [("get", 2.0), ("query", 1.0)]


def test_a_job_has_tasks_workers_and_sizes() -> None:
    text = "schema: 1\napplication: search\njobs: {a: {tasks: 40, workers: 4, receive: 1, download: {size: 10 MB}}}\n"
    (part,) = read(text).parts
    assert (part.tasks, part.workers) == (40, 4)
    assert str(part.demands[0].cell) == "blob_latency_s op=download;percentile=50;size_bytes=10000000"
    assert part.charged[1].size_bytes == 10_000_000


@pytest.mark.parametrize(("size", "trips"), [("1 KB", 2), ("14480 B", 2), ("14481 B", 3), ("100 KB", 4)])
def test_a_file_takes_the_round_trips_of_slow_start(size: str, trips: int) -> None:
    """One to connect; 10 segments of 1448 bytes at first, then twice as many in each round trip (RFC 6928)."""
    found = read(f"schema: 1\napplication: site\nstatic: {{page: {{size: {size}}}}}\n")
    demands = found.parts[0].demands
    assert sum(one.amount for one in demands) == trips
    assert {str(one.cell) for one in demands} == {"wan_rtt_s percentile=50"}


@pytest.mark.parametrize(("vantage", "there"), [("", ""), (", vantage: asia", ";vantage=asia")])
def test_the_rest_of_a_file_may_have_been_measured(vantage: str, there: str) -> None:
    found = read(f"schema: 1\napplication: site\nstatic: {{page: {{size: 1 MB{vantage}}}}}\n")
    first, rest = found.parts[0].demands
    assert (str(first.cell), first.whole) == (f"wan_rtt_s percentile=50{there}", None)
    assert (rest.cell, str(rest.whole)) == (first.cell, f"wan_transfer_s percentile=50;size_bytes=1000000{there}")
    assert found.parts[0].from_everywhere == (not vantage)


def test_a_program_has_what_profile_writes() -> None:
    found = read(
        "schema: 1\napplication: xz\nhome: {provider: local, region: local, offering: 2cpu}\nprogram:\n"
        "  command: [xz, -k]\n  runs: 3\n  elapsed: 3 s\n  cpu: {user: 4 s, system: 500 ms}\n"
        "  parallel: {1: 25 %, 2: 0.75}\n  blocked: 200 ms\n  memory: 1 GiB\n  disk: {read: 5 MB, written: 0 B}\n"
        "  cache_misses: 1000\n"
    )
    assert found.parallel == ((1, 0.25), (2, 0.75))
    assert (found.elapsed_s, found.blocked_s, found.memory_bytes, found.moved_bytes) == (3.0, 0.2, 2**30, 64_000)
    assert [(one.name, one.amount) for one in found.parts[0].demands] == [("cpu", 4.5), ("read", 5e6)]


def test_each_fault_has_its_line_and_column() -> None:
    assert faults("schema: 1\napplication: shop\npages:\n  a: {gett: 2, cpu: 5}\n  b: {query: 0}\n") == [
        "app.yaml:4:7: unknown key 'gett'; nearest: get",
        "app.yaml:4:21: cpu: 5 needs a unit of time; write e.g. 5 ms or 1.5 s",
        "app.yaml:5:14: query: 0 is not a number above 0; write e.g. 2, or leave it out",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "app.yaml:1:1: the file is empty"),
        ("- a\n", "app.yaml:1:1: an application is made of key: value lines"),
        ("schema: 1\napplication: a\n", "app.yaml:1:1: nothing says what is predicted"),
        ("schema: 1\napplication: a\npages: {a: {get: 1}}\nstatic: {}\n", "app.yaml:4:1: pages and static in one file"),
        ("schema: 1\napplication: a\npages: {}\n", "app.yaml:3:8: pages is empty"),
        ("schema: 1\napplication: a\npages: {a: {}}\n", "app.yaml:3:12: 'a' takes nothing"),
        (
            "schema: 1\napplication: a\npages: {a: {cpu: 1 s}}\n",
            "app.yaml:1:1: there is processor time, and no machine",
        ),
        ("schema: 2\napplication: a\npages: {a: {get: 1}}\n", "app.yaml:1:9: schema: schema 2 is not known"),
        (
            "schema: 1\napplication: a\nprogram: {elapsed: 1 s, cpu: {user: 1 s}, parallel: {1: 50 %}}\n",
            "app.yaml:3:53: parallel: the shares are of at least 1 thread and add up to 100 %, not 50 %",
        ),
    ],
)
def test_what_is_no_application_is_refused(text: str, told: str) -> None:
    assert faults(text)[0].startswith(told)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(UserMistake):
        assert read(f"schema: 1\napplication: a\npages: {text}").parts


@pytest.mark.parametrize("path", sorted(APPLICATIONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_applications_are_read(path: Path) -> None:
    assert read_application(path.read_bytes(), path).name == path.stem


def test_times_that_it_took_are_enough() -> None:
    one, other = "- {provider: a, offering: x, time: 4 s}\n", "- {provider: b, offering: y, time: 5 s}\n"
    found = read(f"application: mine\nmeasured:\n{one}{other}")
    assert (found.kind, found.home, found.elapsed_s) == (ApplicationKind.PROGRAM, None, None)
    assert [one.time_s for one in found.ran] == [4.0, 5.0]
    assert faults(f"application: mine\nmeasured:\n{one}")[0].endswith("or two times under measured:")
