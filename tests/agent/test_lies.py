"""A table of lies, each told in the place of an honest frame: all make the trial invalid, none gives a number."""

import base64
import json

import pytest

from cloudcmp.model.trial import Outcome
from cloudcmp.stats import histogram

HUGE = "9" * 5000
FMA = 2  # where the honest stream has its first fma sample
HIST = 7
HELLO = 0
NOTE = 1


def of(place, **fields):
    return place, fields


LIES = {
    "value true": of(FMA, value=True),
    "value text": of(FMA, value="5e10"),
    "value null": of(FMA, value=None),
    "value list": of(FMA, value=[1]),
    "value zero": of(FMA, value=0),
    "value negative zero": of(FMA, value=-0.0),
    "value negative": of(FMA, value=-5.0),
    "value nan": of(FMA, value=float("nan")),
    "value inf": of(FMA, value=float("inf")),
    "value -inf": of(FMA, value=float("-inf")),
    "value of 400 digits": of(FMA, value=10**400),
    "time negative": of(FMA, t_s=-1),
    "time nan": of(FMA, t_s=float("nan")),
    "time inf": of(FMA, t_s=float("inf")),
    "time in the future": of(FMA, t_s=20.5),
    "time of a year": of(FMA, t_s=3e7),
    "time goes back": of(FMA + 1, t_s=0.5),
    "time stands still where rates are totalled": of(FMA + 1, t_s=1.0),
    "time zero where rates are totalled": of(FMA, t_s=0),
    "time text": of(FMA, t_s="1"),
    "metric unknown": of(FMA, metric="flops"),
    "metric of another probe": of(FMA, metric="lu_flop_per_s"),
    "metric a path": of(FMA, metric="../../etc/passwd"),
    "metric a list": of(FMA, metric=["fma_flop_per_s"]),
    "metric with markup": of(FMA, metric="</script><b>"),
    "params missing": of(FMA, params=None),
    "params of another cell": of(FMA, params={"precision": "f64", "threads": "all"}),
    "params more than asked": of(FMA, params={"precision": "f64", "threads": "one", "turbo": "on"}),
    "params fewer than asked": of(FMA, params={"precision": "f64"}),
    "params not text": of(FMA, params={"precision": "f64", "threads": 1}),
    "params a list": of(FMA, params=["precision", "f64"]),
    "sample where histograms belong": of(HIST, type="sample", value=1.0),
    "histogram where samples belong": of(FMA, type="hist", hist=base64.b64encode(b"x").decode()),
    "histogram of a percentile": of(
        HIST, params={"path": "loopback", "percentile": "50", "protocol": "tcp", "size_bytes": "64"}
    ),
    "histogram not text": of(HIST, hist=7),
    "histogram empty": of(HIST, hist=""),
    "histogram not base64": of(HIST, hist="!!!"),
    "histogram of noise": of(HIST, hist=base64.b64encode(bytes(range(200))).decode()),
    "histogram cut": of(HIST, hist=histogram.encode([1e6, 2e6])[:-8]),
    "type unknown": of(NOTE, type="shell"),
    "type missing": of(NOTE, type=None),
    "type job": of(NOTE, type="job"),
    "type a list": of(NOTE, type=["note"]),
    "end in the middle": of(NOTE, type="end", outcome="ok", count=0, sha256=""),
    "hello twice": of(NOTE, type="hello", version="1", target="x", host={}, clock={"resolution_s": 0, "cost_s": 0}),
    "hello late": of(HELLO, type="note", key="a", value=1),
    "ready of one that should not listen": of(NOTE, type="ready", addr="127.0.0.1:80"),
    "version other": of(NOTE, v=1),
    "version true": of(NOTE, v=True),
    "version float": of(NOTE, v=2.0),
    "seq gap": of(NOTE, seq=2),
    "seq again": of(NOTE, seq=0),
    "seq true": of(NOTE, seq=True),
    "seq text": of(NOTE, seq="1"),
    "seq negative": of(NOTE, seq=-1),
    "note key a sentence": of(NOTE, key="rm -rf /"),
    "note key empty": of(NOTE, key=""),
    "note key endless": of(NOTE, key="a" * 65),
    "note key not text": of(NOTE, key=5),
    "note value an object": of(NOTE, value={"a": 1}),
    "note value null": of(NOTE, value=None),
    "note value nan": of(NOTE, value=float("nan")),
    "note value of 5000 digits": of(NOTE, value=10**4000),
    "clock cost negative": of(HELLO, clock={"source": "x", "resolution_s": 1e-9, "cost_s": -1e-9}),
    "clock cost missing": of(HELLO, clock={"source": "x", "resolution_s": 1e-9}),
    "clock missing": of(HELLO, clock=None),
    "host a list": of(HELLO, host=[1, 2]),
    "host nested without end": of(HELLO, host={"a": [[[[[[[[1]]]]]]]]}),
    "host with a million keys": of(HELLO, host={str(n): n for n in range(600)}),
    "host with infinity": of(HELLO, host={"cores": float("inf")}),
    "version of the agent not text": of(HELLO, version=1),
}


@pytest.mark.parametrize("name", LIES)
def test_p29_a_lie_makes_the_trial_invalid(wire, name):
    place, fields = LIES[name]
    body = [{**frame, **(fields if index == place else {})} for index, frame in enumerate(wire.frames())]
    result = wire.decode(wire.encode(body))
    assert (result.outcome, result.samples, result.facts) == (Outcome.INVALID, (), "{}")
    assert result.why.isprintable()
    assert 0 < len(result.why) < 300


ENDS = {
    "no digest": {"sha256": None},
    "wrong digest": {"sha256": "0" * 64},
    "count too small": {"count": 5},
    "count too large": {"count": 10**30},
    "count true": {"count": True},
    "count negative": {"count": -1},
    "count text": {"count": "6"},
    "outcome unknown": {"outcome": "excellent"},
    "outcome preempted, which only a cloud can know": {"outcome": "preempted"},
    "outcome a list": {"outcome": ["ok"]},
    "seq wrong": {"seq": 99},
}


@pytest.mark.parametrize("name", ENDS)
def test_p29_a_wrong_end_makes_the_trial_invalid(wire, name):
    result = wire.decode(wire.encode(wire.frames(), **ENDS[name]))
    assert (result.outcome, result.samples) == (Outcome.INVALID, ())


TAILS = {
    "a byte": b"x",
    "a line": b"\n",
    "another end": b'{"v":2,"seq":9,"type":"end","outcome":"ok","count":6,"sha256":""}\n',
    "a gigabyte begins": b"\0" * 65536,
}


@pytest.mark.parametrize("name", TAILS)
def test_nothing_may_follow_the_end(wire, name):
    result = wire.decode(wire.encode(wire.frames()) + TAILS[name])
    assert (result.outcome, result.samples) == (Outcome.INVALID, ())


RAW = {
    "not json": b"PASS 5e10\n",
    "an array": b"[]\n",
    "a number": b"5\n",
    "not utf-8": b'{"v":2,"seq":0,"type":"\xff"}\n',
    "utf-16": '{"v":2,"seq":0,"type":"hello"}\n'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"v":2,"seq":0,"type":"hello"}\n',
    "deep": b"[" * 60000 + b"\n",
    "a key twice": b'{"v":2,"seq":5,"seq":0,"type":"hello"}\n',
    "5000 digits": f'{{"v":2,"seq":{HUGE},"type":"hello"}}\n'.encode(),
    "empty lines": b"\n\n\n",
    "nothing": b"",
    "zeros": b"\0" * 1000,
}


@pytest.mark.parametrize("name", RAW)
def test_p28_bytes_that_are_no_frames(wire, name):
    result = wire.decode(RAW[name])
    assert (result.outcome, result.samples) == (Outcome.INVALID, ())


@pytest.mark.parametrize("missing", range(4))
def test_an_ok_trial_must_give_every_cell(wire, missing):
    dropped = [(2, 3), (4, 5), (6,), (7,)][missing]
    body = [frame for index, frame in enumerate(wire.frames()) if index not in dropped]
    result = wire.decode(wire.encode(body))
    assert (result.outcome, result.samples) == (Outcome.INVALID, ())
    assert "gave nothing for" in result.why


def test_exit_without_data_is_not_ok(wire):
    result = wire.decode(wire.encode(wire.frames()[:1]))
    assert result.outcome is Outcome.INVALID


def test_what_a_machine_says_is_cleaned_before_it_is_kept(wire):
    hello = wire.frames()[0]
    nasty = "Fast\x1b[2J\x1b]0;owned\x07 CPU\u202e\u2066\x00\r\nnew line \ud800" + "x" * 9000
    host = {"cpu_model": nasty, "list\x1b[1m": [nasty, {"deep": nasty}]}
    error = {"type": "error", "what": nasty, "next": "\x1b[31mrun me"}
    body = [{**hello, "host": host, "version": nasty}, error]
    result = wire.decode(wire.encode(body, outcome="failed"))
    assert result.outcome is Outcome.FAILED
    facts = json.loads(result.facts)
    for text in (result.why, facts["version"], facts["host"]["cpu_model"], facts["host"]["list"][1]["deep"]):
        assert text.isprintable()
        assert text.startswith("Fast CPU new line")
        assert len(text) <= 4096
    assert len(result.why) <= 500
