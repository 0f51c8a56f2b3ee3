"""Endpoints seen from vantage points: planted delays are found again, and a vantage point fails by itself."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.app.namespaces import needs_namespaces
from tests.emulated.arm_tls import authority
from tests.execute.pages import look
from tests.name_server import __file__ as name_server
from tests.planted_path import Paths, planted_paths
from tests.tries import tries

from cloudcmp.app.wide_area_study import area_of_study
from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.catalog.tables.wan import rounds
from cloudcmp.errors import ConnectionLost
from cloudcmp.execute.cast import LaunchTargets
from cloudcmp.execute.context import TrialContext
from cloudcmp.execute.trial import TrialTask, run_trial
from cloudcmp.execute.vantages import Vantages
from cloudcmp.model.cast import CastMember, Role, Service, ServiceKind, Vantage
from cloudcmp.model.safety import Timeline
from cloudcmp.model.trial import Outcome
from cloudcmp.model.wide_area import Phase
from cloudcmp.provider.time import WallTime
from cloudcmp.provision import Machine
from cloudcmp.stats import histogram

PLANTED_S = (0.02, 0.05, 0.2)
SIZES = ((1, 10_000), (1, 102_400), (1,))
"""100 KiB are 71 segments: slow start sends 10, 20, 40, and the rest in a fourth round trip."""
STUDY = """
schema: 1
question: Which is nearer?
candidates:
  - {{provider: aws, region: us-east-1, service: http, endpoint: "http://{0}:8080"}}
  - {{provider: gcp, region: europe-north1, service: http, endpoint: "http://{1}:8080"}}
wan: {{vantages: [here], sizes: [1], pages: 2}}
launches: 2
runs: 1
"""


@contextlib.contextmanager
def program(*words: str) -> Iterator[None]:
    """A program that says a line once it is up, until the context is left."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module")
def paths(agent: Path) -> Iterator[Paths]:
    with planted_paths(*PLANTED_S) as made, contextlib.ExitStack() as stack:
        for pid, path in zip(made.far, made.paths, strict=True):
            serve = (str(agent), "serve", "--listen", f"{path.address}:8080", "--for", "300")
            stack.enter_context(program(*made.command(pid, *serve)))
        yield made


def misses(found: Mapping[str, float], planted: Mapping[str, float]) -> list[str]:
    """What was found more than 3 % above what was planted; fails at once for what is that much below it."""
    early = [f"{name}: {found[name]} s is too soon" for name, s in planted.items() if found[name] < 0.97 * s]
    assert not early, early
    return [f"{name}: {found[name]} s, and {s} s is planted" for name, s in planted.items() if found[name] > 1.03 * s]


@needs_namespaces
@pytest.mark.parametrize("number", range(len(PLANTED_S)))
def test_planted_round_trips_and_page_times_are_found_within_3_percent(number: int, paths: Paths, agent: Path) -> None:
    path, command = paths.paths[number], paths.command(paths.near, str(agent))
    for size in SIZES[number]:
        planted = dict.fromkeys(("wan_rtt_s", "wan_connect_s", "wan_first_byte_s"), path.rtt_s)
        planted["wan_page_s"] = (1 + rounds(size)) * path.rtt_s

        def check(size: int = size, planted: Mapping[str, float] = planted) -> list[str]:
            seen = look(command, f"http://{path.address}:8080", size_bytes=str(size), count="5")
            assert (seen.outcome, seen.notes["rtt_by"]) == ("ok", "icmp"), seen.error
            return misses(seen.medians, planted)

        tries(check)


@needs_namespaces
def test_a_name_is_asked_for_before_each_page_and_adds_a_round_trip(paths: Paths, agent: Path) -> None:
    path, command = paths.paths[0], paths.command(paths.near, str(agent))

    def check() -> list[str]:
        words = {"size_bytes": "1", "count": "4", "resolver": path.address}
        seen = look(command, "http://a.example.org:8080", **words)
        assert seen.outcome == "ok", seen.error
        assert seen.notes["addresses"] == seen.notes["resolver"] == path.address
        return misses(seen.medians, {"wan_dns_s": path.rtt_s, "wan_page_s": 3 * path.rtt_s})

    asked = paths.command(paths.far[0], sys.executable, name_server, path.address, path.address)
    with program(*asked):
        tries(check)


@needs_namespaces
def test_a_target_that_nobody_answers_at_is_one_line(paths: Paths, agent: Path) -> None:
    command = paths.command(paths.near, str(agent))
    gone = look(command, f"http://{paths.paths[0].address}:9", count="1")
    assert (gone.outcome, gone.error) == ("failed", "no page came: connect: refused")
    nowhere = look(command, "http://192.0.2.1:8080", count="1")
    assert (nowhere.outcome, nowhere.error) == ("failed", "no page came: connect: unreachable")


def test_tls_is_verified_unless_its_time_alone_is_asked_for(agent: Path) -> None:
    _, root = authority()
    pem = str(root.parent / "server.pem")
    serve = [str(agent), "serve", "--listen", "127.0.0.1:0", "--cert", pem, "--key", pem, "--for", "60"]
    with subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = f"https://{json.loads(server.stdout.readline())['addr']}"
        trusted = look([str(agent)], url, ca=root.read_text(), count="2", size_bytes="1")
        unverified = look([str(agent)], url, count="2", size_bytes="1", verify="no")
        refused = look([str(agent)], url, count="1")
        server.kill()
    for seen in (trusted, unverified):
        assert (seen.outcome, "wan_tls_s" in seen.medians) == ("ok", True), seen.error
        assert seen.medians["wan_page_s"] > seen.medians["wan_tls_s"] + seen.medians["wan_first_byte_s"]
    assert refused.outcome == "failed"
    assert "certificate" in refused.error
    assert "\n" not in refused.error


@needs_namespaces
def test_a_study_of_endpoints_reads_as_times_of_the_wide_area(paths: Paths, agent: Path, tmp_path: Path) -> None:
    (tmp_path / "far.yaml").write_text(STUDY.format(*(path.address for path in paths.paths[1:])))
    run = "import sys; from cloudcmp.cli.entry import main; sys.exit(main())"
    words = paths.command(paths.near, sys.executable, "-c", run, "run", "far.yaml", "--out")
    sites = ["aws/us-east-1", "gcp/europe-north1"]

    def named(what: str, values_s: Iterable[float]) -> dict[str, float]:
        return {f"{what} to {site}": float(s) for site, s in zip(sites, values_s, strict=True)}

    def check() -> list[str]:
        name = f"study-{len(list(tmp_path.iterdir()))}"
        done = subprocess.run([*words, name], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        area = area_of_study(str(tmp_path / name))
        assert ([str(site) for site in area.sites], area.kind) == (sites, "measured")
        rtts_s, pages_s = area.matrix(Phase.RTT)[0], area.matrix(Phase.PAGE, 1)[0]
        return misses(named("rtt", rtts_s) | named("page", pages_s), planted)

    planted = named("rtt", PLANTED_S[1:]) | named("page", [2 * one for one in PLANTED_S[1:]])
    tries(check)


class Broken:
    """A machine whose connection breaks as soon as a trial is started on it."""

    cpus, folder, address = (0,), None, "10.0.0.9"

    def __init__(self) -> None:
        self.started = 0

    def start(self, *_: object) -> object:
        self.started += 1
        raise ConnectionLost.at("far-host", "the connection was closed", "see if it is up")


class Well(Broken):
    """A machine whose agent measures."""

    def __init__(self, agent: Path, folder: Path) -> None:
        super().__init__()
        from cloudcmp.provider.local.process import Process

        self._make = lambda job: Process([str(agent)], job, folder, {})

    def start(self, job: bytes, *_: object) -> object:
        self.started += 1
        return self._make(job)


def test_a_vantage_point_that_dies_fails_its_own_trials_and_no_others(agent: Path, tmp_path: Path, rig) -> None:
    dead, well = Broken(), Well(agent, tmp_path)
    lease = None
    seen = Vantages({"dead": Machine(lease, dead, Timeline()), "well": Machine(lease, well, Timeline())})

    async def never() -> None:
        return None

    targets = LaunchTargets((well,), never, vantages=seen)
    context = TrialContext(rig.memory, METRICS, PROBES, WallTime(), rig.told, histogram.from_base64)
    with contextlib.ExitStack() as stack:
        serve = [str(agent), "serve", "--listen", "127.0.0.1:0", "--for", "60"]
        server = stack.enter_context(subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        stack.callback(server.kill)
        assert server.stdout is not None
        url = f"http://{json.loads(server.stdout.readline())['addr']}"

        def result(name: str):
            cast = (
                CastMember(Role.VANTAGE, Vantage(name)),
                CastMember(Role.ENDPOINT, Service(ServiceKind.HTTP, "aws", "us-east-1", url)),
            )
            trial = replace(rig.trial(0, "page", vantage=name, size_bytes="1", count="1"), cast=cast)
            return asyncio.run(run_trial(context, TrialTask(trial, 0, targets)))

        results = [result(name) for name in ("well", "dead", "dead", "well")]
    assert [one.outcome for one in results] == [Outcome.OK, Outcome.FAILED, Outcome.FAILED, Outcome.OK]
    assert results[1].why == results[2].why == "vantage dead: the connection was closed"
    assert (dead.started, well.started) == (1, 2), "a lost vantage point is not asked again"
