"""Clouds of a test's own for whole studies: emulated ones, a machine of the user's, and guests of this host.

`with clouds(folder, which) as sky:` gives `sky.environ` for the product, in which nothing else can be reached, and the
truth: `sky.left()` is whatever exists that was not there before, `sky.harm()` whatever foreign is gone or was touched.
What stands for a provider is an emulation, whose machines are SSH servers on loopback addresses; see tests/emulated.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloudcmp import agent
from cloudcmp.agent.host import new_key
from cloudcmp.errors import AgentMissing
from cloudcmp.provider.qemu import QemuProvider
from cloudcmp.provider.qemu.image import cache_folder
from cloudcmp.provider.qemu.inventory import Inventory
from cloudcmp.provider.qemu.processes import list_running
from tests.app.warm import SHORT, warmth
from tests.cli.command import Said
from tests.emulated.boot import Boot, SshServer, why_not
from tests.emulated.cloud import Call
from tests.emulated.ec2 import Ec2
from tests.emulated.guests import request
from tests.emulated.kinds import kind
from tests.emulated.ssh_server import Lies, SshMachine, machine_in_thread
from tests.emulated.standing import Standing
from tests.needs import CLOUD_SETTINGS

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
    """Clouds and what is in them. `foreign` was there before any study; `unwritten` are creates without an intent.

    `machines` are all that were rented and came up, in that order.
    """

    folder: Path
    clouds: dict[str, Standing[Any]]
    box: SshMachine
    environ: dict[str, str]
    foreign: set[str] = field(default_factory=set)
    unwritten: list[str] = field(default_factory=list)
    machines: list[SshServer] = field(default_factory=list)

    @property
    def cloud(self) -> Ec2:
        """The emulated EC2, with all that only it has."""
        one = self.clouds["aws"]
        assert isinstance(one, Ec2)
        return one

    def cloudcmp(self, *words: str | Path, within_s: float = 300.0, **environ: str) -> Said:
        """The command in a process of its own, which finds these clouds and no others, and waits for them in full."""
        return Said(*warmth().run(words, {**self.environ, **environ}, self.folder, within_s))

    def shortly(self, *words: str | Path, **environ: str) -> Said:
        """The command in a process that waits for clouds only shortly (see warm.py); all that it prints is in `out`."""
        job = warmth().start(words, {**self.environ, **environ}, self.folder, SHORT)
        code = job.wait()
        return Said(code, job.said(), "")

    @contextmanager
    def offline(self, *which: str) -> Iterator[None]:
        """Inside, nothing listens where the emulated clouds are (or those named): connections are refused."""
        gone = [self.clouds[name] for name in which or self.clouds]
        for cloud in gone:
            cloud.leave()
        try:
            yield
        finally:
            for cloud in gone:
                cloud.come_back()

    @property
    def state(self) -> Path:
        """Where this sky's guests have their folders."""
        return (self.folder / "state" / "cloudcmp" / "qemu").resolve()

    def there(self) -> set[str]:
        """All that exists: at the emulated clouds, on the user's machine, and the guests of this sky's state folder."""
        state = self.state
        found = {f"{name} {one.kind} {one.id}" for name, cloud in self.clouds.items() for one in cloud.alive()}
        found |= {f"ssh folder {one.name}" for one in (self.box.home / ".cloudcmp").iterdir()}
        found |= {f"qemu folder {one.cloud_id}" for one in Inventory(state).all()}
        return found | {f"qemu process {one.identity.cloud_id}" for one in list_running() if one.folder.parent == state}

    def left(self) -> list[str]:
        """Whatever exists that was not there before."""
        return sorted(self.there() - self.foreign)

    def harm(self) -> list[str]:
        """Whatever foreign is gone, and every change that named it."""
        touched = [
            f"{name}: {call.action} named {id}"
            for name, cloud in self.clouds.items()
            for call in list(cloud.journal)
            for id in cloud.changed_by(call)
            if id in self._foreign_at(name)
        ]
        return sorted(f"{name} is gone" for name in self.foreign - self.there()) + touched

    def _foreign_at(self, cloud: str) -> set[str]:
        return {one.split()[-1] for one in self.foreign if one.startswith(f"{cloud} ")}

    def bodies(self) -> list[str]:
        """What is missing in the calls that made something at any cloud: a line for each (P5)."""
        return [f"{name}: {line}" for name, cloud in self.clouds.items() for line in kind(name).bodies(cloud)]


class _Witness(list[Call]):
    """A journal that looks, at each call that makes something, whether a study's ledger has its intent already (P1)."""

    def __init__(self, sky: Sky, cloud: Standing[Any]) -> None:
        super().__init__()
        self._sky, self._cloud = sky, cloud

    def append(self, call: Call) -> None:
        super().append(call)
        named = self._cloud.made_by(call)
        if named is not None and not any(_intended(study, named) for study in self._sky.folder.glob("*/study.db")):
            self._sky.unwritten.append(f"{call.name} {named}")


def _intended(study: Path, named: str) -> bool:
    with contextlib.closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as database:
        made = "SELECT count(*) FROM sqlite_master WHERE name = 'lease'"
        if not database.execute(made).fetchone()[0]:  # its controller died before it made its tables
            return False
        asked = "SELECT count(*) FROM lease WHERE event = 'INTENT' AND ? IN (token, name)"
        return bool(database.execute(asked, (named,)).fetchone()[0])


@contextmanager
def clouds(
    folder: Path,
    which: Sequence[str] = ("aws",),
    *,
    cheap: bool = False,
    guest: bool = False,
    lies: Callable[[], Lies] = Lies,
) -> Iterator[Sky]:
    """A sky of these emulated clouds for studies under a folder of its own.

    `cheap`: without foreign machines; `guest`: with a foreign guest of qemu; `lies`: how a rented machine misbehaves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    machines: list[SshServer] = []
    with ExitStack() as stack:
        boots = {name: _boot(folder / "machines" / name, lies, machines) for name in which}
        there = {name: stack.enter_context(kind(name).opened(boot)) for name, boot in boots.items()}
        box = _box(folder, stack)
        sky = Sky(folder, there, box, _environ(folder, there.values()), machines=machines)
        stack.callback(_end_guests, sky)
        for cloud in there.values():
            cloud.journal = _Witness(sky, cloud)
        _plant(sky, cheap)
        if guest:
            provider = QemuProvider(sky.state, cache_folder())
            asyncio.run(provider.create(request("someone-elses-guest", ttl_s=3600.0, study="another")))
        sky.foreign = sky.there()
        yield sky


def _boot(folder: Path, lies: Callable[[], Lies], machines: list[SshServer]) -> Boot:
    def boot(user_data: str, id: str) -> SshServer:
        home = folder / id
        home.mkdir(parents=True, exist_ok=True)
        began = time.time_ns()
        machine = SshServer(home, user_data, lies=lies())
        machines.append(machine)
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


def _environ(folder: Path, there: Iterable[Standing[Any]]) -> dict[str, str]:
    """A home of its own and these clouds only; the images of guests are this user's own, for they take minutes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(CLOUD_SETTINGS)}
    given = [pair for cloud in there for pair in cloud.environ.items()]
    assert len(dict(given)) == len(given), "two clouds are pointed to by one name"
    return {
        **kept,
        **dict(given),
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
    for name, cloud in sky.clouds.items():
        place = kind(name)
        for one in place.planted:
            if not (cheap and one == "instance"):
                cloud.plant(one, place.region, f"their-{one}", {})
                cloud.plant(one, place.region, f"cloudcmp-another-{one}", other)
    theirs = sky.box.home / ".cloudcmp" / "someone-elses"
    theirs.mkdir(parents=True)
    (theirs / "card.json").write_text(json.dumps(_OTHERS_CARD))


def _end_guests(sky: Sky) -> None:
    inventory = Inventory(sky.state)
    for guest in inventory.all():
        inventory.remove(guest)
