"""The frames that the agent's own tests read and write, read here."""

import json
from pathlib import Path

import pytest

from cloudcmp.agent import Decoder, JobTarget, encode_job
from cloudcmp.agent.job import ExpectedSeries
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome
from cloudcmp.stats import histogram

GOLDEN = Path(__file__).parents[2] / "agent" / "tests" / "golden"
RIGHT = sorted(GOLDEN.glob("stream-ok-*.ndjson"))
WRONG = sorted(GOLDEN.glob("stream-bad-*.ndjson"))
OUTCOMES = {"failed", "invalid", "timeout", "aborted"}


def name_of(path):
    return path.stem


def series_in(path):
    """The series that a right stream gives, as its trial would have planned them."""
    found = {}
    for line in path.read_text().splitlines():
        frame = json.loads(line)
        if frame["type"] in ("sample", "hist"):
            params = tuple(sorted(frame["params"].items()))
            text = ";".join("=".join(item) for item in params)
            is_hist = frame["type"] == "hist"
            found[frame["metric"], params] = ExpectedSeries(frame["metric"], text, is_hist, not is_hist, False)
    return found


def decoded(data, series, **more):
    decoder = Decoder(series, 20.0, histogram.from_base64, **more)
    decoder.feed(data)
    return decoder


def test_there_are_golden_frames():
    assert RIGHT
    assert WRONG


@pytest.mark.parametrize("path", RIGHT, ids=name_of)
def test_right_streams_are_taken(path):
    about = path.stem.removeprefix("stream-ok-")
    data = path.read_bytes()
    decoder = decoded(data, series_in(path), listens=about == "server", prints=about == "command")
    result = decoder.result()
    assert result.outcome == (about if about in OUTCOMES else Outcome.OK), result.why
    frames = [json.loads(line) for line in data.splitlines()]
    if result.outcome is Outcome.OK:
        given = [frame for frame in frames if frame["type"] in ("sample", "hist")]
        assert [(sample.metric, sample.t_s, sample.value, sample.hist) for sample in result.samples] == [
            (frame["metric"], frame["t_s"], frame.get("value"), frame.get("hist")) for frame in given
        ]
    else:
        assert result.samples == ()
        assert frames[-2]["what"] in result.why
    if about == "server":
        assert decoder.address == frames[1]["addr"]
    assert json.loads(result.facts)["version"] == frames[0]["version"]


@pytest.mark.parametrize("path", WRONG, ids=name_of)
def test_wrong_streams_give_nothing(path):
    series = series_in(GOLDEN / "stream-ok-fma.ndjson")
    assert decoded((GOLDEN / "stream-ok-fma.ndjson").read_bytes(), series).result().outcome is Outcome.OK
    result = decoded(path.read_bytes(), series).result()
    assert (result.outcome, result.samples) == (Outcome.INVALID, ())


def test_jobs_are_written_as_the_agent_reads_them():
    for line in (GOLDEN / "job-ok.ndjson").read_text().splitlines():
        job = json.loads(line)
        params = tuple(job["params"].items())
        trial = PlannedTrial(0, 0, job["probe"], params, (), 0, 0.0, 1.0, job["deadline_s"], job["seed"])
        given = {key: job[key] for key in ("role", "listen", "secret", "credentials", "caps", "lease_s") if key in job}
        given["targets"] = [
            JobTarget(**{key: tuple(value) if key == "addresses" else value for key, value in target.items()})
            for target in job["targets"]
        ]
        assert encode_job(trial, cpus=job["cpus"], folder=job["dir"], **given) == line.encode() + b"\n"
