"""The JSON Schema of study files accepts what the reader accepts, and refuses the same keys."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.docs.pages import DOCS, PAGES, ROOT, blocks
from tests.slices import examples as drawn
from tests.slices import spread
from tests.study.corpus import GOOD, RICH, SWAPS

from cloudcmp.app.plan import known_providers
from cloudcmp.app.schema import schema_text, study_schema
from cloudcmp.catalog import APART, METRICS, PROBES, SUITES, TOOLS, cells_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.provider.registry import make
from cloudcmp.study import default_text, demo_text, questions, read_text, starter
from cloudcmp.study.faults import Faults
from cloudcmp.study.key_texts import KEY_TEXTS
from cloudcmp.study.tree import read_tree

SCHEMA = study_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
MEASURED = [name for name in PROBES if name not in APART]


def data_of(text: str | bytes) -> Any:
    """What the reader's own parser makes of a text, for the schema."""
    return read_tree(text.encode() if isinstance(text, str) else text, Faults("study.yaml")).data


def is_read(text: str) -> bool:
    try:
        read_text(text, "study.yaml", providers=known_providers())
    except UserMistake:
        return False
    return True


def examples() -> Iterator[Any]:
    """Every valid study of the project: name and text."""
    for path in sorted((ROOT / "studies").glob("*.yaml")):
        yield pytest.param(path.read_text(encoding="utf-8"), id=path.name)
    for page in PAGES:
        for block in blocks(page):
            if block.info.split(" ")[0] == "yaml" and block.info != "yaml fault":
                yield pytest.param(block.text, id=block.place)
    yield pytest.param((ROOT / "tests" / "app" / "small.yaml").read_text(encoding="utf-8"), id="small")
    for clouds in ((), ("aws",), starter.CLOUDS):
        told = questions.answers({"--matters": ",".join(starter.MATTERS)})
        text = starter.starter_text(told, clouds, next(starter.forms(told.matters)))
        yield pytest.param(text, id=f"start {len(clouds)}")
    yield pytest.param(demo_text(), id="demo")
    yield pytest.param(GOOD, id="corpus")
    yield pytest.param(RICH, id="rich")


@pytest.mark.parametrize("text", list(examples()))
def test_every_study_of_the_project_is_accepted(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(data_of(text))] == []


def test_the_rich_study_is_one_and_has_every_key() -> None:
    assert is_read(RICH)
    written = set(re.findall(r"([a-z_]+):", RICH)) | {"image"}
    assert {key for keys in KEY_TEXTS.values() for key in keys} <= written


def _keys(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of each key of a value, except for those that are texts of cells."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not path or path[-1] not in {"cells", "weights"}:
                yield (*path, key)
            yield from _keys(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _keys(item, (*path, number))


def _renamed(value: Any, path: tuple[str | int, ...], name: str) -> Any:
    """The value with the key at a path renamed, in its place."""
    if isinstance(value, list):
        return [_renamed(item, path[1:], name) if number == path[0] else item for number, item in enumerate(value)]
    if len(path) == 1:
        return {name if key == path[0] else key: item for key, item in value.items()}
    return {key: _renamed(item, path[1:], name) if key == path[0] else item for key, item in value.items()}


ALL_KEYS = list(_keys(data_of(RICH)))


@pytest.mark.parametrize("path", spread(ALL_KEYS, 30), ids=lambda path: ".".join(map(str, path)))
def test_a_misspelt_key_is_refused_by_both(path: tuple[str | int, ...]) -> None:
    changed = _renamed(data_of(RICH), path, f"{path[-1]}x")
    assert not VALIDATOR.is_valid(changed)
    assert not is_read(json.dumps(changed, indent=1))


def _values(param: Param, tool: bool) -> st.SearchStrategy[Any]:
    """Values of a parameter as people write them."""
    sizes: dict[ParamKind, st.SearchStrategy[Any]] = {
        ParamKind.COUNT: st.integers(1, 4096) | st.sampled_from(["8", "16"]),
        ParamKind.THREADS: st.integers(1, 64),
        ParamKind.BYTES: st.integers(1, 2**24) | st.sampled_from(["4 KiB", "1 MB", "65536"]),
        ParamKind.SECONDS: st.sampled_from([1, 0.5, "2", "500 ms", "1 min"]),
        ParamKind.RATE: st.sampled_from(["10 Mbit/s", "1 GB/s", 1e6]),
        ParamKind.TEXT: st.sampled_from(["word", "a/b", "x86"]),
    }
    one = st.sampled_from([*param.words, param.default])
    if tool and "yes" in param.words:
        one |= st.booleans()
    if param.kind is not ParamKind.CHOICE:
        one |= sizes[param.kind]
    return one | st.lists(one, min_size=1, max_size=2, unique_by=str)


@st.composite
def _entry(draw: st.DrawFn, key: str, table: Mapping[str, tuple[Param, ...]], name: str) -> dict[str, Any]:
    """An entry of `probes` with a parameter or two."""
    params = table[name]
    chosen = draw(st.lists(st.sampled_from(params), max_size=2, unique_by=lambda one: one.name)) if params else []
    entry: dict[str, Any] = {key: name}
    if chosen or draw(st.booleans()):
        entry["params"] = {param.name: draw(_values(param, key == "tool")) for param in chosen}
    if draw(st.booleans()):
        entry["runs"] = draw(st.integers(1, 9))
    return entry


OF_PROBES = {name: PROBES[name].params for name in MEASURED}
OF_TOOLS = {name: tool.params for name, tool in TOOLS.items()}
OF_SUITES = {
    name: tuple({one.name: one for probe, _ in reversed(suite.probes) for one in PROBES[probe].params}.values())
    for name, suite in SUITES.items()
}
PRICES = st.sampled_from(["0.10 USD/h", "1e-2 USD / hour", "3 USD/h"])
SHARES = st.sampled_from([0, 0.5, 1, "3 %", "0.03", "+1e-1 %"])
DURATIONS = st.sampled_from(["1 h", "30 min", "1.5 s", "+2 weeks", "500ms", " 3 days "])
NAMES = st.sampled_from(["nimbus", "eu-1", 7, "x y"])


def _some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


VOLUMES = st.sampled_from(["gp3", {"type": "gp3"}, {"type": "x", "size": "1 GiB", "iops": None, "root": True}])
MATCHES = _some(vcpus=st.floats(0.5, 64), memory_gib=st.integers(1, 64), category=NAMES).filter(bool)
TRUTHS = _some(
    cells=st.dictionaries(
        st.sampled_from(["fma_flop_per_s", "fma_flop_per_s  threads=one ;precision=f64; "]),
        st.sampled_from([5e9, "5 Gflop/s"])
        | st.fixed_dictionaries({"mean": st.just(1e9)}, optional={"cov": SHARES, "drift": st.just("-1 %")}),
        max_size=1,
    ),
    boot_s=st.sampled_from([0, 3, "1 min"]),
    faults=_some(capacity=SHARES, stale_list_s=st.integers(0, 9)),
)
MACHINES = st.one_of(
    st.fixed_dictionaries(
        {"provider": st.sampled_from(["simulated"]), "offering": NAMES},
        optional={
            "region": NAMES | st.none(),
            "volume": VOLUMES,
            "price": PRICES,
            "truth": TRUTHS,
            "count": st.integers(1, 9),
        },
    ),
    st.fixed_dictionaries(
        {"provider": st.sampled_from(["aws", "local", "gcp"]), "match": MATCHES},
        optional={"os": st.sampled_from(["linux", None]), "market": st.just("spot"), "allow": st.just("203.0.113.7")},
    ),
)
REST = _some(
    name=st.sampled_from(["a.b", 7, "x-1"]),
    launches=st.integers(1, 10_000) | st.none(),
    runs=st.integers(1, 9),
    sessions=st.just([{"name": 1, "days": "all", "hours": "9:00 - 24:00", "timezone": "UTC"}]),
    budget=st.sampled_from(["5 USD", "0.5USD", None]),
    caps=_some(burst=DURATIONS, bytes=st.just("5 TB"), duty=SHARES.filter(bool), machines=st.integers(1, 9)),
    deadline=DURATIONS,
    seed=st.integers(0, 2**53 - 1),
    until=st.sampled_from(["5 %", 0.03, None]),
    stop=st.sampled_from(
        [
            "fixed",
            "certify",
            "ranking",
            {"rule": "certify", "tolerance": "1 %"},
            {"tolerance": 0.03},
            {"spend": "20000 USD/year"},
            {"rule": "budget", "spend": "100 USD / month"},
            {"rule": None},
            None,
        ]
    ),
    isolation=st.sampled_from(
        [
            None,
            {"victims": ["memory", {"probe": "pi"}], "neighbours": ["cpu"]},
            {"victims": ["disk_read"], "neighbours": ["memory", "disk_mixed"], "threads": [1, 2]},
        ]
    ),
    weights=st.sampled_from([{"fma_flop_per_s": 2}, {"fma_flop_per_s threads=one": 0.5}, None]),
    terms=_some(currency=st.just("USD"), discounts=st.lists(st.fixed_dictionaries({"share": SHARES}), max_size=2)),
)


@st.composite
def studies(draw: st.DrawFn) -> dict[str, Any]:
    """A study that is most probably valid."""
    probes = draw(st.lists(st.sampled_from([one for one in MEASURED if one != "fma"]), max_size=3, unique=True))
    entries = [{"probe": "fma"}, *(draw(_entry("probe", OF_PROBES, name)) for name in probes)]
    entries += [draw(_entry("tool", OF_TOOLS, draw(st.sampled_from(list(TOOLS)))))] if draw(st.booleans()) else []
    cells = [str(cell) for cell in cells_of("fma", {})]
    return {
        "schema": 1,
        "question": "which?",
        "candidates": draw(st.lists(MACHINES, min_size=1, max_size=3)),
        "probes": entries,
        **draw(REST),
        "decide": draw(st.sampled_from([cells, ["fma_flop_per_s"], [{"cell": cells[0]}], None])),
    }


@settings(deadline=None, max_examples=drawn(150))
@given(studies())
def test_what_the_reader_accepts_the_schema_accepts(study: dict[str, Any]) -> None:
    text = json.dumps(study, indent=1)
    assume(is_read(text))  # a few combinations of parameters do not fit together
    assert [error.message for error in VALIDATOR.iter_errors(data_of(text))] == []


@settings(deadline=None, max_examples=drawn(100))
@given(studies(), st.data())
def test_a_changed_key_of_any_study_is_refused_by_both(study: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(_keys(study))))
    other = data.draw(st.text("abcdefgh_", min_size=1, max_size=3))
    changed = _renamed(study, path, f"{path[-1]}_{other}")
    assert not VALIDATOR.is_valid(changed)
    assert not is_read(json.dumps(changed, indent=1))


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(list(SUITES)), st.data())
def test_parameters_of_suites_are_those_of_its_probes(name: str, data: st.DataObject) -> None:
    entry = data.draw(_entry("suite", OF_SUITES, name))
    machine = {"provider": "simulated", "offering": "x"}
    study = {"schema": 1, "question": "x", "candidates": [machine], "probes": [entry]}
    assume(is_read(json.dumps(study)))
    assert VALIDATOR.is_valid(study)


@pytest.mark.parametrize("rule", ["unknown key", "schema"])
def test_each_unknown_key_and_format_of_the_corpus_is_refused(rule: str) -> None:
    for old, new in SWAPS[rule]:
        assert not VALIDATOR.is_valid(data_of(GOOD.replace(old, new, 1))), new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("provider: aws", "provider: asw"),
        ("probe: stream", "probe: streams"),
        ("suite: cpu", "suite: cpus"),
        ("threads: [one", "thread: [one"),
        ("[one, all]", "[one, al]"),
        ("- triad_bytes_per_s", "- triad_byte_per_s"),
        ("fma_flop_per_s threads=all", "fma_flop_per_s thread=all"),
        ("triad_bytes_per_s: {", "triad: {"),
        ("days: weekdays", "days: workdays"),
        ("budget: 5 USD", "budget: 5"),
        ("budget: 5 USD", "budget: 0.0 USD"),
        ("every: 1 h", "every: 1 hr"),
        ("0.10 USD/h", "0.10 USD"),
        ("10 Mbit/s", "10 m/s"),
        ("launches: 6", "launches: 0"),
        ("    offering: m7i.large", "    offering: m7i.large\n    match: {vcpus: 2}"),
        ("  - suite: cpu", "  - {suite: cpu, probe: fma}"),
        ("every: 1 h\n", ""),
        ("provider: simulated", "provider: aws"),
    ],
)
def test_what_an_editor_marks(old: str, new: str) -> None:
    assert VALIDATOR.is_valid(data_of(GOOD))
    assert old in GOOD
    assert not VALIDATOR.is_valid(data_of(GOOD.replace(old, new, 1)))


def test_a_metric_of_a_command_may_decide_only_beside_a_command() -> None:
    with_command = GOOD.replace("  - suite: cpu", "  - command: {name: mine, run: ./mine}").replace(
        "- triad_bytes_per_s", "- score_per_s", 1
    )
    assert VALIDATOR.is_valid(data_of(with_command))
    assert not VALIDATOR.is_valid(data_of(GOOD.replace("- triad_bytes_per_s", "- score_per_s", 1)))


def test_names_are_those_of_the_tables() -> None:
    parts = SCHEMA["$defs"]
    entry = parts["ProbeShape"]["properties"]
    for key, table in (("probe", MEASURED), ("suite", SUITES), ("tool", TOOLS)):
        assert entry[key]["enum"] == [*table, None]
        assert len(entry[key]["enumDescriptions"]) == len(entry[key]["enum"])
    assert parts["CandidateShape"]["properties"]["provider"]["enum"] == sorted(known_providers())
    assert parts["cell"]["anyOf"][0]["enum"] == list(METRICS)


def test_every_key_has_a_text_and_a_place_in_the_reference() -> None:
    page = (DOCS / "reference" / "study-file.md").read_text(encoding="utf-8")
    shapes = {name: part for name, part in SCHEMA["$defs"].items() if name.endswith("Shape")}
    assert set(KEY_TEXTS) == {"Head", *shapes}
    for name, shape in {**shapes, "Head": SCHEMA}.items():
        assert set(KEY_TEXTS[name]) == set(shape["properties"]), name
        assert [key for key in shape["properties"] if not re.search(rf"\b{key}\b", page)] == []


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _walk(item)


def test_it_is_a_schema_that_older_editors_read() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(schema_text()) == SCHEMA
    assert "prefixItems" not in schema_text()
    assert "dependentRequired" not in schema_text()
    assert "unevaluatedProperties" not in schema_text()
    patterns = [part["pattern"] for part in _walk(SCHEMA) if isinstance(part.get("pattern"), str)]
    assert len(patterns) > 20
    for pattern in patterns:
        assert r"\-" not in pattern  # no escape in ECMA 262 with the flag u
        re.compile(pattern)
    places = {part["$ref"].removeprefix("#/$defs/") for part in _walk(SCHEMA) if isinstance(part.get("$ref"), str)}
    assert places == set(SCHEMA["$defs"])


def test_the_study_of_this_machine_is_accepted() -> None:
    assert VALIDATOR.is_valid(data_of(default_text(make("local").offerings())))
