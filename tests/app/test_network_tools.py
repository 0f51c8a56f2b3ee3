"""ping and iperf3 as tools of a study: on one machine, and between two network namespaces."""

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from cloudcmp.provider.netns import network
from tests.app.namespaces import needs_namespaces
from tests.app.storage_kills import study_tag
from tests.cli.command import COMMAND, cloudcmp

pytestmark = pytest.mark.usefixtures("agent")
STUDY = """\
schema: 1
question: What do other tools say of this network?
candidates: [{provider: %s, region: local, offering: 1cpu}]
launches: 1
runs: 1
seed: 1
%sprobes: [%s]
"""
SHIM = """\
#!/bin/sh
# A version that may listen beyond loopback, which no package here has; everything else is the installed program's.
[ "$1" = --version ] && { echo 'iperf 3.20 (cJSON 1.7.15)'; exit; }
exec %s "$@"
"""


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed on this machine")


def ended(folder: Path) -> list[tuple[str, str, dict[str, object]]]:
    """The outcome, the reason and the notes of each attempt of a study."""
    with closing(sqlite3.connect(folder / "study.db")) as database:
        rows = database.execute("SELECT outcome, why, facts FROM attempt ORDER BY trial").fetchall()
    return [(outcome, why, json.loads(facts or "{}").get("notes", {})) for outcome, why, facts in rows]


def run(
    tmp_path: Path, probes: str, provider: str = "netns", caps: str = ""
) -> list[tuple[str, str, dict[str, object]]]:
    """Runs a study, and returns how its attempts ended."""
    (tmp_path / "study.yaml").write_text(STUDY % (provider, caps, probes), encoding="utf-8")
    cloudcmp("run", tmp_path / "study.yaml", "--out", tmp_path / "out", within_s=60)
    return ended(tmp_path / "out")


def run_newer(tmp_path: Path, probes: str, caps: str = "") -> list[tuple[str, str, dict[str, object]]]:
    """Does the same as `run` where iperf3 says that it is 3.20: seen by the study alone, in a mount namespace.

    The mounts of network namespaces are shared with the host, whose other studies would take them for unfinished.
    """
    name = f"test-{os.getpid()}"
    network.run("ip", "netns", "add", name)  # makes /run/netns a shared mount
    network.run("ip", "netns", "delete", name)
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "iperf3").write_text(SHIM % shutil.which("iperf3"), encoding="utf-8")
    (shims / "iperf3").chmod(0o755)
    (tmp_path / "study.yaml").write_text(STUDY % ("netns", caps, probes), encoding="utf-8")
    own = [str(COMMAND), "run", str(tmp_path / "study.yaml"), "--out", str(tmp_path / "out")]
    script = 'mount --make-private / && mount --bind "$0" /usr/local/sbin && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script, shims, *own],
        capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert (tmp_path / "out" / "study.db").exists(), done.stderr
    return ended(tmp_path / "out")


@needs("iperf3")
@needs("ping")
def test_on_one_machine_both_ends_are_on_loopback_and_the_figures_say_so(tmp_path: Path) -> None:
    probes = (
        "{tool: ping, params: {packets: 3, interval_s: 50 ms}}, {tool: iperf3, params: {duration_s: 1}},"
        "{tool: iperf3, params: {duration_s: 1, protocol: udp, rate_bytes_per_s: 1 MB/s}}"
    )
    assert [(outcome, why) for outcome, why, _ in run(tmp_path, probes, "local")] == [("ok", "")] * 3
    text = " ".join(cloudcmp("compare", tmp_path / "out", "--all").out.split())
    assert text.count("path=loopback") >= 3 or text.count("loopback") >= 3


@needs_namespaces
@needs("ping")
def test_ping_goes_from_the_first_machine_to_the_second(tmp_path: Path) -> None:
    probes = "{tool: ping, params: {path: zone, packets: 5, interval_s: 50 ms}}, {probe: rtt, params: {path: zone}}"
    assert [(outcome, why) for outcome, why, _ in run(tmp_path, probes)] == [("ok", "")] * 2
    tag = study_tag(tmp_path / "out")
    assert [one.name for one in network.machines() if one.tags.get(network.STUDY) == tag] == []


@needs_namespaces
@needs("iperf3")
def test_an_old_iperf3_may_not_listen_beyond_loopback(tmp_path: Path) -> None:
    version = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if tuple(int(part) for part in version.split(".")[:2]) >= (3, 20):
        pytest.skip(f"iperf3 {version} is not old")
    ((outcome, why, _),) = run(tmp_path, "{tool: iperf3, params: {path: zone, duration_s: 1}}")
    assert outcome == "failed"
    assert f"iperf3 {version} may not listen beyond loopback, 3.20 and later may" in why


@needs_namespaces
@needs("iperf3")
def test_a_newer_iperf3_measures_between_two_machines(tmp_path: Path) -> None:
    probes = (
        "{tool: iperf3, params: {path: zone, duration_s: 1, streams: 2}},"
        "{tool: iperf3, params: {path: zone, duration_s: 1, protocol: udp, rate_bytes_per_s: 2 MB/s}}"
    )
    assert [(outcome, why) for outcome, why, _ in run_newer(tmp_path, probes)] == [("ok", "")] * 2


@needs_namespaces
@needs("iperf3")
def test_iperf3_measures_the_other_way_and_keeps_the_cap_there(tmp_path: Path) -> None:
    reverse = "{tool: iperf3, params: {path: zone, duration_s: 1, direction: reverse%s}}"
    kinds = ("", ", rate_bytes_per_s: 10 MB/s", ", protocol: udp, rate_bytes_per_s: 2 MB/s")
    probes = ", ".join(reverse % kind for kind in kinds)
    found = run_newer(tmp_path, probes, "caps: {rate: 20 MB/s, duty: 100 %}\n")
    capped = "the caps' rate of 20.0 MB/s held it back: raise caps: rate, or name a lower rate"
    assert sorted((outcome, why) for outcome, why, _ in found) == [("aborted", capped), ("ok", ""), ("ok", "")]
    estimates = json.loads(cloudcmp("compare", tmp_path / "out", "--json").out)["data"]["estimates"]
    rates = {one["cell"]: one["median"] for one in estimates if one["n_ok"] and "measure=throughput" in one["cell"]}
    assert all("direction:reverse" in cell for cell in rates)
    assert sorted(rates.values()) == [pytest.approx(2e6, rel=0.05), pytest.approx(10e6, rel=0.1)]


@needs_namespaces
@needs("iperf3")
def test_p15_a_run_that_reaches_the_rate_of_the_caps_shows_the_caps(tmp_path: Path) -> None:
    probes = "{tool: iperf3, params: {path: zone, duration_s: 1}}"
    ((outcome, why, notes),) = run_newer(tmp_path, probes, "caps: {rate: 80 Mbit/s}\n")
    assert (outcome, notes["rate_cap_bytes_per_s"]) == ("aborted", 10_000_000)
    assert "held it back" in why


def test_settings_that_cannot_be_are_told_with_their_place(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    for entry, says in (
        ("{tool: ping, params: {interval_s: 0}}", "interval_s: 0 is not more than 0"),
        ("{tool: ping, params: {packets: 0}}", "packets: '0' is not a whole number of at least 1"),
        ("{tool: iperf3, params: {duration_s: 1.5}}", "duration_s: '1.5' is not a whole number"),
        ("{tool: iperf3, params: {protocol: sctp}}", "'sctp' is none of tcp, udp"),
        ("{tool: fio, params: {path: zone}}", "fio has no parameter 'path'"),
    ):
        study.write_text(STUDY % ("netns", "", entry), encoding="utf-8")
        done = cloudcmp("plan", study)
        assert done.code == 2
        assert f"{study}:" in done.err.replace("\n", "")
        assert says in done.err
    study.write_text(STUDY % ("local", "", "{tool: ping, params: {path: zone}}"), encoding="utf-8")
    done = cloudcmp("plan", study)
    assert done.code == 2
    assert "path: zone cannot be measured on one machine" in " ".join(done.err.split())
