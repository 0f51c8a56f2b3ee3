"""Without credentials no large library is loaded, and nothing that it would find is overlooked."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.needs import CLOUD_SETTINGS
from tests.slices import long

from cloudcmp.provider.openstack.sdk import may_have_settings

_ASKS = """
import asyncio, json, sys
from cloudcmp.errors import NoCredentials
from cloudcmp.provider.{provider} import {kind}
try:
    said = asyncio.run({kind}({more}).leftovers())
    said = "listed"
except NoCredentials as fault:
    said = str(fault)
except Exception as fault:
    said = type(fault).__name__
print(json.dumps({{"said": said, "loaded": [name for name in sys.modules if name in {large!r}]}}))
"""
_LARGE = ["google.cloud.compute_v1", "openstack"]


def asked(home: Path, provider: str, kind: str, more: str = "", **environ: str) -> dict[str, object]:
    """What a sweep of one provider comes to in a process of its own, and which large libraries it loaded."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(CLOUD_SETTINGS)}
    done = subprocess.run(
        [sys.executable, "-c", _ASKS.format(provider=provider, kind=kind, more=more, large=_LARGE)], cwd=home,
        env={**kept, "HOME": str(home), **environ}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)  # type: ignore[no-any-return]


class Metadata(BaseHTTPRequestHandler):
    """As little of Google's metadata server as its library asks a machine of theirs for credentials (R)."""

    asked: list[str] = []  # noqa: RUF012 - each server has a class of its own

    def do_GET(self) -> None:
        self.asked.append(self.path)
        told = {"project-id": "metadata-project", "universe_domain": "googleapis.com"}
        text = told.get(self.path.rpartition("/")[2].partition("?")[0], "{}")
        self.send_response(200)
        heads = {"Metadata-Flavor": "Google", "Content-Type": "application/text", "Content-Length": str(len(text))}
        for name, value in heads.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def metadata() -> Iterator[tuple[str, list[str]]]:
    """Where an emulated metadata server stands, and what it was asked."""

    class Own(Metadata):
        asked: list[str] = []  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", Own.asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_without_credentials_googles_large_client_is_not_loaded(tmp_path: Path) -> None:
    told = asked(tmp_path, "gcp", "GcpProvider", NO_GCE_CHECK="true")
    assert "there are no credentials" in str(told["said"])
    assert told["loaded"] == []


@long
def test_a_machine_of_googles_is_still_asked_for_its_own_credentials(tmp_path: Path) -> None:
    with metadata() as (address, paths):
        # Nobody listens where the cloud itself would be: how far it came is what counts.
        told = asked(
            tmp_path, "gcp", "GcpProvider", GCE_METADATA_HOST=address, GCE_METADATA_IP=address,
            CLOUDCMP_GCP_ENDPOINT="http://127.0.0.1:9",
        )  # fmt: skip
    assert "there are no credentials" not in str(told["said"]), (told, paths)
    assert told["loaded"] == ["google.cloud.compute_v1"], (told, paths)
    assert any(path.endswith("project-id") for path in paths)


def test_without_settings_openstacks_library_is_not_loaded(tmp_path: Path) -> None:
    told = asked(tmp_path, "openstack", "OpenStackProvider")
    assert "there are no settings; set OS_CLOUD" in str(told["said"])
    assert told["loaded"] == []
    file = tmp_path / "clouds.yaml"
    file.write_text("clouds: {}")
    assert asked(tmp_path, "openstack", "OpenStackProvider")["loaded"] == ["openstack"]


_WITNESS = """
import importlib, json, os, sys
import openstack.config.loader as loader
import platformdirs
from tests.needs import CLOUD_SETTINGS
from tests.slices import long

from cloudcmp.provider.openstack.sdk import may_have_settings
for line in sys.stdin:
    case = json.loads(line)
    kept = dict(os.environ)
    os.environ.update(case["environ"])
    os.chdir(case["cwd"])
    importlib.reload(loader)
    found = loader.OpenStackConfig()
    theirs = bool(found.config_filename or found.secure_config_filename or found._get_os_environ())
    print(json.dumps([theirs, may_have_settings()]))
    os.environ.clear()
    os.environ.update(kept)
"""


def test_whatever_openstacks_library_finds_is_seen_before(tmp_path: Path) -> None:
    cases: list[dict[str, object]] = []
    places = {"cwd": "work", "home": "home/.config/openstack", "moved": "xdg/openstack", "site": "site/openstack"}
    for place, folder in {"none": "", **places}.items():
        for name in ("clouds.yaml", "clouds.yml", "clouds.json", "secure.yaml") if folder else ("",):
            root = tmp_path / f"{place}-{name}"
            for one in ("work", "home"):
                (root / one).mkdir(parents=True)
            if folder:
                (root / folder).mkdir(parents=True, exist_ok=True)
                (root / folder / name).write_text('{"clouds": {"a": {"auth": {"auth_url": "http://127.0.0.1:9"}}}}')
            environ = {"HOME": str(root / "home")}
            environ |= {"XDG_CONFIG_HOME": str(root / "xdg")} if place == "moved" else {}
            environ |= {"XDG_CONFIG_DIRS": str(root / "site")} if place == "site" else {}
            cases.append({"environ": environ, "cwd": str(root / "work")})
    nothing = cases[0]
    for name in ("OS_AUTH_URL", "OS_USERNAME", "OS_TOKEN"):
        cases.append({**nothing, "environ": {**nothing["environ"], name: "x"}})  # type: ignore[dict-item]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(CLOUD_SETTINGS)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _WITNESS], input="".join(f"{json.dumps(case)}\n" for case in cases),
        env={**kept, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(cases)
    assert answers[0] == [False, False]
    assert answers[1:] == [[True, True]] * (len(cases) - 1)


@pytest.mark.parametrize("key", ["OS_CLOUD", "OS_CLIENT_CONFIG_FILE", "XDG_CONFIG_HOME", "SNAP_REAL_HOME"])
def test_where_it_cannot_be_known_the_library_looks(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not may_have_settings({}, (), "linux")
    assert may_have_settings({key: "x"}, (), "linux")
    assert may_have_settings({}, (), "darwin")
    (tmp_path / "secure.json").write_text("{}")
    assert may_have_settings({}, (), "linux")
    assert may_have_settings({}, (str(tmp_path),), "linux")
