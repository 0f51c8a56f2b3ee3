"""The `isolation` of a study file: victims alone and beside each load, and what is wrong with others."""

import pytest
from tests.study.corpus import PROVIDERS

from cloudcmp.catalog import LOADS, PROBES, cells_of
from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import NETWORK_LOADS
from cloudcmp.model.study import Study
from cloudcmp.study import read_text
from cloudcmp.study.isolation import VICTIMS


def study(isolation: str, rest: str = "") -> Study:
    text = f"""schema: 1
question: x
candidates: [{{provider: simulated, region: nimbus, offering: small}}]
isolation: {isolation}
{rest}
"""
    return read_text(text, "small.yaml", providers=PROVIDERS)


def beside(one: Study) -> list[tuple[str, str, str]]:
    given = [(spec.probe, dict(spec.params)) for spec in one.probes]
    return [(probe, params["neighbour"], params.get("intensity", "")) for probe, params in given]


def test_each_victim_is_measured_alone_and_beside_each_load_with_each_number_of_threads() -> None:
    victims = "[memory, {probe: pi, params: {digits: 1000}}]"
    found = study(f"{{victims: {victims}, neighbours: [cpu, memory], threads: [1, 3]}}")
    loads = [("none", ""), ("cpu", "1"), ("cpu", "3"), ("memory", "1"), ("memory", "3")]
    assert beside(found) == [(probe, *load) for probe in ("stream", "pi") for load in loads]
    assert {dict(spec.params)["digits"] for spec in found.probes if spec.probe == "pi"} == {"1000"}


def test_several_mappings_measure_a_victim_alone_once() -> None:
    found = study(
        "[{victims: [memory], neighbours: [cpu]}, {victims: [memory, cpu], neighbours: [memory], threads: [2]}]"
    )
    assert beside(found) == [
        ("stream", "none", ""), ("stream", "cpu", "1"), ("stream", "memory", "2"), ("fma", "none", ""),
        ("fma", "memory", "2"),
    ]  # fmt: skip


def test_other_probes_may_be_measured_too_and_a_cell_can_be_named() -> None:
    rest = "probes: [{probe: stream}]\ndecide: [triad_bytes_per_s neighbour=memory;intensity=1]"
    found = study("{victims: [memory], neighbours: [memory]}", rest)
    assert [dict(spec.params).get("neighbour") for spec in found.probes] == [None, "none", "memory"]
    assert [one.cell for one in found.decide] == [
        "triad_bytes_per_s intensity=1;neighbour=memory;store=nontemporal;threads=all"
    ]


@pytest.mark.parametrize("name", VICTIMS)
def test_each_resource_has_a_probe_of_one_agent(name: str) -> None:
    [alone, loaded] = study(f"{{victims: [{name}], neighbours: [cpu]}}").probes
    assert alone.probe == loaded.probe
    for cell in cells_of(loaded.probe, dict(loaded.params)):
        assert (cell.get("neighbour"), cell.get("intensity")) == ("cpu", "1")
    for cell in cells_of(alone.probe, dict(alone.params)):
        assert (cell.get("neighbour"), cell.get("intensity")) == ("none", None)


def test_the_loads_are_those_of_the_agents_probe() -> None:
    [load] = [param for param in PROBES["neighbour"].params if param.name == "load"]
    assert (*load.words, *NETWORK_LOADS) == tuple(LOADS)


@pytest.mark.parametrize(
    ("isolation", "where", "words"),
    [
        ("{victims: [memry], neighbours: [cpu]}", "4:23", "unknown victim 'memry'; nearest: memory"),
        ("{victims: [memory], neighbours: [cpux]}", "4:45", "unknown load 'cpux'; nearest: cpu"),
        ("{victims: [memory], neighbours: [cpu, cpu]}", "4:50", "'cpu' was named before"),
        ("{victims: [{probe: blob}], neighbours: [cpu]}", "4:13", "blob cannot be a victim"),
        ("{victims: [{probe: barrier}], neighbours: [cpu]}", "4:13", "barrier cannot be a victim"),
        ("{victims: [memory], neighbours: [net_in], rates: [fast]}", "4:54", "fast"),
        ("{victims: [memory], neighbours: [net_in], rates: [0]}", "4:54", "0 is no rate"),
        ("{victims: [memory], neighbours: [net_in], rates: []}", "4:51", "rates: the list is empty"),
        ("{victims: [{probe: neighbour}], neighbours: [cpu]}", "4:31", "neighbour has an entry of its own"),
        ("{victims: [], neighbours: [cpu]}", "4:22", "victims: the list is empty"),
        ("{victims: [memory], neighbours: []}", "4:44", "neighbours: the list is empty"),
        ("{victims: [memory]}", "4:12", "neighbours is missing; write neighbours: [memory, cpu, disk_write]"),
        ("{victims: [memory], neighbours: [cpu], threads: [0]}", "4:61", "0 is not a whole number from 1"),
        ("{victims: [memory], neighbours: [cpu], load: 3}", "4:51", "unknown key 'load'"),
        ("memory", "4:12", "isolation must hold key: value"),
        (
            "[{victims: [memory], neighbours: [cpu]}, {victims: [memory], neighbours: [cpu]}]",
            "4:54",
            "stream was measured",
        ),
        ("[]", "1:1", "probes is missing"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(isolation: str, where: str, words: str) -> None:
    with pytest.raises(UserMistake) as told:
        study(isolation)
    lines = str(told.value).splitlines()
    assert len(lines) == 1
    assert words in lines[0]
    assert lines[0].startswith(f"small.yaml:{where.split(':', maxsplit=1)[0]}:")
