"""The table of servers: where each comes from, how it is started, what it speaks and whether it checks keys."""

import base64
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.servers.fetch import ROOT, Absent, program

ACCESS, SECRET = "AKIATESTSERVERSTESTS", "secret-of-the-tests-alone"
AZURE_ACCOUNT, AZURE_KEY = "testservers", base64.b64encode(b"key of the tests alone, 32 bytes").decode()
SWIFT_USER = "test:tester"
HOST_STYLE = "s3.test"
"""The domain below which versitygw takes the first label of a request's host for the bucket."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How one server is started: its command and environment, its endpoints, and whom it lets in.

    A server that chooses its port or key writes both into `card`.
    """

    command: Sequence[str]
    endpoints: Mapping[str, str]
    access: str = ""
    secret: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    card: Path | None = None

    def told(self, card: Mapping[str, Any]) -> "Launch":
        """The same with what the server wrote: its port for all protocols, and its key."""
        ends = dict.fromkeys(self.endpoints, f"http://127.0.0.1:{card['port']}")
        return replace(self, endpoints=ends, access=card["access"], secret=card["secret"])


@dataclass(frozen=True, slots=True)
class Kind:
    """A server; a `heavy` one takes minutes to fetch, and is fetched only when somebody asks for it.

    `source` and `item` say how it is fetched, `fetched_as` in which folder it lies: some share one. `checks` says
    which keys it checks. Its memory is held below `memory_mib`.
    """

    name: str
    version: str
    source: str
    item: str
    fetched_as: str
    protocols: tuple[str, ...]
    checks: str
    launch: Callable[[Path, Path, list[int]], Launch]
    ports: int = 1
    heavy: bool = False
    memory_mib: int = 1024


def _http(port: int, *protocols: str) -> dict[str, str]:
    return dict.fromkeys(protocols, f"http://127.0.0.1:{port}")


def _node(place: Path, script: str, *words: str) -> list[str]:
    return [program("node"), "--max-old-space-size=512", str(place / script), *words]


def _azurite(place: Path, folder: Path, ports: list[int]) -> Launch:
    blob, queue, table = ports
    words = [f"--{name}{what}" for name in ("blob", "queue", "table") for what in ("Host", "Port")]
    values = [str(value) for port in ports for value in ("127.0.0.1", port)]
    pairs = [word for pair in zip(words, values, strict=True) for word in pair]
    return Launch(
        _node(place, "node_modules/azurite/dist/src/azurite.js", "--silent", "--skipApiVersionCheck",
              "--inMemoryPersistence", "--disableTelemetry", *pairs),
        {f"azure-{what}": f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
         for what, port in (("blob", blob), ("queue", queue), ("table", table))},
        AZURE_ACCOUNT, AZURE_KEY, {"AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{AZURE_KEY}"},
    )  # fmt: skip


def _dynalite(place: Path, folder: Path, ports: list[int]) -> Launch:
    words = ("--host", "127.0.0.1", "--port", str(ports[0]), "--createTableMs", "0", "--deleteTableMs", "0")
    return Launch(_node(place, "node_modules/dynalite/cli.js", *words), _http(ports[0], "dynamodb"), ACCESS, SECRET)


def _firestore(place: Path, folder: Path, ports: list[int]) -> Launch:
    return Launch(_node(place, "firestore.mjs", str(ports[0])), {"firestore": f"grpc://127.0.0.1:{ports[0]}"})


def _firestore_of_google(place: Path, folder: Path, ports: list[int]) -> Launch:
    """The emulator of Google's SDK, where both are installed: no registry has it."""
    sdk = Path(program("gcloud")).resolve().parents[1]
    jar = sdk / "platform" / "cloud-firestore-emulator" / "cloud-firestore-emulator.jar"
    if not jar.is_file():
        raise Absent("Google's SDK has no Firestore emulator; `gcloud components install cloud-firestore-emulator`")
    words = ("-Duser.language=en", f"-Djava.io.tmpdir={folder}", "-Xmx512m", "-XX:-UsePerfData", "-cp", str(jar),
             "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start", "--host=127.0.0.1",
             f"--port={ports[0]}")  # fmt: skip
    return Launch([program("java"), *words], {"firestore": f"grpc://127.0.0.1:{ports[0]}"})


def _moto(place: Path, folder: Path, ports: list[int]) -> Launch:
    card = folder / "card.json"
    return Launch(
        [sys.executable, "-m", "tests.servers.moto_program", str(card)],
        dict.fromkeys(("s3", "dynamodb", "sqs"), ""), environ={"PYTHONPATH": str(ROOT)}, card=card,
    )  # fmt: skip


def _rclone(place: Path, folder: Path, ports: list[int]) -> Launch:
    (folder / "data").mkdir()
    words = ("serve", "s3", "--addr", f"127.0.0.1:{ports[0]}", "--auth-key", f"{ACCESS},{SECRET}", "--config",
             str(folder / "rclone.conf"), "--cache-dir", str(folder / "cache"), str(folder / "data"))  # fmt: skip
    return Launch([str(place / "bin" / "rclone"), *words], _http(ports[0], "s3"), ACCESS, SECRET, _GO)


def _nanio(place: Path, folder: Path, ports: list[int]) -> Launch:
    words = ("serve", "--data-dir", str(folder / "data"), "--host", "127.0.0.1", "--port", str(ports[0]))
    environ = {"NANIO_ACCESS_KEY": ACCESS, "NANIO_SECRET_KEY": SECRET}
    return Launch([str(place / "bin" / "nanio"), *words], _http(ports[0], "s3"), ACCESS, SECRET, environ)


def _swift(place: Path, folder: Path, ports: list[int]) -> Launch:
    script = ROOT / "tests" / "servers" / "python" / "all_in_one.py"
    words = ("--folder", str(folder / "swift"), "--port", str(ports[0]), "--user", SWIFT_USER, "--key", SECRET)
    return Launch(
        [str(place / "bin" / "python"), str(script), *words],
        {"swift": f"http://127.0.0.1:{ports[0]}/auth/v1.0", **_http(ports[0], "s3")},
        SWIFT_USER, SECRET, {"PYTHONPATH": str(script.parent)},
    )  # fmt: skip


def _versitygw(place: Path, folder: Path, ports: list[int]) -> Launch:
    (folder / "data").mkdir()
    words = ("--access", ACCESS, "--secret", SECRET, "--port", f"127.0.0.1:{ports[0]}", "--keep-alive", "--quiet",
             "--virtual-domain", HOST_STYLE, "posix", str(folder / "data"))  # fmt: skip
    return Launch([str(place / "server"), *words], _http(ports[0], "s3"), ACCESS, SECRET, _GO)


def _fake_gcs(place: Path, folder: Path, ports: list[int]) -> Launch:
    words = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(ports[0]), "-backend", "memory", "-public-host",
             f"127.0.0.1:{ports[0]}")  # fmt: skip
    return Launch([str(place / "server"), *words], _http(ports[0], "gcs"), environ=_GO)


def _bigtable(place: Path, folder: Path, ports: list[int]) -> Launch:
    words = ("-host", "127.0.0.1", "-port", str(ports[0]))
    return Launch([str(place / "server"), *words], {"bigtable": f"grpc://127.0.0.1:{ports[0]}"}, environ=_GO)


def _pubsub(place: Path, folder: Path, ports: list[int]) -> Launch:
    words = ("-port", str(ports[0]))
    return Launch([str(place / "server"), *words], {"pubsub": f"grpc://127.0.0.1:{ports[0]}"}, environ=_GO)


def _elasticmq(place: Path, folder: Path, ports: list[int]) -> Launch:
    port = json.dumps(ports[0])
    words = (f"-Djava.io.tmpdir={folder}", "-Xmx256m", "-XX:-UsePerfData", "-Drest-sqs.bind-hostname=127.0.0.1",
             f"-Drest-sqs.bind-port={port}", "-Drest-stats.enabled=false", f"-Dnode-address.port={port}",
             "-Dnode-address.host=127.0.0.1", "-cp", f"{place}/*", "org.elasticmq.server.Main")  # fmt: skip
    return Launch([program("java"), *words], _http(ports[0], "sqs"), ACCESS, SECRET)


_GO = {"GOMEMLIMIT": "512MiB"}
_NPM = ("npm", "", "npm")


def _of(source: str, name: str, item: str = "") -> tuple[str, str, str]:
    return source, item or name, name


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("azurite", "3.35.0", *_NPM, ("azure-blob", "azure-queue", "azure-table"), "SharedKey", _azurite, 3),
        Kind("dynalite", "4.0.0", *_NPM, ("dynamodb",), "that there is one", _dynalite),
        Kind("firestore", "0.3.15", *_NPM, ("firestore",), "none", _firestore),
        Kind("moto", version("moto"), "", "", "", ("s3", "dynamodb", "sqs"), "SigV4", _moto, 0),
        Kind("nanio", "0.1.7", *_of("python", "nanio"), ("s3",), "SigV4", _nanio),
        Kind("rclone", "1.75.2", *_of("python", "rclone"), ("s3",), "SigV4", _rclone),
        Kind("swift", "2.38.3", *_of("python", "swift"), ("swift", "s3"), "user and token; SigV4", _swift),
        Kind("bigtable", "1.58.0", *_of("go", "bigtable", "cloud.google.com/go/bigtable/cmd/emulator"),
             ("bigtable",), "none", _bigtable, heavy=True),
        Kind("elasticmq", "1.7.1", *_of("maven", "elasticmq"), ("sqs",), "none", _elasticmq, heavy=True),
        Kind("firestore-google", "of `gcloud`", "", "", "", ("firestore",), "none", _firestore_of_google, heavy=True,
             memory_mib=2048),
        Kind("fake-gcs", "1.56.1", *_of("go", "fake-gcs", "github.com/fsouza/fake-gcs-server"),
             ("gcs",), "none", _fake_gcs, heavy=True),
        Kind("pubsub", "1.50.2", *_of("go", "pubsub", "."), ("pubsub",), "none", _pubsub, heavy=True),
        Kind("versitygw", "1.8.0", *_of("go", "versitygw", "github.com/versity/versitygw/cmd/versitygw"),
             ("s3",), "SigV4", _versitygw, heavy=True),
    )
}  # fmt: skip
