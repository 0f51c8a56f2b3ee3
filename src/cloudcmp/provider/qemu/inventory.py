"""Lists guests: their folders, and their processes with or without a folder."""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import IncompleteListing, NotOurs, StorageFault
from cloudcmp.model.lease import INCOMPLETE, INSTANCE, TaggedResource
from cloudcmp.owned_folder import OwnedPath, folder_in, folders_in, names_in, remove_folder
from cloudcmp.provider.qemu.machine import CARD, Card, read_card
from cloudcmp.provider.qemu.processes import Identity, RunningGuest, end_guest, list_running
from cloudcmp.provider.qemu.sizes import REGION

_ID = re.compile(r"vm-[0-9a-f]{16}")


def state_folder() -> Path:
    """The parent of the guests' folders: cloudcmp/qemu in $XDG_STATE_HOME or ~/.local/state."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(base) / "cloudcmp" / "qemu"


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest: its folder, the identity on its card, and its process while it lives."""

    cloud_id: str
    folder: Path
    identity: Identity | None
    process: RunningGuest | None

    def to_resource(self) -> TaggedResource:
        """The guest as a listed resource; without a complete card, its id is its name."""
        state = "running" if self.process else "stopped"
        if self.identity is None:
            return TaggedResource(self.cloud_id, self.cloud_id, None, (), INCOMPLETE, INSTANCE, REGION)
        card = self.identity
        return TaggedResource(self.cloud_id, card.name, card.token, card.tags, state, INSTANCE, REGION, card.offering)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The guests below one folder, and on request the guests elsewhere."""

    root: Path

    def id_of(self, token: str) -> str:
        """The id of a token's guest."""
        return "vm-" + hashlib.sha256(f"{self.root}\0{token}".encode()).hexdigest()[:16]

    def folder(self, cloud_id: str) -> Path:
        """The folder of a guest's id."""
        return self.root / cloud_id

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Admits one creating process at a time; the lock ends with its holder."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with (self.root / "lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
        except OSError as error:
            fault = error.strerror or str(error)
            raise StorageFault.at(str(self.root), fault, "set XDG_STATE_HOME to another folder") from error

    def all(self, *, elsewhere: bool = False) -> tuple[Guest, ...]:
        """Every guest here, or with `elsewhere` every running guest of this user too; raises IncompleteListing."""
        live = {one.identity.cloud_id: one for one in list_running() if elsewhere or one.folder.parent == self.root}
        guests = [Guest(one.identity.cloud_id, one.folder, one.identity, one) for one in live.values()]
        for cloud_id in self._folders():
            if cloud_id not in live:
                card = self.card(cloud_id)
                guests.append(Guest(cloud_id, self.folder(cloud_id), card.identity if card else None, None))
        return tuple(sorted(guests, key=lambda guest: guest.cloud_id))

    def one(self, cloud_id: str) -> Guest | None:
        """The guest of an id, here or elsewhere; None without process and folder."""
        if not _ID.fullmatch(cloud_id):
            return None
        return next((guest for guest in self.all(elsewhere=True) if guest.cloud_id == cloud_id), None)

    def card(self, cloud_id: str) -> Card | None:
        """The card of a guest; None if it cannot be read."""
        return read_card(self.folder(cloud_id))

    def remove(self, guest: Guest) -> None:
        """Ends a guest's process and removes its folder, if it holds its card or only an incomplete one.

        Raises ProviderFault if the process does not end, NotOurs if the folder holds anything else, and StorageFault if
        it cannot be removed.
        """
        if guest.process is not None:
            end_guest(guest.process)
        own = _is_card_of(guest, read_card(guest.folder))
        if guest.folder != self.folder(guest.cloud_id) and not own:
            return
        name = guest.folder.name
        try:
            with OwnedPath(guest.folder.parent).folder() as here, folder_in(here, name, guest.folder) as inside:
                if not own and names_in(inside) not in ([], [f"{CARD}.new"]):
                    what = f"it holds no {CARD} of this guest: it is kept"
                    raise NotOurs.at(str(guest.folder), what, "see what it holds, and remove it by hand")
                remove_folder(here, name, inside, CARD)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StorageFault.at(str(guest.folder), error.strerror or str(error), "remove it by hand") from error
        # A creator that was just killed may have been starting qemu; without a folder no other can start.
        for late in [one for one in list_running() if one.identity.cloud_id == guest.cloud_id]:
            end_guest(late)

    def _folders(self) -> list[str]:
        try:
            with OwnedPath(self.root).folder() as here:
                return [name for name in folders_in(here) if _ID.fullmatch(name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise IncompleteListing.at(
                str(self.root), error.strerror or str(error), "make the folder readable"
            ) from error


def _is_card_of(guest: Guest, card: Card | None) -> bool:
    """True if a card is a guest's own."""
    return card is not None and card.identity.cloud_id == guest.cloud_id
