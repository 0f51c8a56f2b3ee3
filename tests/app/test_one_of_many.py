"""What goes wrong with one launch of a round and is no candidate's doing: told as it is, the others left whole."""

import asyncio
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from cloudcmp.errors import StorageFault, Throttled
from cloudcmp.execute import launch as launching
from cloudcmp.execute import study as rounds
from cloudcmp.execute.context import Halt, RunContext
from cloudcmp.execute.launch import run_launch
from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.plan import Candidate, Launch
from cloudcmp.model.study import Caps
from tests.app.test_remote_outcomes import HONEST, boxes, study
from tests.cli.command import cloudcmp
from tests.emulated.ssh_server import SshMachine
from tests.execute.liars import lie


def test_a_machine_that_has_no_agent_is_told_as_that_and_stops_the_study_in_order(tmp_path: Path) -> None:
    names = ("fast", "strange")
    with boxes(tmp_path, names) as found:
        lie(found["fast"].home, HONEST["fast"])
        _strange(found["strange"])
        said = study(tmp_path, names)
        assert [list((one.home / ".cloudcmp").rglob("*")) for one in found.values()] == [[], []]
    told = said.out + said.err
    assert "Linux riscv64" in told
    assert "fault of its own" not in told
    assert "go on with: cloudcmp run --resume" in told


def _strange(machine: SshMachine) -> None:
    front = machine.home / ".machine" / "bin" / "uname"
    front.parent.mkdir(parents=True, exist_ok=True)
    front.write_text("#!/bin/sh\necho Linux riscv64\n")
    front.chmod(0o755)


def test_p19_what_one_launch_cannot_write_is_told_as_the_fault_that_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    async def carried(crew: object, launch: Launch, *_rest: object) -> None:
        try:
            if launch.index:
                raise StorageFault.at("study.db", "no space left on the disk")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(launch.index)

    monkeypatch.setattr(rounds, "run_launch", carried)
    plan = SimpleNamespace(candidates=[_candidate("a"), _candidate("b")], caps=Caps())
    cloud = SimpleNamespace(host=lambda candidate: candidate.runner)
    crew = SimpleNamespace(
        plan=plan, providers={"a": cloud, "b": cloud}, trials=SimpleNamespace(stop=asyncio.Event()), halt=Halt()
    )
    launches = [Launch(n, n, 0, None, 0.0, 1) for n in range(2)]
    with pytest.raises(StorageFault, match="no space left"):
        asyncio.run(rounds._run_round(crew, launches, {0: (), 1: ()}, {}))  # type: ignore[arg-type]
    assert sorted(ended) == [0, 1]


def _candidate(runner: str) -> SimpleNamespace:
    return SimpleNamespace(runner=runner, count=1, simulated=False)


def test_a_price_list_that_does_not_come_stops_a_study_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "machines", lambda *_: 1)
    sold = Offering("aws", "eu", "small", price=Price(Decimal("0.1"), "USD", "study"))
    one = Candidate(0, "aws/eu/small", sold, "aws")

    def throttled(_region: str) -> None:
        raise Throttled.at("aws/eu", "RequestLimitExceeded")

    cloud = SimpleNamespace(name="aws", billed=True, offerings=throttled)
    trial = SimpleNamespace(index=0, probe="resize", params=(("to", "large"),), deadline_s=60.0)
    plan, bench = SimpleNamespace(candidates=[one]), SimpleNamespace(stop=asyncio.Event())
    crew = RunContext(plan, None, {"aws": cloud}, None, bench, None, Halt())  # type: ignore[arg-type,dict-item]
    asyncio.run(run_launch(crew, Launch(0, 0, 0, None, 0.0, 1), [trial], {}))  # type: ignore[list-item]
    assert "RequestLimitExceeded" in crew.halt.why
    assert not crew.trials.stop.is_set()  # those that run beside it come to their end


def test_a_mixture_of_simulated_and_real_machines_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "schema: 1\nquestion: Both?\ncandidates:\n  - {provider: simulated, region: nimbus, offering: small}\n"
        "  - {provider: ssh, region: ssh, offering: box}\nprobes:\n  - {probe: fma}\nlaunches: 1\n"
    )
    said = cloudcmp("run", tmp_path / "s.yaml", "--out", tmp_path / "out")
    assert said.code == 2
    assert "share no clock" in said.err
    assert not (tmp_path / "out").exists()
