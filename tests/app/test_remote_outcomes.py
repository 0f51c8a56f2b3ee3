"""Machines of one's own that lie, drop out or restart beside honest ones: the real command, to the report."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from cloudcmp.agent.host import new_key
from cloudcmp.app import study_view as viewing
from cloudcmp.model.trial import Outcome
from cloudcmp.model.view import View
from cloudcmp.store import StudyStore
from tests.cli.command import Said, cloudcmp
from tests.emulated.ssh_server import SshMachine, machine_in_thread
from tests.emulated.tcp_proxy import bad_line
from tests.execute.liars import lie, lie_about
from tests.slices import long, some

LAUNCHES = 6
"""As many as a winner needs."""
_STUDY = "schema: 1\nquestion: Who is fast?\ncandidates:\n{}probes:\n  - {{probe: fma}}\nlaunches: {}\nruns: 1\n"
_SLIGHTLY = "(0.99 + 0.02 * (job['seed'] % 97) / 97)"
HONEST = {
    "slow": f"hello(); sample(1e9 * {_SLIGHTLY}); end()",
    "fast": f"hello(); sample(2e9 * {_SLIGHTLY}); end()",
}
# Each claims to be a thousand times faster than it could be, in one way or another.
_LIARS = {
    "infinite": "hello(); sample(float('inf')); end()",
    "uncounted": "hello(); sample(1e12); end(10**9)",
    "cut": "hello(); sample(1e12)",
    "endless": "hello(); sample(1e12)\nwhile True: put(b'x' * 65536)",
    "markup": "hello(); say('error', what='\\x1b[2J</script><img src=x>', next='../../x'); end(0, 'failed')",
    "often": "hello(); sample(1e12); end() if job['seed'] % 2 else end(7)",
}
LIARS = dict(some([*_LIARS.items()], 3, 1))
"""The agent's side of each lie is in tests/execute/test_remote_lies.py."""


@contextmanager
def boxes(work: Path, names: tuple[str, ...]) -> Iterator[dict[str, SshMachine]]:
    """Machines that the OpenSSH configuration in `work` names."""
    client, lines, known = new_key(), [], ""
    (work / "key").write_text(client.private)
    (work / "key").chmod(0o600)
    with ExitStack() as stack:
        found = {}
        for name in names:
            home = work / "homes" / name
            home.mkdir(parents=True)
            one = stack.enter_context(machine_in_thread(home, host_key=new_key(), client_public=client.public))
            found[name] = one
            known += f"[{one.address}]:{one.port} {one.host_key.public}\n"
            lines += [f"Host {name}", f"  HostName {one.address}", f"  Port {one.port}", "  User cloudcmp",
                      f"  IdentityFile {work}/key", f"  UserKnownHostsFile {work}/known_hosts"]  # fmt: skip
        (work / "known_hosts").write_text(known)
        (work / "config").write_text("\n".join(lines) + "\n")
        yield found


def study(work: Path, names: tuple[str, ...], launches: int = LAUNCHES) -> Said:
    """The study of these machines, run by the command."""
    some = "".join(f"  - {{provider: ssh, region: ssh, offering: {name}}}\n" for name in names)
    (work / "study.yaml").write_text(_STUDY.format(some, launches))
    return cloudcmp("run", work / "study.yaml", "--out", work / "out", CLOUDCMP_SSH_CONFIG=str(work / "config"))


def outcomes(view: View) -> dict[str, list[Outcome]]:
    """The outcomes of each machine's trials, in order."""
    found: dict[str, list[Outcome]] = {one.offering.name: [] for one in view.plan.candidates}
    for attempt in view.attempts:
        launch = view.plan.launches[view.plan.trials[attempt.trial].launch]
        found[view.plan.candidates[launch.candidate].offering.name].append(attempt.outcome)
    return found


def lied(work: Path) -> Said:
    """A study of the honest and the liars; nothing of it is left on any machine, nor beside its folder."""
    names = (*HONEST, *LIARS)
    with boxes(work, names) as found:
        for name, body in (HONEST | LIARS).items():
            lie(found[name].home, body)
        before = set(work.iterdir())
        said = study(work, names)
        assert set(work.iterdir()) - before == {work / "out", work / "study.yaml"}
        for name in names:
            left = list((found[name].home / ".cloudcmp").rglob("*"))
            assert left == [], name
    return said


@long  # what becomes of each lie: tests/execute/test_remote_lies.py
def test_p29_p31_liars_beside_honest_machines_change_nothing_for_them(tmp_path: Path) -> None:
    said = lied(tmp_path)
    assert said.code == 0, said.err
    view = viewing.view(tmp_path / "out")
    ended = outcomes(view)
    for name in HONEST:
        assert ended[name] == [Outcome.OK] * LAUNCHES
    for name in LIARS:
        assert len(ended[name]) == LAUNCHES
        assert Outcome.OK not in ended[name] or name == "often"
    names = [one.offering.name for one in view.plan.candidates]
    (winner,) = view.analysis.winners
    assert [names[at] for at in winner.winners] == ["fast"]
    for one in view.analysis.estimates:
        name = names[one.candidate]
        assert one.n_started == LAUNCHES
        assert one.n_ok == (LAUNCHES if name in HONEST else ended[name].count(Outcome.OK))
        assert name in {*HONEST, "often"} or one.values == ()
    # The report tells how many of how many, and nothing else that they said.
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"0/{LAUNCHES}" in page
    assert f"{LAUNCHES}/{LAUNCHES}" in page
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page + said.out + said.err
    assert f"0/{LAUNCHES}" in said.out


@long
def test_p36_a_line_that_breaks_and_a_machine_that_restarts_are_told_apart(tmp_path: Path) -> None:
    names = ("steady", "flaky", "restarts")
    stop = threading.Event()
    with boxes(tmp_path, names) as found:
        watchers = []
        for name in names:
            home = found[name].home
            flag = home / "now"
            # Only in its second launch: the file `first` is there from the first one on.
            body = (
                f"import os\nhello()\nfirst = {str(home / 'first')!r}\n"
                "count = int(open(first).read()) if os.path.exists(first) else 0\n"
                "open(first, 'w').write(str(count + 1))\n"
                f"if count == 1 and {name != 'steady'}: open({str(flag)!r}, 'w'); time.sleep(30)\n"
                f"sample(1e9 * {_SLIGHTLY}); end()"
            )
            lie(home, body)
            if name == "restarts":
                boot = home / ".machine" / "boot_id"
                boot.write_text("one")
                lie_about(home, "/proc/sys/kernel/random/boot_id", f"print(open({str(boot)!r}).read())")
            watchers.append(threading.Thread(target=_break, args=(found[name], name, flag, stop)))
            watchers[-1].start()
        try:
            said = study(tmp_path, names, 3)
        finally:
            stop.set()
        for one in watchers:
            one.join()
    view = viewing.view(tmp_path / "out")
    ended = outcomes(view)
    assert ended["steady"] == [Outcome.OK] * 3, said.err
    assert ended["flaky"] == [Outcome.OK, Outcome.ABORTED, Outcome.OK]
    assert ended["restarts"] == [Outcome.OK, Outcome.FAILED, Outcome.OK]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for words in ("the machine lives and is connected again", "the machine restarted during the trial"):
        assert words in page
    assert said.code == 0


def _break(machine: SshMachine, name: str, flag: Path, stop: threading.Event) -> None:
    while not flag.exists():
        if stop.is_set():
            return
        time.sleep(0.01)
    flag.unlink()
    if name == "restarts":
        (machine.home / ".machine" / "boot_id").write_text("two")
    for connection in list(machine.open_connections):
        machine._loop.call_soon_threadsafe(connection.abort)


@long
def test_p36_a_line_that_stays_lost_leaves_its_launch_to_resume(tmp_path: Path) -> None:
    """Nothing but the line is at fault: the launches before and after it count, and its own is made up for."""
    with boxes(tmp_path, ("far",)) as found:
        home, out = found["far"].home, tmp_path / "out"
        lie(home, f"import os\nhello()\nseen = {str(home / 'seen')!r}\nopen(seen, 'a').write('.')\n"
                  f"if os.path.getsize(seen) == 3: open({str(home / 'now')!r}, 'w'); time.sleep(30)\n"
                  f"sample(1e9 * {_SLIGHTLY}); end()")  # fmt: skip
        with broken_line(found["far"], (home / "now").exists, lambda: True in interrupted(out)) as port:
            for file in (tmp_path / "config", tmp_path / "known_hosts"):
                text = file.read_text().replace(found["far"].address, "127.0.0.3")
                file.write_text(text.replace(str(found["far"].port), str(port)))
            rows = "candidates:\n  - {provider: ssh, region: ssh, offering: far}\nprobes:\n  - {probe: fma}\n"
            (tmp_path / "s.yaml").write_text(f"schema: 1\nquestion: Who?\n{rows}launches: 3\nruns: 2\n")
            with_config = {"CLOUDCMP_SSH_CONFIG": str(tmp_path / "config")}
            said = cloudcmp("run", tmp_path / "s.yaml", "--out", out, **with_config)
            assert "1 launch put off: ssh/ssh/far: its machine is out of reach" in said.out, said.err
            assert "--resume" in said.out
            assert sorted(interrupted(out)) == [False] * 4 + [True]
            said = cloudcmp("run", "--resume", out, **with_config)
            assert said.code == 0, said.err
    assert sorted(interrupted(out)) == [False] * 6 + [True]
    with StudyStore.open(out, write=False) as store:
        assert {one.outcome for one in store.attempts() if not one.interrupted} == {Outcome.OK}


def interrupted(out: Path) -> list[bool]:
    """Of each attempt that has ended, whether it was cut short."""
    with StudyStore.open(out, write=False) as store:
        return [one.interrupted for one in store.attempts()]


@contextmanager
def broken_line(machine: SshMachine, breaks: Callable[[], bool], mended: Callable[[], bool]) -> Iterator[int]:
    """A line to a machine that ends once something is so, and lets nobody through until something else is."""
    ports: list[int] = []
    over = threading.Event()

    async def until(so: Callable[[], bool]) -> None:
        while not over.is_set():
            with suppress(Exception):  # a study's file that is not there yet, or is being written
                if so():
                    return
            await asyncio.sleep(0.05)

    async def carry() -> None:
        server = (machine.address, machine.port)
        async with bad_line(server, "end", 2**60) as line:
            ports.append(line.port)
            await until(breaks)
        await until(mended)
        if not over.is_set():
            async with bad_line(server, "end", 2**60, ports[0]):
                await until(lambda: False)

    thread = threading.Thread(target=lambda: asyncio.run(carry()))
    thread.start()
    try:
        while not ports and thread.is_alive():
            time.sleep(0.01)
        yield ports[0]
    finally:
        over.set()
        thread.join(20)
