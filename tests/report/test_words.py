"""What readers call things."""

from dataclasses import replace

import pytest

from cloudcmp.catalog import METRICS, PROBES, cells_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.view import View
from cloudcmp.report.words import CellNames, metric_words, origin, param_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fma_flop_per_s", "floating point (fma)"),
        ("tcp_bytes_per_s", "TCP bandwidth"),
        ("rtt_s", "round trip time"),
        ("udp_loss_ratio", "UDP loss"),
        ("bucket_bytes", "token bucket of the network"),
        ("unixbench_index", "UnixBench index"),
    ],
)
def test_a_metric_is_said_without_its_unit_spelled_out(name: str, words: str) -> None:
    assert metric_words(name) == words


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("threads", "one", "1 thread"),
        ("threads", "16", "16 threads"),
        ("block_bytes", "4096", "4 KiB"),
        ("size_bytes", "1500", "1500 B"),
        ("file_bytes", "1073741824", "file 1 GiB"),
        ("percentile", "99.9", "p99.9"),
        ("streams", "1", "1 stream"),
        ("depth", "32", "depth 32"),
        ("path", "loopback", "loopback (no network)"),
        ("durability", "cached", "page cache (no disk)"),
        ("op", "random_read", "random read"),
        ("record_bytes", "65536", "64 KiB"),
        ("size_bytes", "10000000", "10 MB"),
        ("size_bytes", "1000000000000", "1000 GB"),
        ("entries", "100000", "100,000 entries"),
        ("concurrency", "32", "32 at once"),
        ("change", "update", "after an update"),
        ("writer", "zone", "written on another machine (zone)"),
        ("writer", "loopback", "written by another process (no network)"),
    ],
)
def test_a_parameter_is_said_as_people_say_it(key: str, value: str, words: str) -> None:
    assert param_words(key, value) == words


def test_every_cell_of_the_catalogue_has_a_name_of_its_own() -> None:
    cells = {str(cell) for name in PROBES for cell in cells_of(name, {})}
    names = CellNames(cells)
    said = [(names.short(cell), METRICS[cell.split(" ")[0]].unit) for cell in sorted(cells)]
    assert len(set(said)) == len(said)


def test_a_cell_of_a_service_is_named_without_the_usual_way_to_ask() -> None:
    usual = {"client": "native", "concurrency": "1", "rate_per_s": "closed", "reuse": "yes"}
    cells = {
        (entries, op): str(
            Cell.of("table_latency_s", {**usual, "entries": entries, "op": op, "percentile": "50", "read": "eventual"})
        )
        for entries in ("1000", "100000")
        for op in ("get", "query")
    }
    names = CellNames(cells.values())
    assert names.short(cells["1000", "get"]) == "table get latency, 1,000 entries, p50"
    assert names.shared("table_latency_s") == "1 at once"
    strong = cells["1000", "get"].replace("eventual", "strong").replace("client=native", "client=sdk-python")
    both = CellNames([*cells.values(), strong])
    assert both.short(strong) == "table get latency, 1,000 entries, sdk-python client, strong read, p50"
    assert both.short(cells["1000", "get"]) == "table get latency, 1,000 entries, native client, p50"


def test_what_all_cells_share_is_said_apart() -> None:
    names = CellNames([f"disk_op_per_s block_bytes=4096;depth={depth};op=read;pattern=random" for depth in (1, 8)])
    assert names.short("disk_op_per_s block_bytes=4096;depth=8;op=read;pattern=random") == (
        "disk operations, 4 KiB random read, depth 8"
    )
    assert CellNames(["chase_latency_s pages=base;size_bytes=16384"]).shared("chase_latency_s") == "16 KiB, base pages"


def test_what_the_page_cache_served_is_said_in_every_name() -> None:
    cells = [f"iozone_bytes_per_s durability=cached;op=read;record_bytes={size};threads=one" for size in (4096, 8192)]
    names = CellNames(cells)
    assert names.short(cells[0]) == "file bandwidth (iozone), 4 KiB read, page cache (no disk), 1 thread"
    assert names.shared("iozone_bytes_per_s") == ""
    on_a_disk = cells[0].replace("cached", "osync")
    assert CellNames([on_a_disk]).short(on_a_disk) == "file bandwidth (iozone), read, 1 thread"


def test_origin_says_what_was_planted_imported_or_stood_in(view: View) -> None:
    plan = view.plan
    assert origin(plan) == "SIMULATED"
    real = replace(plan.candidates[0], runner="local", offering=replace(plan.candidates[0].offering, provider="local"))
    assert origin(replace(plan, candidates=(real,))) == ""
    assert origin(replace(plan, candidates=(real,), imported=True)) == "IMPORTED"
    assert origin(replace(plan, candidates=(real, *plan.candidates[1:]))).startswith("SIMULATED in part (")
    standing = replace(plan.candidates[0], runner="local", offering=replace(real.offering, provider="aws"))
    assert origin(replace(plan, candidates=(standing,))) == "on local, which stands in for aws"
