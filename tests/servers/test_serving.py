"""A server ends with its block, with whoever started it, after its time, and above its memory."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import fetch
from tests.servers.fetch import Absent, fetched, program
from tests.servers.kinds import KINDS, Kind, Launch
from tests.servers.serving import Served, running

PLAIN = "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), \
http.server.BaseHTTPRequestHandler).serve_forever()"


def plain(code: str = PLAIN, memory_mib: int = 200) -> Kind:
    """A server of the standard library."""

    def launch(place: Path, folder: Path, ports: list[int]) -> Launch:
        ends = {"http": f"http://127.0.0.1:{ports[0]}"}
        return Launch([sys.executable, "-c", code, str(ports[0])], ends)

    return Kind("plain", "0", "", "", "", ("http",), "none", launch, memory_mib=memory_mib)


def child(keeper: int) -> int:
    """The server that a keeper keeps."""
    return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Whether a process has ended, or ends soon."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def folder_of(pid: int) -> Path:
    """The folder that a server was given."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return Path(next(each[5:] for each in pairs if each.startswith(b"HOME=")).decode())


def test_it_ends_with_its_block_and_leaves_no_folder() -> None:
    with running(plain(), Path(), 60.0) as one:
        server, folder = child(one.keeper), folder_of(child(one.keeper))
        assert folder.is_dir()
        assert folder.parent == Path(tempfile.gettempdir())
    assert gone(server)
    assert not folder.exists()


def test_it_ends_with_whoever_started_it() -> None:
    code = (
        "import time; from pathlib import Path; from tests.servers.serving import running; "
        "from tests.servers.test_serving import child, plain\n"
        "with running(plain(), Path(), 60.0) as one: print(child(one.keeper), flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=fetch.ROOT) as asked:
        assert asked.stdout is not None
        server = int(asked.stdout.readline())
        folder = folder_of(server)
        asked.kill()
    assert gone(server)
    until = time.monotonic() + 10
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists()


def test_it_ends_with_its_keeper() -> None:
    with running(plain(), Path(), 60.0) as one:
        server = child(one.keeper)
        os.kill(one.keeper, signal.SIGKILL)
        assert gone(server)


def test_it_ends_after_its_time() -> None:
    with running(plain(), Path(), 2.0) as one:
        assert gone(child(one.keeper))


def test_it_ends_above_its_memory() -> None:
    greedy = plain(f"import time; kept = b'x' * 300 * 2**20; time.sleep(60); {PLAIN}", memory_mib=250)
    with pytest.raises(RuntimeError, match="it took more than 250 MiB"), running(greedy, Path(), 60.0):
        pass


def test_one_that_does_not_start_says_why() -> None:
    wrong = plain("raise SystemExit('no such thing')")
    with pytest.raises(RuntimeError, match="does not answer") as told, running(wrong, Path(), 60.0):
        pass
    assert str(told.value).splitlines()[1:] == ["no such thing", "it exited with 1"]


@pytest.mark.parametrize("name", KINDS)
def test_it_listens_on_loopback_alone(name: str, served: Callable[[str], Served]) -> None:
    process = Path(f"/proc/{child(served(name).keeper)}")
    sockets = {str(each.readlink()) for each in (process / "fd").iterdir() if each.is_symlink()}
    lines = [line.split() for table in ("tcp", "tcp6") for line in (process / "net" / table).read_text().splitlines()]
    listening = {line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}
    assert listening
    assert listening <= {"0100007F", "0000000000000000FFFF00000100007F"}


def test_what_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(fetch.__file__).parent / "python", tmp_path / "here" / "python")
    ran: list[Path] = []
    monkeypatch.setattr(fetch, "_HERE", tmp_path / "here")
    monkeypatch.setattr(fetch, "PLACE", tmp_path / "place")
    monkeypatch.setattr(fetch, "_python", lambda place, item: ran.append(place))
    with pytest.raises(Absent, match="takes minutes"):
        fetched("nanio", "python", "nanio", only_present=True)
    assert fetched("nanio", "python", "nanio") == fetched("nanio", "python", "nanio") == tmp_path / "place" / "nanio"
    assert len(ran) == 1
    (tmp_path / "here" / "python" / "uv.lock").write_text("other")
    fetched("nanio", "python", "nanio")
    assert len(ran) == 2


def test_a_program_that_is_not_installed_is_the_reason() -> None:
    with pytest.raises(Absent, match="no-such-program is not installed"):
        program("no-such-program")


def test_the_table_has_the_versions_of_the_lock_files() -> None:
    """Each file names a server's package and its version on one line."""
    here = Path(fetch.__file__).parent
    files = {"npm": "package.json", "python": "pyproject.toml", "go": "go.mod", "maven": "elasticmq.xml"}
    packages = {"firestore": "firestore", "bigtable": "go/bigtable ", "pubsub": "go/pubsub ", "versitygw": "versitygw "}
    for kind in KINDS.values():
        if kind.source:
            lines = (here / kind.source / files[kind.source]).read_text().splitlines()
            named = [line for line in lines if packages.get(kind.name, kind.name) in line]
            assert any(kind.version in line for line in named), kind.name


def test_the_page_has_a_line_for_each() -> None:
    page = (Path(fetch.__file__).parent / "README.md").read_text(encoding="utf-8")
    for kind in KINDS.values():
        version = "of `uv.lock`" if kind.name == "moto" else kind.version
        weight = "heavy" if kind.heavy else "light"
        line = f"| {kind.name} | {version} | {weight} | {', '.join(kind.protocols)} | {kind.checks} |"
        assert line in page
