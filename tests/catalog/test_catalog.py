"""The tables are whole, and questions to them are answered or refused in one line."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.catalog import METRICS, PROBES, SUITES, TOOL, cells_of, expected_s, fill, nearest, suite_of
from cloudcmp.catalog.tables import PERCENTILES
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Group, Reduce

UNIT_ENDINGS = {
    "s": "_s",
    "B": "_bytes",
    "B/s": "_bytes_per_s",
    "op/s": "_op_per_s",
    "row/s": "_row_per_s",
    "flop/s": "_flop_per_s",
    "ratio": "_ratio",
    "index": "_index",
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=str)
def test_a_metric_names_its_unit_and_says_what_it_leaves_out(metric: object) -> None:
    m = METRICS[metric.name]  # type: ignore[attr-defined]
    assert m.name.endswith(UNIT_ENDINGS[m.unit])
    assert m.doc.endswith(".")
    assert m.excludes.endswith(".")
    assert m.typical > 0
    assert list(m.params) == sorted(m.params)
    assert ("percentile" in m.params) == (m.reduce is Reduce.PERCENTILE)


def test_every_group_has_metrics_and_every_metric_a_probe() -> None:
    assert {m.group for m in METRICS.values()} == set(Group)
    assert {name for probe in PROBES.values() for name in probe.metrics} == set(METRICS)


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_gives_exactly_the_cells_of_its_metrics(name: str) -> None:
    cells = cells_of(name, {})
    assert len(set(cells)) == len(cells)
    for cell in cells:
        implied = {param.name for param in PROBES[name].params if param.implied}
        assert tuple(key for key, _ in cell.params) == tuple(
            key for key in METRICS[cell.metric].params if key not in implied
        )
        assert Cell.parse(str(cell)) == cell
    for metric in PROBES[name].metrics if name != TOOL else ():
        expected = len(PERCENTILES) if METRICS[metric].reduce is Reduce.PERCENTILE else 1
        expected *= math.prod(len(values) for _, values in METRICS[metric].free)
        assert sum(cell.metric == metric for cell in cells) == expected
    assert expected_s(name, fill(name, {})) > 0


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_can_be_run(suite: str) -> None:
    for probe, params in suite_of(suite):
        for key, values in params.items():
            for value in values:
                assert fill(probe, {key: value})[key] == value


def test_values_are_kept_in_base_units() -> None:
    assert fill("disk", {"block_bytes": "4 KiB"})["block_bytes"] == "4096"
    assert fill("fma", {"duration_s": "10 min"})["duration_s"] == "600"
    assert fill("fma", {"duration_s": "0.150"})["duration_s"] == "0.15"
    assert fill("udp", {"rate_bytes_per_s": "8 Mbit/s"})["rate_bytes_per_s"] == "1000000"
    assert fill("fma", {"threads": "04"})["threads"] == "4"


@pytest.mark.parametrize(
    ("probe", "params", "says"),
    [
        ("fmaa", {}, "nearest: fma"),
        ("fma", {"thread": "one"}, "nearest: threads"),
        ("fma", {"threads": "none"}, "one, all"),
        ("fma", {"threads": "0"}, "at least 1"),
        ("fma", {"threads": "1.5"}, "at least 1"),
        ("disk", {"op": "erase"}, "read, write"),
        ("disk", {"block_bytes": "4 min"}, "unit of size"),
        ("disk", {"block_bytes": "0"}, "above 0"),
        ("fma", {"duration_s": "1 MiB"}, "unit of time"),
        ("tcp", {"path": "a=b"}, "path"),
        ("lu", {"n": "²"}, "whole number"),
    ],
)
def test_a_bad_parameter_is_one_line(probe: str, params: dict[str, str], says: str) -> None:
    with pytest.raises(UserMistake, match=re.escape(says)) as refused:
        fill(probe, params)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=20))
def test_any_value_is_canonical_or_refused(text: str) -> None:
    for key in ("threads", "duration_s", "precision"):
        try:
            value = fill("fma", {key: text})[key]
        except UserMistake:
            continue
        assert fill("fma", {key: value})[key] == value


def test_nearest_names_only_what_looks_alike() -> None:
    assert nearest("strem", PROBES) == "stream"
    assert nearest("zzzz", PROBES) is None


def test_a_cell_names_the_writer_of_a_service_only_if_it_is_not_the_reader() -> None:
    own, apart = (cells_of("consistency", {"writer": writer}) for writer in ("here", "zone"))
    assert own == cells_of("consistency", {})
    assert {cell.get("writer") for cell in own} == {None}
    assert {cell.get("writer") for cell in apart} == {"zone"}
    alone, pair = (expected_s("consistency", fill("consistency", {"writer": one})) for one in ("here", "zone"))
    assert alone < pair
