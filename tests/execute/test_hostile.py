"""Agents that lie, flood, hang or die on this machine: a result each time, never a number, within time and memory."""

import json
import resource

import pytest

from cloudcmp.errors import OutsideFault
from cloudcmp.model.trial import Outcome
from cloudcmp.stats import histogram

# What hostile agents share: a right hello, and a right end for what was said so far.
HONEST = r"""
import hashlib, json, os, sys, time
said = hashlib.sha256()
seq = 0
def say(type, **fields):
    global seq
    put(json.dumps({"v": 2, "seq": seq, "type": type, **fields}).encode() + b"\n")
    seq += 1
def put(data):
    said.update(data)
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
def hello():
    say("hello", version="0", target="t", host={}, clock={"source": "c", "resolution_s": 0, "cost_s": 0})
def sample(value=1e9, t_s=1.0):
    say("sample", metric="fma_flop_per_s", params={"precision": "f64", "threads": "one"}, t_s=t_s, value=value)
def end(count=1, outcome="ok"):
    say("end", outcome=outcome, count=count, sha256=said.hexdigest())
job = json.loads(sys.stdin.readline())
"""

INVALID = {
    "garbage": "put(os.urandom(100000))",
    "text": "print('GFLOPS: 12.5')",
    "nothing at all": "",
    "exit before the end": "hello(); sample(); sys.exit(0)",
    "crash": "hello(); sample(); raise SystemError('boom')",
    "killed": "hello(); sample(); os.kill(os.getpid(), 9)",
    "wrong digest": "hello(); sample(); said.update(b'x'); end()",
    "wrong count": "hello(); sample(); end(2)",
    "nan": "hello(); sample(float('nan')); end()",
    "infinite": "hello(); sample(float('inf')); end()",
    "zero": "hello(); sample(0); end()",
    "negative time": "hello(); sample(t_s=-1.0); end()",
    "a time of tomorrow": "hello(); sample(t_s=86400.0); end()",
    "ok without data": "hello(); end(0)",
    "more after the end": "hello(); sample(); end(); print('and more')",
    "endless output": "hello()\nwhile True: put(b'x' * 65536)",
    "endless lines": "hello()\nwhile True: put(b'{}\\n' * 20000)",
    "endless notes": "hello()\nwhile True: say('note', key='a', value=1)",
    "a huge line": 'hello(); put(b\'{"v":2,"seq":1,"type":"note","key":"a","value":"\' + b\'x\' * 2**20 + b\'"}\\n\')',
    "escape codes": "put(b'\\x1b[2J\\x1b]0;owned\\x07')",
    "endless after the end": "hello(); sample(); end()\nwhile True: put(b'x' * 65536)",
}


@pytest.mark.parametrize("name", INVALID)
def test_p29_p31_a_hostile_agent_makes_its_trial_invalid(rig, name):
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rig.on_local(rig.script(HONEST + INVALID[name]), [rig.trial(0, "fma")])
    (attempt,) = rig.memory.attempts
    assert attempt.outcome is Outcome.INVALID
    assert rig.memory.samples[0] == ()
    assert attempt.why.isprintable()
    assert 0 < len(attempt.why) < 500
    assert rig.seconds < 8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 96 * 1024


def test_an_agent_that_dies_leaves_its_last_words(rig):
    rig.on_local(rig.script("import sys; sys.exit('\\x1b[31mno such\\tdevice')"), [rig.trial(0, "fma")])
    assert rig.memory.attempts[0].why == "the stream ended without an end record (exit 1: no such device)"


SLOW = {
    "hang": "hello(); sample(t_s=0.1); time.sleep(60)",
    "silent": "time.sleep(60)",
    "drip": "hello()\nfor byte in b'{' * 1000: put(bytes([byte])); time.sleep(0.05)",
    "deaf to signals": "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; hello(); time.sleep(60)",
}


@pytest.mark.parametrize("name", SLOW)
def test_p24_no_agent_holds_us_beyond_its_deadline(rig, name):
    rig.on_local(rig.script(HONEST + SLOW[name]), [rig.trial(0, "fma", deadline_s=0.3)], grace_s=0.2)
    assert rig.outcomes == ["timeout"]
    assert rig.memory.attempts[0].why == "no end within 0.3 s"
    assert rig.seconds < 3


def test_an_agent_that_ends_but_does_not_leave_is_believed_and_ended(rig):
    rig.on_local(rig.script(HONEST + "hello(); sample(); end(); time.sleep(60)"), [rig.trial(0, "fma")])
    assert rig.outcomes == ["ok"]
    assert rig.seconds < 3


def test_the_next_trial_runs_as_if_nothing_had_happened(rig):
    body = HONEST + "hello(); sample(-1.0 if job['seed'] == 1000 else 2.0); end()"
    visit = rig.on_local(rig.script(body), [rig.trial(0, "fma"), rig.trial(1, "fma")])
    assert rig.outcomes == ["invalid", "ok"]
    assert [sample.value for sample in rig.memory.samples[1]] == [2.0]
    assert visit.finished


@pytest.mark.parametrize("outcome", ["failed", "timeout", "aborted", "invalid"])
def test_what_an_honest_agent_admits_is_recorded(rig, outcome):
    body = HONEST + f"hello(); say('error', what='no disk', next='add one'); end(0, {outcome!r})"
    rig.on_local(rig.script(body), [rig.trial(0, "fma")])
    assert rig.outcomes == [outcome]
    assert rig.memory.attempts[0].why == "no disk; add one"


def test_an_agent_that_cannot_be_started_is_a_failure_of_the_trial(rig):
    agent = rig.script("")
    agent.write_text("#!/no/such/interpreter\n")
    rig.on_local(agent, [rig.trial(0, "fma")])
    assert rig.outcomes[0] in {"failed", "invalid"}
    assert "No such file" in rig.memory.attempts[0].why


# Peers: a server that listens, a client that is given its address.
SERVER = HONEST + "server = job['role'] == 'server'\n"
RTT = """
if not server:
    hello()
    params = {{"path": "loopback", "protocol": "tcp", "size_bytes": "64"}}
    say("hist", metric="rtt_s", params=params, t_s=1.0, hist={hist!r})
    end()
"""


def peers(server):
    return SERVER + f"if server:\n    {server}" + RTT.format(hist=histogram.encode([1e4, 2e4]))


LISTENS = "hello(); say('ready', addr='127.0.0.1:4711'); "


def test_peers_share_one_secret_and_the_clients_samples_count(rig):
    told = rig.folder / "told"
    body = peers(LISTENS + "sys.stdin.read(); end(0, 'aborted')").replace(
        "job = json.loads(sys.stdin.readline())\n",
        "job = json.loads(sys.stdin.readline())\n"
        f"fields = [job[key] for key in ('role', 'listen', 'targets', 'secret')]\n"
        f"open({str(told)!r}, 'a').write(json.dumps(fields) + '\\n')\n",
    )
    rig.on_local(rig.script(body), [rig.trial(0, "rtt"), rig.trial(1, "rtt")])
    assert rig.outcomes == ["ok", "ok"]
    assert len(rig.memory.samples[0]) == 1
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    server = ["server", "127.0.0.1:0", [{"role": "client", "address": "127.0.0.1"}]]
    client = ["client", None, [{"role": "server", "address": "127.0.0.1:4711"}]]
    assert [line[:3] for line in lines] == [server, client] * 2
    assert lines[0][3] == lines[1][3] != lines[2][3] == lines[3][3]
    assert all(len(bytes.fromhex(line[3])) == 32 for line in lines)


BAD_SERVERS = {
    "garbage": ("put(b'garbage')", "invalid"),
    "silent": ("sys.exit(0)", "invalid"),
    "ends at once": ("hello(); end(0)", "failed"),
    "fails": ("hello(); say('error', what='port taken', next='wait'); end(0, 'failed')", "failed"),
    "points elsewhere": ("hello(); say('ready', addr='8.8.8.8:53'); sys.stdin.read(); end(0, 'aborted')", "invalid"),
    "gives samples": (LISTENS + "sample(); end(1)", "invalid"),
    "lies at the end": (LISTENS + "sys.stdin.read(); end(5)", "invalid"),
    "fails while it serves": (LISTENS + "say('error', what='lost', next=''); end(0, 'failed')", "failed"),
    "never leaves": (LISTENS + "time.sleep(60)", "timeout"),
    "floods": (LISTENS + "\n    while True: put(b'x' * 65536)", "invalid"),
}


@pytest.mark.parametrize("name", BAD_SERVERS)
def test_a_bad_server_spoils_its_trial(rig, name):
    body, outcome = BAD_SERVERS[name]
    rig.on_local(rig.script(peers(body)), [rig.trial(0, "rtt")])
    assert rig.outcomes == [outcome], rig.memory.attempts[0].why
    assert rig.memory.attempts[0].why.startswith("server: ")
    assert rig.memory.samples[0] == ()
    assert rig.seconds < 5


def test_a_server_that_never_listens_ends_with_the_deadline(rig):
    rig.on_local(rig.script(peers("hello(); time.sleep(60)")), [rig.trial(0, "rtt", deadline_s=0.4)])
    assert rig.outcomes == ["timeout"]
    assert rig.memory.attempts[0].why == "server: it did not say where it listens"
    assert rig.seconds < 3


def test_a_client_that_hangs_takes_its_server_with_it(rig):
    body = SERVER + "if server:\n    " + LISTENS + "sys.stdin.read(); end(0)\nelse: time.sleep(60)"
    rig.on_local(rig.script(body), [rig.trial(0, "rtt", deadline_s=0.3)], grace_s=0.1)
    assert rig.outcomes == ["timeout"]
    assert rig.seconds < 3


def test_what_is_not_the_candidates_doing_is_raised(rig):
    class Full(type(rig.memory)):
        def finish_attempt(self, *args, **more):
            raise OutsideFault.at("study.db", "no space left on the disk")

    rig.memory = Full()
    with pytest.raises(OutsideFault, match="no space left"):
        rig.on_local(rig.script(HONEST + "hello(); sample(); end()"), [rig.trial(0, "fma")])
    assert len(rig.memory.open) == 1
