"""Signals outside of a study: raised once, also from where Python drops what is raised, then the process is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.slices import spread

from .command import COMMAND

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BEGIN = """
import os, signal, sys, time
from cloudcmp.cli.interruption import Interruption
interruption = Interruption()
interruption.heed()
def send(number): os.kill(os.getpid(), number)
"""


def _ends(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _BEGIN + code], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("number", SIGNALS)
def test_p08_the_first_signal_is_raised(number: signal.Signals) -> None:
    done = _ends(f"try:\n    send({number})\nexcept KeyboardInterrupt:\n    print('raised')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "raised\n", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_p08_what_a_destructor_swallows_is_raised_after_it(number: signal.Signals) -> None:
    code = f"""
class Closing:
    def __del__(self):
        send({number})
        for _ in range(1000): pass
        print('not reached')
alarm = [signal.SIGALRM]  # held back until we have gone on, however long that takes
signal.pthread_sigmask(signal.SIG_BLOCK, alarm)
try:
    one = Closing()
    del one
    print('gone on')
    signal.pthread_sigmask(signal.SIG_UNBLOCK, alarm)
    time.sleep(10)
except KeyboardInterrupt:
    print('raised')
"""
    done = _ends(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "gone on\nraised\n", "")


def test_p08_a_signal_while_a_class_is_made_is_no_error_of_the_class() -> None:
    code = """
import os, signal, cloudcmp.cli
from cloudcmp.cli import entry
class Late:
    def __set_name__(self, owner, name): os.kill(os.getpid(), signal.SIGINT)
def make(name):
    class Made: late = Late()
cloudcmp.cli.__getattr__ = make
entry.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (130, "", 1)
    assert "interrupted" in done.stderr


def test_p08_what_was_half_made_when_the_signal_came_does_not_complain() -> None:
    code = f"""
class Half:
    def __init__(self):
        send({signal.SIGTERM})
        self.whole = True
    def __del__(self): self.whole
async def asked(): pass
try:
    never = asked()
    Half()
except KeyboardInterrupt:
    del never
    print('raised')
"""
    done = _ends(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "raised\n", "")


def test_other_faults_of_destructors_are_still_shown() -> None:
    done = _ends("class Bad:\n    def __del__(self): raise ValueError('oh')\none = Bad()\ndel one")
    assert "ValueError: oh" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_p08_the_second_signal_leaves_at_once(number: signal.Signals) -> None:
    code = f"""
print('said before')
try:
    send({signal.SIGHUP})
except KeyboardInterrupt:
    try:
        send({number})
    finally:
        print('not reached')
"""
    done = _ends(code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "said before\n", "interrupted\n")


def test_p08_a_third_signal_does_not_say_it_again() -> None:
    code = f"""
write = os.write
def written(fd, line):
    write(fd, line)
    send({signal.SIGTERM})
os.write = written
try:
    send({signal.SIGINT})
except KeyboardInterrupt:
    send({signal.SIGINT})
"""
    done = _ends(code)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_p08_a_closed_terminal_is_not_the_second_signal() -> None:
    code = f"""
try:
    send({signal.SIGHUP})
except KeyboardInterrupt:
    send({signal.SIGHUP})
    print('gone on')
"""
    done = _ends(code)
    assert (done.returncode, done.stdout) == (0, "gone on\n")


def test_p08_a_closed_terminal_lets_the_line_about_an_interruption_be_printed() -> None:
    code = f"""
try:
    send({signal.SIGHUP})
except KeyboardInterrupt:
    interruption.over(130)
    send({signal.SIGHUP})
    print('interrupted')
"""
    done = _ends(code)
    assert (done.returncode, done.stdout) == (0, "interrupted\n")


@pytest.mark.parametrize("number", SIGNALS)
def test_p08_what_is_over_keeps_its_exit_code(number: signal.Signals) -> None:
    done = _ends(f"print('the answer')\ninterruption.over(3)\nsend({number})\ntime.sleep(10)")
    assert (done.returncode, done.stdout, done.stderr) == (3, "the answer\n", "")


def test_p08_what_is_ignored_stays_so() -> None:
    code = f"signal.signal({signal.SIGHUP}, signal.SIG_IGN)\nInterruption().heed()\nsend({signal.SIGHUP})\nprint('on')"
    assert _ends(code).stdout == "on\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_p08_who_interrupts_the_first_moment_sees_no_traceback(number: signal.Signals) -> None:
    codes = set()
    for count in spread(range(12), 4):
        with subprocess.Popen(
            [COMMAND, "list", "metrics"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as job:
            _python_has_begun(job.pid)
            time.sleep(0.01 * count)
            job.send_signal(number)
            _, err = job.communicate(timeout=30)
        codes.add(job.returncode)
        assert "Traceback" not in err
        assert err.strip() in {"", "interrupted"}
    assert codes <= {0, 130}


def _python_has_begun(pid: int) -> None:
    """Until then, and for the first steps of a process, it is the interpreter who is interrupted."""
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        caught = Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0]
        if int(caught, 16) >> (signal.SIGALRM - 1) & 1:
            return
        os.sched_yield()
    raise TimeoutError("it never takes signals")
