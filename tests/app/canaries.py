"""Secrets planted wherever the product could come upon one, and the product run while it is watched.

What is run is the real command, forked (see warm.py) by way of `prepare`: it logs all it can, and writes the secrets
which the product makes itself into a file.
"""

import base64
import json
import logging
import os
import random
import secrets
import shlex
import string
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

from tests.app.search import packed
from tests.app.warm import warmth

_PRIVATE = 0o600


class Nest:
    """A home full of secrets. `environ` is what the product is given; `secrets` what must never be seen of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.home = folder
        self.secrets: dict[str, list[bytes]] = {}
        self.environ: dict[str, str] = {"HOME": str(folder)}
        self.planted: list[Path] = []
        folder.mkdir(mode=0o700)
        self._in_environment()
        self._in_files()
        self._of_aws()
        self._of_ssh()

    def secret(self, name: str, between: str = "/+=") -> str:
        """A fresh secret of three words; each word alone would give it away."""
        words = ["".join(self._random.choices(string.ascii_letters + string.digits, k=16)) for _ in range(3)]
        whole = words[0] + "".join(between[at % len(between) :][:1] + word for at, word in enumerate(words[1:]))
        self.secrets[name] = [one.encode() for one in (*words, whole)]
        return whole

    def key(self, name: str) -> asyncssh.SSHKey:
        """A fresh private key, whose seed is the secret."""
        made = asyncssh.generate_private_key("ssh-ed25519", comment=self.secret(f"{name}, its comment", "-"))
        self.secrets[name] = seeds(made)
        return made

    def file(self, where: str, content: str | bytes) -> Path:
        """A file in the home, for the user's own eyes."""
        path = self.home / where
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(_PRIVATE)
        self.planted.append(path)
        return path

    def _in_environment(self) -> None:
        from urllib.parse import quote

        for name in (
            "GITHUB_TOKEN",
            "AZURE_CLIENT_SECRET",
            "SSHPASS",
            "CLOUDCMP_TOKEN",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        ):
            self.environ[name] = self.secret(name)
        self.environ["DATABASE_URL"] = f"postgres://me:{quote(self.secret('DATABASE_URL'), safe='')}@db.example/x"
        pem = self.key("TLS_PRIVATE_KEY").export_private_key("pkcs8-pem").decode()
        self.environ["TLS_PRIVATE_KEY"] = pem
        self.environ["GOOGLE_CREDENTIALS"] = json.dumps(
            {"private_key": self.key("GOOGLE_CREDENTIALS").export_private_key("pkcs8-pem").decode()}
        )
        self.environ["DOCKER_AUTH"] = base64.b64encode(f"me:{self.secret('DOCKER_AUTH')}".encode()).decode()
        self.environ["PACKED"] = base64.b64encode(packed(self.secret("PACKED").encode())).decode()
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            self.environ[name] = self.environ[name.lower()] = f"http://me:{self.secret(name, '-')}@127.0.0.1:9"
        self.environ["NO_PROXY"] = self.environ["no_proxy"] = "127.0.0.1,localhost"

    def _in_files(self) -> None:
        self.file(".netrc", f"machine 127.0.0.1 login me password {self.secret('.netrc')}\n")
        docker = base64.b64encode(f"me:{self.secret('docker config')}".encode()).decode()
        self.file(".docker/config.json", json.dumps({"auths": {"127.0.0.1": {"auth": docker}}}))
        self.file(".config/gcloud/application_default_credentials.json",
                  json.dumps({"refresh_token": self.secret("gcloud"), "type": "authorized_user"}))  # fmt: skip
        self.environ["GOOGLE_APPLICATION_CREDENTIALS"] = str(
            self.home / ".config/gcloud/application_default_credentials.json"
        )
        self.file(".azure/msal_token_cache.json", json.dumps({"RefreshToken": {"x": {"secret": self.secret("azure")}}}))
        self.file(".kube/config", f"users: [{{user: {{token: '{self.secret('kube')}'}}}}]\n")
        self.file(".config/creds.gz", packed(self.secret("creds.gz").encode()))
        self.file(".pypirc", f"[pypi]\npassword = {self.secret('.pypirc')}\n")

    def _of_aws(self) -> None:
        keep = f"aws_secret_access_key = {self.secret('credentials file, default')}\n"
        self.file(
            ".aws/credentials",
            f"[default]\naws_access_key_id = AKIAABCDEFGHIJKLMNOP\n{keep}"
            f"[tired]\naws_access_key_id = ASIAABCDEFGHIJKLMNOP\n"
            f"aws_secret_access_key = {self.secret('credentials file, a profile')}\n"
            f"aws_session_token = {self.secret('credentials file, its session token')}\n",
        )
        said = {"Version": 1, "AccessKeyId": "ASIAABCDEFGHIJKLMNOQ"}
        said |= {name: self.secret(f"credential_process, {name}") for name in ("SecretAccessKey", "SessionToken")}
        # By what the shell has in itself: a `cat` of its own would be seen as one of the product.
        process = self.file("bin/credentials", f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(json.dumps(said))}\n")
        sour = self.file(
            "bin/fails", f"#!/bin/sh\necho 'no: {self.secret('credential_process, its error')}' >&2\nexit 1\n"
        )
        garbled = self.file("bin/garbled", f"#!/bin/sh\necho '{{{self.secret('credential_process, garbled')}'\n")
        for path in (process, sour, garbled):
            path.chmod(0o700)
        self.file("token.jwt", self.secret("web identity token", "._-"))
        self.file(".aws/cli/cache/one.json", json.dumps({"Credentials": {"SecretAccessKey": self.secret("cli cache")}}))
        import hashlib

        start = "https://127.0.0.1:9/start"
        for name in (start, "team"):
            self.file(
                f".aws/sso/cache/{hashlib.sha1(name.encode()).hexdigest()}.json",
                json.dumps({"startUrl": start, "region": "us-east-1", "accessToken": self.secret(f"sso {name}"),
                            "refreshToken": self.secret(f"sso refresh {name}"), "expiresAt": "2099-01-01T00:00:00Z",
                            "clientId": "c", "clientSecret": self.secret(f"sso client {name}"),
                            "registrationExpiresAt": "2099-01-01T00:00:00Z"}),
            )  # fmt: skip
        self.file(
            ".aws/config",
            f"[profile process]\ncredential_process = {process}\n[profile fails]\ncredential_process = {sour}\n"
            f"[profile garbled]\ncredential_process = {garbled}\n"
            f"[profile web]\nrole_arn = arn:aws:iam::123456789012:role/r\n"
            f"web_identity_token_file = {self.home}/token.jwt\n"
            f"[profile sso]\nsso_start_url = {start}\nsso_region = us-east-1\nsso_account_id = 123456789012\n"
            "sso_role_name = r\n"
            f"[profile inline]\naws_access_key_id = AKIAABCDEFGHIJKLMNOR\n"
            f"aws_secret_access_key = {self.secret('config file')}\n",
        )
        self.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(self.home / ".aws/credentials")
        self.environ["AWS_CONFIG_FILE"] = str(self.home / ".aws/config")

    def _of_ssh(self) -> None:
        self.file_key = self.key("SSH key file")
        self.file(".ssh/id_ed25519", self.file_key.export_private_key())
        locked = self.key("locked SSH key file")
        phrase = self.secret("passphrase")
        self.file(".ssh/id_locked", locked.export_private_key("pkcs8-pem", passphrase=phrase))
        self.agent_key = self.key("SSH agent")
        self.file(".ssh/known_hosts", f"# {self.secret('known_hosts, a comment', '-')}\n")

    def ssh_config(self, machines: Mapping[str, Any]) -> None:
        """Name machines for the ssh provider, each with the key that it was given."""
        lines = [f"# {self.secret('ssh config, a comment', '-')}"]
        known = (self.home / ".ssh/known_hosts").read_text()
        for alias, machine in machines.items():
            known += f"[{machine.address}]:{machine.port} {machine.host_key.public}\n"
            lines += [f"Host {alias}", f"  HostName {machine.address}", f"  Port {machine.port}", "  User cloudcmp",
                      f"  IdentityFile {self.home}/.ssh/id_locked", f"  IdentityFile {self.home}/.ssh/id_ed25519",
                      f"  UserKnownHostsFile {self.home}/.ssh/known_hosts"]  # fmt: skip
        self.file(".ssh/known_hosts", known)
        self.file(".ssh/config", "\n".join(lines) + "\n")
        self.environ["CLOUDCMP_SSH_CONFIG"] = str(self.home / ".ssh/config")

    @contextmanager
    def agent(self) -> Iterator[None]:
        """An ssh-agent that holds a key which no file has."""
        socket, key = self.home / "agent.sock", self.home / "agent.key"
        process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            while not socket.exists() and time.monotonic() < end:
                time.sleep(0.01)
            key.write_bytes(self.agent_key.export_private_key())
            key.chmod(_PRIVATE)
            self.environ["SSH_AUTH_SOCK"] = str(socket)
            subprocess.run(["ssh-add", "-q", str(key)], env={**os.environ, "SSH_AUTH_SOCK": str(socket)}, check=True)
            key.unlink()
            yield
        finally:
            process.terminate()
            process.wait(10)


def seeds(key: asyncssh.SSHKey) -> list[bytes]:
    """What makes an ed25519 key private, whole and in parts: a line of PEM may end within it."""
    seed = bytes(key.pyca_key.private_bytes_raw())  # type: ignore[attr-defined]
    return [seed, seed[:16], seed[8:24], seed[16:]]


@dataclass
class Seen:
    """What a run of the product gave away to whoever looks at processes."""

    code: int
    out: bytes
    err: bytes
    arguments: set[bytes] = field(default_factory=set)
    children: dict[bytes, bytes] = field(default_factory=dict)


_VAULT = "CANARIES_VAULT"


def run(
    arguments: Sequence[str | Path], environ: Mapping[str, str], folder: Path, vault: Path, waits: Mapping[str, float]
) -> Seen:
    """The real command, watched: the arguments of all processes and the environment of its children, sampled."""
    kept = {"PATH": os.environ["PATH"], "COLUMNS": "100", "TMPDIR": str(folder / "tmp"), _VAULT: str(vault)}
    (folder / "tmp").mkdir(exist_ok=True)
    out, err = folder / "out", folder / "err"
    job = warmth().start(arguments, {**kept, **environ}, folder, waits, out=out, err=err, prepare=__name__)
    seen = Seen(-1, b"", b"")
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(job.pid, vault.parent, seen, over))
    watching.start()
    try:
        seen.code = job.wait(180)
    finally:
        over.set()
        watching.join()
    seen.out, seen.err = out.read_bytes(), err.read_bytes()
    out.unlink()
    err.unlink()
    return seen


_LOOKS = 100
"""How often a process is looked at: what it shows changes when it executes another program, soon after it began."""


def _watch(pid: int, home: Path, seen: Seen, over: threading.Event) -> None:
    parents: dict[int, int] = {}
    # What was there before is none of its processes, and one look at it is enough.
    looks = {int(name): _LOOKS - 1 for name in os.listdir("/proc") if name.isdigit() and int(name) < pid}  # noqa: PTH208
    while not over.wait(0.01):
        there = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - a hundred times a second
        looks = {one: looks.get(one, 0) + 1 for one in there}
        young = [one for one in there if looks[one] <= _LOOKS]
        for one in young:
            try:
                parents[one] = int(Path(f"/proc/{one}/stat").read_bytes().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                parents.pop(one, None)
        for one in young:
            above, steps = one, 0
            while above in parents and above != pid and steps < 50:
                above, steps = parents[above], steps + 1
            try:
                words = Path(f"/proc/{one}/cmdline").read_bytes()
                # Between fork and exec a child is still the product itself, and nobody else's to see.
                ours = above == pid and words != Path(f"/proc/{pid}/cmdline").read_bytes()
                # An agent leaves its parents; one of another test works elsewhere.
                agent = b"cloudcmp-agent" in words and Path(f"/proc/{one}/cwd").readlink().is_relative_to(home)
                seen.arguments.add(words)
                environ = Path(f"/proc/{one}/environ").read_bytes() if ours or agent else b""
                # Amid an exec, the one may be of the program before and the other of the program after.
                if environ and words and words == Path(f"/proc/{one}/cmdline").read_bytes():
                    seen.children[words] = seen.children.get(words, b"") + environ
            except OSError:
                continue


def prepare() -> None:
    """Log all that there is, and note each secret that the product makes."""
    vault = Path(os.environ.pop(_VAULT))
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    for name in ("botocore", "botocore.auth", "botocore.endpoint", "botocore.parsers", "botocore.credentials", "boto3",
                 "urllib3", "urllib3.connectionpool", "asyncssh", "asyncio"):  # fmt: skip
        logging.getLogger(name).setLevel(logging.DEBUG)
    asyncssh.set_debug_level(2)
    made, token = asyncssh.generate_private_key, secrets.token_hex

    def note(kind: str, secret: bytes) -> None:
        with vault.open("a") as file:
            file.write(json.dumps([kind, secret.hex()]) + "\n")

    def generate(*arguments: Any, **more: Any) -> asyncssh.SSHKey:
        key = made(*arguments, **more)
        for seed in seeds(key):
            note("a key in memory", seed)
        return key

    def token_hex(count: int | None = None) -> str:
        text = token(count)
        if count == 32:
            note("the secret of a trial", text.encode())
        return text

    asyncssh.generate_private_key, secrets.token_hex = generate, token_hex


def noted(vault: Path) -> dict[str, list[bytes]]:
    """The secrets that the product made, by kind."""
    found: dict[str, list[bytes]] = {}
    for line in vault.read_text().splitlines() if vault.exists() else ():
        kind, secret = json.loads(line)
        found.setdefault(kind, []).append(bytes.fromhex(secret))
    return found
