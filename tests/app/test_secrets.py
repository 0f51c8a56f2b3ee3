"""No secret leaves: planted in every channel that the product can see, looked for in everything that it leaves.

The cloud is an emulation (see tests/emulated/ec2.py) and so are the SSH servers; the agents on them are real.
"""

import base64
import json
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from cloudcmp.provider.local.processes import VARIABLE
from tests.app.canaries import Nest, Seen, noted, run, seeds
from tests.app.search import Searcher, packed
from tests.app.warm import SHORT
from tests.emulated.boot import ssh_boot, told, why_not
from tests.emulated.ec2 import Ec2
from tests.emulated.ssh_server import machine_in_thread
from tests.emulated.wire import Answer, Request
from tests.slices import long

SEED = 20260105
CHANNELS = 30
_STUDY = """\
schema: 1
# {comment}
question: Does anything leak?  # {comment}
candidates:
{candidates}
probes:
  - {{probe: fma}}
  - {{probe: tcp}}
launches: 1
runs: 1
"""
_AWS = "  - {provider: aws, region: us-east-1, offering: t3.micro, price: 0.01 USD/h}"
_OWN = (
    "  - {provider: ssh, offering: filed}\n  - {provider: ssh, offering: agent}\n  - {provider: local, offering: 1cpu}"
)
_RENTS = ("crash", "resume", "cleanup")
"""What waits for a cloud; the others draw real figures."""
PROFILES = ("tired", "process", "fails", "garbled", "web", "sso", "inline", "none")


class Recorded(Ec2):
    """A cloud that keeps each request as it came over the wire."""

    requests: list[Request]

    def _handle(self, request: Request) -> Answer:
        self.requests.append(request)
        return super()._handle(request)


@dataclass
class Evidence:
    """Everything that a day with the product left behind."""

    nest: Nest
    work: Path
    cloud: Recorded
    seen: dict[str, Seen] = field(default_factory=dict)
    vault: Path = Path()
    look: Searcher | None = None

    def command(self, name: str, *arguments: str | Path, without: tuple[str, ...] = (), **more: str) -> Seen:
        """One command of that day."""
        folder = self.work / "legs" / name
        folder.mkdir(parents=True)
        environ = {key: text for key, text in (self.nest.environ | more).items() if key not in without}
        waits = SHORT if name in _RENTS else {"nohup": 0.0}
        self.seen[name] = run(arguments, environ, folder, self.vault, waits)
        return self.seen[name]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evidence]:
    if why_not():
        pytest.skip(why_not())
    work = tmp_path_factory.mktemp("secrets")
    nest = Nest(work / "home", SEED)
    cloud = Recorded(boot=ssh_boot(work / "machines"))
    cloud.requests = []
    with cloud, nest.agent(), ExitStack() as stack:
        keys = {"filed": nest.file_key, "agent": nest.agent_key}
        boxes = {}
        for name, key in keys.items():
            (work / "boxes" / name).mkdir(parents=True)
            public = " ".join(key.export_public_key().decode().split()[:2])
            home, host = work / "boxes" / name, _pair(nest.key(f"host key of {name}"))
            boxes[name] = stack.enter_context(machine_in_thread(home, host_key=host, client_public=public))
        nest.ssh_config(boxes)
        nest.secrets["AWS_SECRET_ACCESS_KEY"] = [cloud.account.secret.encode()]
        kept = {name: text for name, text in cloud.environ.items() if not name.endswith("_FILE")}
        nest.environ |= kept | {"AWS_SESSION_TOKEN": nest.secret("AWS_SESSION_TOKEN")}
        found = Evidence(nest, work, cloud, vault=work / "vault")
        _day(found)
        yield found


def _pair(key):
    from cloudcmp.model.remote import KeyPair

    return KeyPair(key.export_private_key().decode(), " ".join(key.export_public_key().decode().split()[:2]))


def _day(found: Evidence) -> None:
    """A crash in the middle, going on, wrong and missing credentials, a proxy that does not answer, the other verbs."""
    comment = found.nest.secret("study file, a comment", "-")
    studies = found.work / "studies"
    studies.mkdir(mode=0o700)
    aws, own = studies / "aws.yaml", studies / "own.yaml"
    aws.write_text(_STUDY.format(comment=comment, candidates=_AWS) + "budget: 5 USD\n")
    own.write_text(_STUDY.format(comment=comment, candidates=_OWN))
    out = found.work / "aws"
    loud = {"CLOUDCMP_TRACEBACK": "1", "PYTHONASYNCIODEBUG": "1"}
    found.command("plan", "plan", aws)
    crash = {"CLOUDCMP_CRASH_AT": "finish.after_commit:1"}
    found.command("crash", "run", aws, "--short", "--out", out, **loud, **crash)
    found.command("resume", "run", "--resume", out, "--json", **loud)
    found.command("own", "run", own, "--short", "--out", found.work / "own", "--figures", found.work / "figures")
    wrong = found.nest.secret("a wrong AWS_SECRET_ACCESS_KEY", "/")
    named = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    with ThreadPoolExecutor(4) as pool:
        for profile in PROFILES:
            pool.submit(found.command, f"check {profile}", "check", "aws", without=named, AWS_PROFILE=profile)
        pool.submit(found.command, "check", "check", aws, "--json")
        pool.submit(found.command, "check wrong", "check", "aws", AWS_SECRET_ACCESS_KEY=wrong, **loud)
        pool.submit(
            found.command, "run wrong", "run", aws, "--out", found.work / "no", AWS_SECRET_ACCESS_KEY=wrong, **loud
        )
        pool.submit(found.command, "proxy", "check", "aws", without=("NO_PROXY", "no_proxy"), **loud)
        pool.submit(found.command, "sweep", "sweep", "--json")
        pool.submit(found.command, "sweep wrong", "sweep", "aws", AWS_SECRET_ACCESS_KEY=wrong, **loud)
        pool.submit(found.command, "cleanup", "cleanup", out, "--json")
        pool.submit(found.command, "report", "report", out, "--include-ids", "--out", found.work / "report.html")
        pool.submit(found.command, "export", "export", out, "--out", found.work / "table.parquet")
        pool.submit(found.command, "compare", "compare", out, "--json", "--all")


def searcher(found: Evidence) -> Searcher:
    found.look = found.look or Searcher(found.nest.secrets | noted(found.vault))
    return found.look


def the_day_went_as_it_was_meant_to(evidence: Evidence) -> None:
    codes = {name: one.code for name, one in evidence.seen.items()}
    texts = {name: one.err.decode() for name, one in evidence.seen.items()}
    assert codes["crash"] == -9, texts["crash"]
    for name in ("plan", "resume", "own", "check", "cleanup", "report", "export", "compare"):
        assert codes[name] == 0, (name, texts[name])
    # Google's credentials are planted as well, and Google is not to be reached from here: that is told.
    unlisted = json.loads(evidence.seen["sweep"].out)["data"]["unlisted"]
    assert codes["sweep"] == 3, texts["sweep"]
    assert unlisted
    assert all(line.startswith("gcp") for line in unlisted)
    for name in ("check wrong", "run wrong", "proxy", *(f"check {one}" for one in PROFILES)):
        assert codes[name] != 0, name
    assert json.loads(evidence.seen["resume"].out)["data"]["finished"]
    assert evidence.cloud.alive() == []
    assert len(evidence.nest.secrets | noted(evidence.vault)) >= CHANNELS
    assert set(noted(evidence.vault)) == {"a key in memory", "the secret of a trial"}
    assert b"DEBUG" in evidence.seen["resume"].err  # it was as loud as it could be made


def nothing_is_said(evidence: Evidence) -> None:
    look = searcher(evidence)
    said = {name: look.hits(one.out + b"\n" + one.err) for name, one in evidence.seen.items()}
    assert {name: hits for name, hits in said.items() if hits} == {}


def nothing_is_written(evidence: Evidence) -> None:
    look, work = searcher(evidence), evidence.work
    places = [work / "aws", work / "own", work / "figures", work / "legs", work / "report.html", work / "table.parquet"]
    found = {}
    for place in places:
        assert place.exists(), place
        found |= look.in_folder(place) if place.is_dir() else {str(place): look.in_file(place)}
    assert {name: hits for name, hits in found.items() if hits} == {}
    assert look.in_folder(evidence.nest.home, but=evidence.nest.planted) == {}


def nothing_is_left_on_the_machines(evidence: Evidence) -> None:
    look = searcher(evidence)
    for home in [*(evidence.work / "machines").iterdir(), *(evidence.work / "boxes").iterdir()]:
        # What a machine keeps of its own host keys is the emulation's.
        assert look.in_folder(home, but=[home / ".machine"]) == {}


def no_process_shows_it(evidence: Evidence) -> None:
    look = searcher(evidence)
    arguments = b"\n".join(set().union(*(one.arguments for one in evidence.seen.values())))
    assert b"cloudcmp-agent" in arguments
    assert look.hits(arguments) == set()


def agents_get_nothing_of_our_environment(evidence: Evidence) -> None:
    agents = [environ for one in evidence.seen.values() for words, environ in one.children.items()
              if words.split(b"\0")[0].endswith(b"cloudcmp-agent")]  # fmt: skip
    assert len(agents) >= 3
    for environ in agents:
        names = {pair.partition(b"=")[0] for pair in environ.split(b"\0") if pair}
        assert names <= {b"PATH", b"LC_ALL", VARIABLE.encode()}
    look = searcher(evidence)
    for one in evidence.seen.values():
        for words, environ in one.children.items():
            assert _users_own(words) or look.hits(environ) == set(), words


def _users_own(words: bytes) -> bool:
    """Whether a process is none of the product's: what the user's configuration starts for credentials, and the tools
    of this system by which an imported library looks for others (`ctypes.util`)."""
    helpers = (b"/bin/credentials", b"/bin/fails", b"/bin/garbled")
    tools = (b"gcc", b"cc", b"cc1", b"ld", b"collect2", b"ldconfig", b"objdump")
    return any(one in words for one in helpers) or words.split(b"\0")[0].rpartition(b"/")[2] in tools


def clouds_are_sent_what_they_must_have_and_no_more(evidence: Evidence) -> None:
    look, tokens = searcher(evidence), 0
    bearer = {name for name in evidence.nest.secrets if "session token" in name.lower() or "SessionToken" in name}
    bearer |= {"AWS_SESSION_TOKEN"}
    boots = 0
    for request in evidence.cloud.requests:
        heads = dict(request.headers)
        token = heads.pop("X-Amz-Security-Token", "") or heads.pop("x-amz-security-token", "")
        tokens += bool(token)
        assert look.hits(token.encode()) <= bearer
        heads.pop("x-amz-sso_bearer_token", None)
        params = parse_qs(request.body.decode())
        params.pop("WebIdentityToken", None)
        for text in params.pop("UserData", []):
            boots += 1
            _only_its_own(evidence, base64.b64decode(text).decode())
        assert look.hits(json.dumps([heads, params, request.path, request.method]).encode()) == set()
    assert boots >= 2
    assert tokens > 10


def _only_its_own(evidence: Evidence, user_data: str) -> None:
    """User data hold one private key: the machine's, which is replaced at the first login."""
    import asyncssh

    host, client = told(user_data)
    mine = seeds(asyncssh.import_private_key(host.private))
    secrets = evidence.nest.secrets | noted(evidence.vault)
    keys = secrets.pop("a key in memory")
    assert mine[0] in keys
    others = [key for key in keys if key not in mine]
    config = json.loads(user_data.removeprefix("#cloud-config\n"))
    look = Searcher({**secrets, "another key": others})
    assert look.hits(user_data.encode()) == set()
    assert config["ssh_keys"].pop("ed25519_private") == host.private
    assert b"PRIVATE" not in json.dumps(config).encode()
    assert client.startswith("ssh-ed25519 ")


def tags_and_names_hold_none(evidence: Evidence) -> None:
    look = searcher(evidence)
    made = [call for call in evidence.cloud.journal if call.action in {"RunInstances", "CreateSecurityGroup"}]
    assert made
    for call in made:
        names = {key: text for key, text in call.params.items() if "Tag" in key or "Name" in key or "Token" in key}
        assert names
        assert look.hits(json.dumps(names).encode()) == set()


def what_is_private_is_nobody_elses_to_read(evidence: Evidence) -> None:
    for study in (evidence.work / "aws", evidence.work / "own"):
        assert stat.S_IMODE(study.stat().st_mode) == 0o700
        for path in study.rglob("*"):
            mode = stat.S_IMODE(path.stat().st_mode)
            if path.is_dir():
                assert mode == 0o700, path
            elif path.name.startswith("study.db") or path.suffix == ".parquet":
                assert mode == 0o600, path


CHECKS = (
    the_day_went_as_it_was_meant_to,
    nothing_is_said,
    nothing_is_written,
    nothing_is_left_on_the_machines,
    no_process_shows_it,
    agents_get_nothing_of_our_environment,
    clouds_are_sent_what_they_must_have_and_no_more,
    tags_and_names_hold_none,
    what_is_private_is_nobody_elses_to_read,
)


@long
def test_p38_no_secret_leaves(evidence: Evidence, subtests: pytest.Subtests) -> None:
    # One test, so that the day is lived once however the tests are spread over processes.
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(evidence)


def test_p38_a_crash_leaves_no_core(tmp_path: Path) -> None:
    code = (
        "import os, resource, sys\n"
        "from cloudcmp.cli import entry, main\n"
        "main.build = lambda: lambda **_: print(resource.getrlimit(resource.RLIMIT_CORE)[0])\n"
        "sys.argv = ['cloudcmp', 'x']\nentry.main()\n"
    )
    limits = resource.getrlimit(resource.RLIMIT_CORE)[1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (limits, limits)),
    )  # fmt: skip
    assert done.stdout == "0\n"


WRAPPED = {
    "raw": lambda secret: b"x" + secret + b"y",
    "base64": base64.b64encode,
    "base64, one byte before": lambda secret: base64.b64encode(b"x" + secret + b"tail"),
    "base64, two bytes before": lambda secret: base64.b64encode(b"xy" + secret),
    "base64 twice": lambda secret: base64.b64encode(base64.b64encode(secret)),
    "hex": lambda secret: secret.hex().encode(),
    "HEX": lambda secret: secret.hex().upper().encode(),
    "url": lambda secret: b"?a=" + b"".join(b"%%%02x" % one for one in secret),
    "json": lambda secret: json.dumps({"a": json.dumps(secret.decode())}).encode(),
    "gzip": lambda secret: b"head" + packed(secret) + b"tail",
    "base64 of gzip": lambda secret: base64.b64encode(packed(secret)),
    "utf-16": lambda secret: secret.decode().encode("utf-16"),
}


@pytest.mark.parametrize("form", WRAPPED)
def test_a_planted_leak_is_found(form: str, tmp_path: Path) -> None:
    secret = b'wJalrXUtnFEMI/K7MD"ENG+bPxRfiCYEX&MPLE'
    look = Searcher({"planted": [secret], "absent": [b"not to be found anywhere"]})
    (tmp_path / "file").write_bytes(b"noise " * 1000 + WRAPPED[form](secret) + b" noise" * 1000)
    assert look.in_folder(tmp_path) == {str(tmp_path / "file"): {"planted"}}


def test_a_leak_in_a_table_or_a_database_is_found(tmp_path: Path) -> None:
    import sqlite3

    import pyarrow as pa
    import pyarrow.parquet as pq

    secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXMPLE"
    look = Searcher({"planted": [secret.encode()]})
    pq.write_table(pa.table({"a": ["x" * 500, secret] * 50}), tmp_path / "a.parquet", compression="zstd")
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("CREATE TABLE t (a)")
    database.execute("INSERT INTO t VALUES (?)", ("y" * 4000 + secret + "z" * 9000,))
    database.commit()
    database.close()
    assert set(look.in_folder(tmp_path)) == {str(tmp_path / "a.parquet"), str(tmp_path / "a.db")}
