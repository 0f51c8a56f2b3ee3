"""Commands of the user's own in a study file."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Better
from cloudcmp.study import read_text
from cloudcmp.study.commands import ending_of

HEAD = """schema: 1
question: "Which is fastest for my own program?"
candidates: [{provider: simulated, region: r, offering: a}, {provider: simulated, region: r, offering: b}]
probes:
"""


def read(entries, tail=""):
    return read_text(HEAD + entries + tail, "own.yaml", providers=["simulated"])


def own(fields, tail=""):
    return read("  - command: {name: mine, run: ./mine, " + fields + "}\n", tail)


def test_a_command_is_read_with_all_that_it_says():
    entry = """  - command:
      name: encode
      run: |
        cd "$CLOUDCMP_FILES"
        ./encode < clip
      setup: make
      check: test -s out
      expected: 1 min
      threads: 2
      metrics:
        - {name: frames_per_s, unit: frames/s, better: higher, regex: 'fps=([0-9.]+)'}
        - {name: encode_s, unit: s, better: lower, json: 'runs[0].ms', scale: 0.001}
    runs: 3
"""
    study = read(entry, "decide: [frames_per_s, command_time_s command=encode]\n")
    spec = study.probes[0]
    assert (spec.probe, spec.params, spec.runs) == ("command", (("command", "encode"),), 3)
    assert spec.own.run == 'cd "$CLOUDCMP_FILES"\n./encode < clip\n'
    assert (spec.own.expected_s, spec.own.limit_s, spec.own.threads) == (60.0, 300.0, "2")
    assert spec.own.deadline_s == 2 * 300 + 600 + 20
    rate, time = spec.own.told
    assert (rate.unit, rate.better, rate.regex) == ("frames/s", Better.HIGHER, "fps=([0-9.]+)")
    assert (time.json, time.scale) == ("runs.0.ms", 0.001)
    assert [one.cell for one in study.decide] == ["frames_per_s", "command_time_s command=encode"]


METRIC = "metrics: [{name: x_s, unit: s, better: lower, regex: '(.)'}]"
FAULTS = [
    ("setup: ''", "5:47", "is not a line for a shell"),
    ("exepcted: 1 s", "5:40", "nearest: expected"),
    ("threads: none", "5:49", "one, all"),
    ("expected: fast", "5:50", "fast"),
    (METRIC.replace("(.)", "(."), None, "no regular expression"),
    (METRIC.replace("(.)", "(.)(.)"), None, "has 2 groups; write one"),
    (METRIC.replace("(.)", "."), None, "has 0 groups; write one"),
    (METRIC.replace("(.)", "x" * 600), None, "at most 500"),
    (METRIC.replace("x_s", "x"), None, "does not end with its unit s; write e.g. x_s"),
    (METRIC.replace("unit: s", "unit: MB/s"), None, "write unit: B/s and scale: 1000000"),
    (METRIC.replace("unit: s", "unit: ms"), None, "write unit: s and scale: 0.001"),
    (METRIC.replace("x_s", "triad_bytes_per_s"), None, "is a metric of cloudcmp's own"),
    (METRIC.replace("x_s", "X_s"), None, "cannot name a metric"),
    (METRIC.replace("lower", "faster"), None, "better: this is not known"),
    (METRIC.replace("regex: '(.)'", "json: a..b"), None, "is no path"),
    (METRIC.replace("regex: '(.)'", "scale: 2"), None, "found by one of regex and json"),
    (METRIC.replace("}]", ", scale: 0}]"), None, "is not a number above 0"),
    (METRIC.replace("}]", "}, {name: x_s, unit: s, better: lower, json: a}]"), None, "was named before"),
]


@pytest.mark.parametrize(("fields", "place", "says"), FAULTS)
def test_a_fault_is_one_line_with_its_place(fields, place, says):
    with pytest.raises(UserMistake) as refused:
        own(fields)
    line = str(refused.value)
    assert re.match(rf"own\.yaml:{place or '5:[0-9]+'}: ", line), line
    assert says in line
    assert "\n" not in line


def test_all_faults_are_told_at_once():
    with pytest.raises(UserMistake) as refused:
        own("setup: '', limit: soon, metrics: [{name: x_s, unit: s}]", "decide: [nothing_s]\n")
    assert len(refused.value.faults) >= 3


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ("  - {probe: command}\n", "write - command: {name: mine"),
        ("  - {command: {name: a, run: x}, probe: fma}\n", "names one probe, one suite, one command or one tool"),
        ("  - {command: {name: a, run: x}, params: {threads: all}}\n", "a command has no params"),
        ("  - {command: {name: ../a, run: x}}\n", "cannot name a command"),
        ("  - {command: {name: a}}\n", "run is missing"),
        ("  - {command: {name: a, run: x}}\n  - {command: {name: a, run: y}}\n", "the same cells as line 5"),
        (
            "  - {command: {name: a, run: x, metrics: [{name: m_s, unit: s, better: lower, json: a}]}}\n"
            "  - {command: {name: b, run: x, metrics: [{name: m_s, unit: s, better: higher, json: a}]}}\n",
            "another unit or direction in another command",
        ),
    ],
)
def test_entries_that_do_not_fit_are_refused(entries, says):
    with pytest.raises(UserMistake, match=re.escape(says)):
        read(entries)


def test_lines_that_no_job_could_hold_are_refused():
    long = "\u00e9" * 3900
    lines = "".join(f"      {key}: {long}\n" for key in ("run", "setup", "warmup"))
    with pytest.raises(UserMistake, match="bytes in a job; put them into files"):
        read(f"  - command:\n      name: a\n{lines}")


def test_endings_are_those_of_the_catalogue():
    assert all(metric.name.endswith(ending_of(metric.unit)) for metric in METRICS.values())


@given(st.text(max_size=40), st.sampled_from(["regex", "json", "name", "unit", "run", "scale"]))
def test_whatever_is_written_is_read_or_refused_in_lines(text, key):
    quoted = "'" + text.replace("'", "''") + "'"
    fields = {"name": "x_s", "unit": "s", "better": "lower"} | ({"regex": "'(.)'"} if key != "json" else {})
    metric = ", ".join(f"{name}: {value}" for name, value in (fields | {key: quoted}).items() if name != "run")
    run = quoted if key == "run" else "x"
    lines = []
    try:
        read(f"  - command: {{name: a, run: {run}, metrics: [{{{metric}}}]}}\n")
    except UserMistake as refused:
        lines = [fault.what for fault in refused.faults]
    assert not any("\n" in line for line in lines)


def test_a_tool_is_run_with_each_combination_of_its_settings():
    study = read("  - {tool: fio, params: {rw: [randread, write], bs_bytes: 8 KiB, direct: false}, install: true}\n")
    assert [spec.probe for spec in study.probes] == ["tool", "tool"]
    assert [dict(spec.params) for spec in study.probes] == [
        {"tool": "fio", "settings": "bs_bytes:8192,direct:no", "install": "yes"},
        {"tool": "fio", "settings": "bs_bytes:8192,direct:no,rw:write", "install": "yes"},
    ]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{tool: foi}", "unknown tool 'foi'; nearest: fio"),
        ("{tool: fio, params: {wr: read}}", "fio has no parameter 'wr'; nearest: rw"),
        ("{tool: fio, params: {rw: erase}}", "is none of randread"),
        ("{tool: fio, params: {rw: []}}", "the list is empty"),
        ("{tool: fio, install: maybe}", "write install: true"),
        ("{probe: fma, install: true}", "only tools are installed"),
        ("{probe: tool}", "write - {tool: fio}"),
        ("{tool: fio, params: {bs_bytes: [4 KiB, 4096]}}", "the same cells"),
    ],
)
def test_a_tools_fault_is_one_line_with_its_place(entry, says):
    with pytest.raises(UserMistake, match=re.escape(says)) as refused:
        read(f"  - {entry}\n")
    assert str(refused.value).startswith("own.yaml:5:")
