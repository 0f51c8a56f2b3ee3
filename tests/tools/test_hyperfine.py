"""hyperfine: every run is a value, a run that failed is none, and means are told to be means."""

import json
import math
from typing import Any

import pytest

from tests.tools.outputs import reports, sample, values, why


def test_each_time_is_a_run_and_a_failed_one_has_no_value() -> None:
    found = reports("hyperfine", sample("hyperfine.json"))
    document = json.loads(sample("hyperfine.json"))
    sort, gzip = document["results"]
    assert [values(one) for one in found[:5]] == [{"time": seconds} for seconds in sort["times"]]
    assert {str(one.settings) for one in found[:5]} == {"{'command': 'sort_-S_1G_words.txt'}"}
    assert [bool(one.failed) for one in found[5:]] == [code != 0 for code in gzip["exit_codes"]] == [0, 0, 1, 0]
    assert [values(one) for one in found[5:]][2] == {}
    (failed,) = found[7].failed
    assert (failed.name, failed.metric) == ("time", "tool_time_s")
    assert found[5].settings["parameter_level"] == "6"


def test_commands_that_differ_in_signs_only_are_not_one() -> None:
    document = json.loads(sample("hyperfine.json"))
    document["results"] = [{**document["results"][0], "command": command} for command in ("a < b", "a > b", "a b")]
    names = list(dict.fromkeys(one.settings["command"] for one in reports("hyperfine", json.dumps(document))))
    assert len(names) == 3
    assert names[2] == "a_b"
    long = [{**document["results"][0], "command": "x" * 100 + end} for end in "12"]
    found = reports("hyperfine", json.dumps({"results": long}))
    assert found[0].settings != found[-1].settings


def test_a_run_that_a_signal_ended_has_failed() -> None:
    changed = sample("hyperfine.json").replace("        1,\n", "        null,\n")
    assert changed != sample("hyperfine.json")
    assert [bool(one.failed) for one in reports("hyperfine", changed)][5:] == [False, False, True, False]


def test_version_2_names_its_units() -> None:
    found = reports("hyperfine", sample("hyperfine-schema2.json"))
    assert [values(one) for one in found] == [{"time": 0.10121}, {}, {"time": 0.10118}]
    assert found[0].settings == {"command": "a_tenth"}
    minutes = sample("hyperfine-schema2.json").replace('"unit": "second"', '"unit": "minute"', 1)
    assert "is not second" in why("hyperfine", minutes)


def test_a_table_has_means_only_and_says_so() -> None:
    one, six = reports("hyperfine", sample("hyperfine-means.csv"))
    assert values(one)["time_mean"] == pytest.approx(0.9, rel=0.05)
    assert (one.settings["parameter_level"], six.settings["parameter_level"]) == ("1", "6")
    assert one.settings["command"] != six.settings["command"]
    assert "--export-json" in one.unread[0]
    assert not six.unread


def _changed(**new: Any) -> str:
    document = json.loads(sample("hyperfine.json"))
    document["results"][0].update(new)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_changed(mean=9.0), "does not follow"),
        (_changed(times=[]), "tells of no run"),
        (_changed(times=[0.1, -0.1]), "is not above zero"),
        (_changed(times=[0.1, "0.1"]), "is not a number"),
        (_changed(exit_codes=[0]), "not one exit code for each"),
        ('{"results": [], "command": 1, "times": 1}', "tells of no command"),
        (sample("hyperfine.json")[:700], "cut or broken"),
        (sample("hyperfine-means.csv").replace(",6\n", "\n"), "cells in 9 columns"),
        ("command,mean,stddev,median,user,system,min,max\n", "the table has no row"),
        ("command,mean,stddev,median,user,system,min,max\na,5,,5,1,1,6,7\n", "is not between"),
    ],
)
def test_a_doubtful_output_is_one_line(text: str, says: str) -> None:
    assert says in why("hyperfine", text)


def test_a_version_without_exit_codes_is_read() -> None:
    document = json.loads(sample("hyperfine.json"))
    for result in document["results"]:
        del result["exit_codes"]
    found = reports("hyperfine", json.dumps(document))
    assert len(found) == 9
    assert math.isclose(sum(values(one)["time"] for one in found[:5]), 5 * document["results"][0]["mean"])
