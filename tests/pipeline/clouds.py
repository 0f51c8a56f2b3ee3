"""Clouds of a test's own for whole studies: an emulated EC2, a machine of the user's, and guests of this host.

`with clouds(folder) as sky:` gives `sky.environ` for the product, in which nothing else can be reached, and the truth:
`sky.left()` is whatever exists that was not there before, `sky.harm()` whatever foreign is gone or was touched. What
stands for EC2 is an emulation, whose machines are SSH servers on loopback addresses; see tests/emulated.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp import agent
from cloudcmp.agent.keys import new_key
from cloudcmp.errors import AgentMissing
from cloudcmp.provider.qemu import QemuProvider
from cloudcmp.provider.qemu.image import cache_folder
from cloudcmp.provider.qemu.inventory import Inventory
from cloudcmp.provider.qemu.running import running
from tests.cli.command import COMMAND, Said
from tests.emulated.boot import SshServer, why_not
from tests.emulated.ec2 import Call, Ec2, Faults, ec2
from tests.emulated.ec2_query import tags_of
from tests.emulated.guests import request
from tests.emulated.ssh_server import SshMachine, machine_in_thread

REGION = "us-east-1"
_SETTING = ("AWS_", "CLOUDCMP_", "XDG_", "SSH_")
_MUTATES = ("Terminate", "Delete", "Modify", "Stop", "Start", "Authorize", "Revoke", "CreateTags", "Cancel")
# A machine of a cloud has a disk that was asked for with it and was booted a moment ago; here `cat` says so.
_CAT = r"""#!/bin/sh
if [ "$*" = /proc/uptime ]; then
  ms=$((($(date +%%s%%N) - %d) / 1000000))
  printf '%%d.%%03d 0.00\n' $((ms / 1000)) $((ms %% 1000))
  exit
fi
if [ "$*" = /proc/sys/kernel/random/boot_id ]; then
  echo "boot-%d"
  exit
fi
/bin/cat "$@" && case "$*" in */proc/partitions*) echo " 202 80 1048576 xvdf" ;; esac
"""
_OTHERS_CARD = {
    "name": "cloudcmp-other",
    "token": "someone-elses",
    "tags": {"cloudcmp:schema": "1", "cloudcmp:study": "other"},
}


def unable() -> str:
    """Why no study can run on the emulated clouds here, empty where it can."""
    try:
        agent.locate(agent.this_triple())
    except AgentMissing as missing:
        return f"the agent is not built: {missing}"
    return why_not()


@dataclass
class Sky:
    """Clouds and what is in them. `foreign` was there before any study; `unwritten` are creates without an intent."""

    folder: Path
    cloud: Ec2
    box: SshMachine
    environ: dict[str, str]
    foreign: set[str] = field(default_factory=set)
    unwritten: list[str] = field(default_factory=list)

    def cloudcmp(self, *words: str | Path, within_s: float = 300.0, **environ: str) -> Said:
        """The installed command in a process of its own, which finds these clouds and no others."""
        done = subprocess.run(
            [COMMAND, *map(str, words)], cwd=self.folder, env={**self.environ, **environ},
            capture_output=True, text=True, timeout=within_s, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def offline(self) -> Iterator[None]:
        """Inside, nothing listens where the emulated cloud is: connections are refused."""
        self.cloud.leave()
        try:
            yield
        finally:
            self.cloud.come_back()

    @property
    def state(self) -> Path:
        """Where this sky's guests have their folders."""
        return (self.folder / "state" / "cloudcmp" / "qemu").resolve()

    def there(self) -> set[str]:
        """All that exists: at the emulated cloud, on the user's machine, and the guests of this sky's state folder."""
        state = self.state
        found = {f"aws {one.kind} {one.id}" for one in self.cloud.alive()}
        found |= {f"aws placement group {name}" for _, name in list(self.cloud.state.placements)}
        found |= {f"ssh folder {one.name}" for one in (self.box.home / ".cloudcmp").iterdir()}
        found |= {f"qemu folder {one.cloud_id}" for one in Inventory(state).all()}
        return found | {f"qemu process {one.identity.cloud_id}" for one in running() if one.folder.parent == state}

    def left(self) -> list[str]:
        """Whatever exists that was not there before."""
        return sorted(self.there() - self.foreign)

    def harm(self) -> list[str]:
        """Whatever foreign is gone, and every change that named it."""
        ids = {name.split()[-1] for name in self.foreign}
        touched = [
            f"{call.action} named {value}"
            for call in list(self.cloud.journal)
            if call.action.startswith(_MUTATES)
            for value in call.params.values()
            if value in ids
        ]
        return sorted(f"{name} is gone" for name in self.foreign - self.there()) + touched


class _Witness(list[Call]):
    """A journal that looks, at each call that makes something, whether a study's ledger has its intent already (P1)."""

    def __init__(self, sky: Sky) -> None:
        super().__init__()
        self._sky = sky

    def append(self, call: Call) -> None:
        super().append(call)
        named = call.params.get("ClientToken") or call.params.get("GroupName")
        makes = call.action in {"RunInstances", "CreateSecurityGroup"} and call.params.get("DryRun") != "true"
        if makes and not any(_intended(study, named or "") for study in self._sky.folder.glob("*/study.db")):
            self._sky.unwritten.append(f"{call.action} {named}")


def _intended(study: Path, named: str) -> bool:
    with contextlib.closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as database:
        asked = "SELECT count(*) FROM lease WHERE event = 'INTENT' AND ? IN (token, name)"
        return bool(database.execute(asked, (named,)).fetchone()[0])


def bodies(cloud: Ec2) -> list[str]:
    """What is missing in the bodies of the calls that made machines: a line for each (P5)."""
    wrong = []
    for call in cloud.calls("RunInstances"):
        params, tags = call.params, tags_of(call.params)
        if params.get("DryRun") == "true":
            continue
        named = {kind for kind, some in tags.items() if {"cloudcmp:study", "cloudcmp:slot"} <= set(some)}
        wrong += [] if 0 < len(params.get("ClientToken", "")) <= 64 else ["no token"]
        wrong += [] if {"instance", "volume", "network-interface"} <= named else [f"tags only on {sorted(named)}"]
        wrong += [] if params.get("InstanceInitiatedShutdownBehavior") == "terminate" else ["it would only stop"]
        wrong += [] if params.get("MetadataOptions.HttpTokens") == "required" else ["IMDSv1 answers"]
        kept = [name for name in params if name.endswith("DeleteOnTermination") and params[name] != "true"]
        wrong += [f"{name} stays" for name in kept]
    return wrong


@contextmanager
def clouds(folder: Path, faults: Faults | None = None, *, cheap: bool = False, guest: bool = False) -> Iterator[Sky]:
    """A sky for studies under a folder of its own. `cheap`: without foreign machines; `guest`: with one of qemu."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        cloud = stack.enter_context(ec2(faults or Faults(pending_s=0.1, read_lag_s=0.1), _boot(folder / "machines")))
        box = _box(folder, stack)
        sky = Sky(folder, cloud, box, _environ(folder, cloud))
        stack.callback(_end_guests, sky)
        cloud.journal = _Witness(sky)
        _plant(sky, cheap)
        if guest:
            provider = QemuProvider(sky.state, cache_folder())
            asyncio.run(provider.create(request("someone-elses-guest", ttl_s=3600.0, study="another")))
        sky.foreign = sky.there()
        yield sky


def _boot(folder: Path):  # type: ignore[no-untyped-def]
    def boot(user_data: str, id: str) -> SshServer:
        home = folder / id
        home.mkdir(parents=True, exist_ok=True)
        began = time.time_ns()
        machine = SshServer(home, user_data)
        # All machines are on this host, so that what goes between two of them leaves from here.
        machine.inside = "127.0.0.1"  # type: ignore[attr-defined]
        cat = home / ".machine" / "bin" / "cat"
        cat.write_text(_CAT % (began, began))
        cat.chmod(0o755)
        return machine

    return boot


def _box(folder: Path, stack: ExitStack) -> SshMachine:
    """A machine of the user's own, and the SSH configuration that names it `box`."""
    client, home = new_key(), folder / "box"
    home.mkdir()
    (folder / "key").write_text(client.private)
    (folder / "key").chmod(0o600)
    box = stack.enter_context(machine_in_thread(home, host_key=new_key(), client_public=client.public))
    (folder / "known_hosts").write_text(f"[{box.address}]:{box.port} {box.host_key.public}\n")
    (folder / "ssh_config").write_text(
        f"Host box\n  HostName {box.address}\n  Port {box.port}\n  User {box.user}\n  IdentityFile {folder}/key\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  IdentitiesOnly yes\n"
    )
    return box


def _environ(folder: Path, cloud: Ec2) -> dict[str, str]:
    """A home of its own and these clouds only; the images of guests are this user's own, for they take minutes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTING)}
    return {
        **kept,
        **cloud.environ,
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(cache_folder().parents[1]),
        "XDG_STATE_HOME": str(folder / "state"),
        "CLOUDCMP_SSH_CONFIG": str(folder / "ssh_config"),
        "COLUMNS": "120",
        "TERM": "xterm",
    }


def _plant(sky: Sky, cheap: bool) -> None:
    """What other people have in the same places, some of it named and tagged like ours."""
    other = {"cloudcmp:schema": "1", "cloudcmp:study": "another", "cloudcmp:slot": "launch-0", "cloudcmp:attempt": "1"}
    kinds: Sequence[str] = ("firewall", "volume") if cheap else ("instance", "firewall", "volume")
    for kind in kinds:
        sky.cloud.plant(kind, REGION, f"their {kind}", {})
        sky.cloud.plant(kind, REGION, f"cloudcmp-another-{kind}", other)
    theirs = sky.box.home / ".cloudcmp" / "someone-elses"
    theirs.mkdir(parents=True)
    (theirs / "card.json").write_text(json.dumps(_OTHERS_CARD))


def _end_guests(sky: Sky) -> None:
    inventory = Inventory(sky.state)
    for guest in inventory.all():
        inventory.remove(guest)
