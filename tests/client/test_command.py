"""The processes of a command: what they get, what is read of them, and what is never seen from outside."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from cloudcmp.client.command import BODY, Command, CommandFailed, _Processes
from cloudcmp.client.failures import Ended

SECRET = "5ec3e7-of-the-tests"
Made = Callable[[str], Command]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Makes a command of a shell script."""

    def make(script: str) -> Command:
        program = tmp_path / "tool"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return Command("tool", "install it", "TOOL_SETTINGS", f"key = {SECRET}\n", {"TOOL_COLOUR": "no"})

    return make


def test_a_process_gets_its_settings_as_a_file_and_nothing_of_the_users(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "AWS_PROFILE", "TOOL_REGION", "HOME", "PYTHONPATH"):
        monkeypatch.setenv(name, "of-the-user")
    command = made('cat "$TOOL_SETTINGS"; env; tr "\\0" " " < /proc/$$/cmdline')
    settings, _, seen = command.run(["--flag", "a word"]).decode().partition("\n")
    assert settings == f"key = {SECRET}"
    assert SECRET not in seen
    assert "of-the-user" not in seen
    assert "TOOL_COLOUR=no" in seen
    assert f"HOME={os.devnull}" in seen
    assert seen.endswith("--flag a word ")


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_bodies_of_any_size_go_in_and_come_out(made: Made, size: int) -> None:
    body = os.urandom(size)
    # The answer of an upload is its output, that of a download what it wrote into its file.
    assert made('cat "$2"; test "$1" = put').run(["put", BODY], body) == body
    assert made(f'head -c {size} /dev/zero > "$2"; echo not-the-body').run(["get", BODY]) == bytes(size)


def test_times_are_those_of_the_process(made: Made) -> None:
    command = made("sleep 0.1; echo first; sleep 0.2; echo last; exec >&-; sleep 0.1")
    began_ns = time.perf_counter_ns()
    assert command.run([]) == b"first\nlast\n"
    at = command.answers
    assert began_ns <= at.began_ns
    assert at.first_ns - at.began_ns >= 0.1e9
    assert at.last_ns - began_ns >= 0.4e9, "its end, not that of its output"


def test_a_process_that_fails_says_how(made: Made) -> None:
    with pytest.raises(CommandFailed) as caught:
        made("echo half; echo 'no such thing' >&2; exit 254").run([])
    assert (caught.value.code, caught.value.text) == (254, "no such thing")
    with pytest.raises(CommandFailed) as caught:
        made("head -c 200000 /dev/zero | tr '\\0' e >&2; kill -9 $$").run(["x"])
    assert (caught.value.code, len(caught.value.text)) == (-9, 65536)


def test_a_program_that_cannot_be_run_ends_the_trial_in_one_line(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    assert made("test \"$1\" = --version && printf 'tool 1.2\\nmore\\n'").version().startswith("tool 1.2")
    for script in ("echo broken >&2; exit 1", "exit 0", "exec /no/such/interpreter"):
        with pytest.raises(Ended, match="tool cannot be run: "):
            made(script).version()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Ended) as caught:
        Command("tool", "install it", "TOOL_SETTINGS", "", {})
    assert (caught.value.what, caught.value.advice) == ("tool is not installed", "install it")


def test_processes_under_way_end_with_the_trial_and_none_begins_after_it() -> None:
    processes = _Processes()
    one = processes.start(["sleep", "60"], {"PATH": os.defpath}, 1, 2, ())
    waiting = Thread(target=one.wait)
    waiting.start()
    processes.end_all()
    waiting.join(10)
    assert one.returncode == -9
    with pytest.raises(CommandFailed, match="the trial is over"):
        processes.start(["sleep", "60"], {"PATH": os.defpath}, 1, 2, ())


def test_no_file_is_left_open(made: Made) -> None:
    command = made('exec cat "$1"')
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        command.run([BODY], b"a body")
        with pytest.raises(CommandFailed):
            command.run(["/no/such/file"])
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
