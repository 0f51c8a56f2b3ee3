"""A group behind a barrier: its machines are leased together, one reports, and a peer that fails fails the trial."""

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.command import cloudcmp
from tests.execute.conftest import Rig

GROUP = """schema: 1
question: How far apart do four start?
candidates: [{candidates}]
probes: [{{probe: barrier, params: {{peers: 4, rounds: 5, path: {path}}}}}]
launches: 2
runs: 1
"""
SIMULATED = (
    "{provider: simulated, region: nimbus, offering: small}, {provider: simulated, region: stratus, offering: small}"
)


def ran(folder: Path, candidates: str, path: str) -> tuple[dict, list[tuple]]:
    """The JSON document of a study of a group, and its leases' rows."""
    (folder / "s.yaml").write_text(GROUP.format(candidates=candidates, path=path))
    done = cloudcmp("run", "s.yaml", "--out", "out", "--json", "--all", cwd=folder)
    assert done.code == 0, done.err
    rows = sqlite3.connect(folder / "out" / "study.db").execute("SELECT slot, event FROM lease").fetchall()
    return done.json["data"], rows


def test_four_simulated_machines_are_leased_for_each_launch_and_all_are_seen_gone(tmp_path: Path) -> None:
    data, rows = ran(tmp_path, SIMULATED, "zone")
    assert [(one["cell"], one["n"]) for one in data["estimates"]] == [("start_skew_s path=zone;peers=4", 2)] * 2
    made = Counter(slot for slot, event in rows if event == "CREATED")
    assert len(made) == 4 * 4  # two rounds of two candidates, four machines each
    assert made.keys() == {slot for slot, event in rows if event == "GONE"}
    assert "start skew" in (tmp_path / "out" / "report.html").read_text()


def test_four_real_agents_meet_on_this_machine(tmp_path: Path, agent: Path) -> None:
    data, rows = ran(tmp_path, "{provider: local, region: local, match: {vcpus: 1}}", "loopback")
    (found,) = data["estimates"]
    assert found["cell"] == "start_skew_s path=loopback;peers=4"
    assert 0 < found["median"] < 1
    assert len({slot for slot, _ in rows}) == 2  # one machine for each launch


EXCHANGES = """schema: 1
question: How fast do three exchange, and how do two share a third?
candidates: [{candidates}]
probes:
  - {{probe: exchange, params: {{op: [alltoall, allreduce], peers: 3, rounds: 5, size_bytes: 64 KiB, path: {path}}}}}
  - {{probe: share, params: {{duration_s: 0.2 s, path: {path}}}}}
launches: 2
runs: 1
"""
CELLS = [
    *(
        f"{metric} op={op};path={{path}};peers=3;{percentile}size_bytes=65536"
        for op in ("alltoall", "allreduce")
        for metric, percentiles in (
            ("exchange_bytes_per_s", [""]),
            ("exchange_s", ["percentile=50;", "percentile=95;", "percentile=99;"]),
            ("straggler_ratio", [""]),
        )
        for percentile in percentiles
    ),
    "fairness_ratio path={path};peers=3;size_bytes=131072",
    "sender_bytes_per_s path={path};peers=3;sender=first;size_bytes=131072",
    "sender_bytes_per_s path={path};peers=3;sender=last;size_bytes=131072",
]


@pytest.mark.parametrize("real", [False, True])
def test_a_group_exchanges_and_senders_share_a_receiver(tmp_path: Path, agent: Path, real: bool) -> None:
    candidates, path = (
        ("{provider: local, region: local, match: {vcpus: 1}}", "loopback") if real else (SIMULATED, "zone")
    )
    (tmp_path / "s.yaml").write_text(EXCHANGES.format(candidates=candidates, path=path))
    done = cloudcmp("run", "s.yaml", "--out", "out", "--json", "--all", cwd=tmp_path)
    assert done.code == 0, done.err
    found = {(one["candidate"], one["cell"]): one for one in done.json["data"]["estimates"]}
    assert {cell for _, cell in found} == {cell.format(path=path) for cell in CELLS}
    assert all(one["n"] == 2 for one in found.values())
    for (_, cell), one in found.items():
        if cell.startswith("straggler_ratio"):
            assert one["median"] >= 1
        if cell.startswith("fairness_ratio"):
            assert 0.5 <= one["median"] <= 1
    assert "straggler factor" in (tmp_path / "out" / "report.html").read_text()


ONE_FAILS = """
import json, os, subprocess, sys
job = json.loads(sys.stdin.buffer.readline())
if job["listen"] is None and not os.path.exists({mark!r}):
    open({mark!r}, "w").close()
    sys.exit("no room")
child = subprocess.Popen([{agent!r}], stdin=subprocess.PIPE)
child.stdin.write(json.dumps(job, separators=(",", ":")).encode() + b"\\n"); child.stdin.flush()
sys.exit(child.wait())
"""


def test_a_peer_that_never_comes_fails_the_trial(rig: Rig, agent: Path) -> None:
    script = rig.script(ONE_FAILS.format(mark=str(rig.folder / "mark"), agent=str(agent)))
    rig.on_local(script, [rig.trial(0, "barrier", deadline_s=3.0, rounds="5")], grace_s=0.5)
    (attempt,) = rig.memory.attempts
    assert attempt.outcome.value in {"failed", "invalid", "timeout"}
    assert attempt.why
    assert not rig.memory.samples[0]
    assert rig.seconds < 10


ONE_DIES = """
import json, os, subprocess, sys, threading
line = sys.stdin.buffer.readline()
child = subprocess.Popen([{agent!r}], stdin=subprocess.PIPE)
child.stdin.write(line); child.stdin.flush()
if json.loads(line)["listen"] is None and not os.path.exists({mark!r}):
    open({mark!r}, "w").close()
    threading.Timer(0.7, child.kill).start()
sys.exit(child.wait())
"""


@pytest.mark.parametrize(
    ("probe", "params"),
    [
        ("exchange", {"rounds": "10000"}),
        ("exchange", {"op": "allreduce", "rounds": "10000"}),
        ("share", {"duration_s": "9"}),
    ],
)
def test_a_peer_that_is_killed_in_the_middle_fails_the_trial(
    rig: Rig, agent: Path, probe: str, params: dict[str, str]
) -> None:
    script = rig.script(ONE_DIES.format(mark=str(rig.folder / "mark"), agent=str(agent)))
    rig.on_local(script, [rig.trial(0, probe, deadline_s=20.0, **params)], grace_s=0.5)
    (attempt,) = rig.memory.attempts
    assert attempt.outcome.value in {"failed", "invalid"}
    assert attempt.why
    assert not rig.memory.samples[0]
    assert rig.seconds < 10


@pytest.mark.parametrize("role", ["first", "other"])
def test_every_peer_is_given_the_others_and_one_secret(rig: Rig, agent: Path, role: str) -> None:
    jobs = rig.folder / "jobs"
    script = rig.script(
        f"import json, os, subprocess, sys\n"
        f"line = sys.stdin.buffer.readline()\n"
        f"open({str(jobs)!r}, 'ab', 0).write(line)\n"
        f"child = subprocess.Popen([{str(agent)!r}], stdin=subprocess.PIPE)\n"
        f"child.stdin.write(line); child.stdin.flush()\n"
        f"sys.exit(child.wait())"
    )
    rig.on_local(script, [rig.trial(0, "barrier", rounds="5")])
    assert rig.outcomes == ["ok"], [one.why for one in rig.memory.attempts]
    sent = [json.loads(line) for line in jobs.read_bytes().splitlines()]
    assert len(sent) == 4
    assert len({job["secret"] for job in sent}) == 1
    first, others = sent[0], sent[1:]
    if role == "first":
        assert first["listen"] == "127.0.0.1:0"
        assert first["targets"] == [{"role": "peer", "address": "127.0.0.1"}] * 3
    else:
        for job in others:
            assert job["listen"] is None
            lead, *more = job["targets"]
            assert lead["address"].startswith("127.0.0.1:")
            assert more == [{"role": "peer", "address": "127.0.0.1"}] * 2
