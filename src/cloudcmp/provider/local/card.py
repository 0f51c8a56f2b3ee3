"""The card in a launch's folder: its lease, its study, and when on which boot of this machine it was created."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cloudcmp.errors import NotOurs
from cloudcmp.model.lease import CreateRequest
from cloudcmp.owned_folder import names_in, read_small, remove_empty, write_whole

CARD = "lease.json"
STUDY_TAG = "cloudcmp:study"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_DRAFT = f"{CARD}.new"
_NEXT = "see what it holds, and remove it by hand"


@dataclass(frozen=True, slots=True)
class Card:
    """The record in a new folder; `made_s` are seconds since the boot that `boot_id` names."""

    name: str
    token: str
    tags: Mapping[str, str]
    offering: str
    boot_id: str = ""
    made_s: float = 0.0

    @classmethod
    def of(cls, request: CreateRequest) -> "Card":
        """The card of a folder that is created now."""
        made_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        return cls(request.name, request.token, dict(request.tags), request.offering, boot_id(), made_s)

    def write(self, folder: int) -> None:
        """Writes the card into an opened folder atomically; raises OSError."""
        write_whole(folder, CARD, json.dumps(asdict(self), sort_keys=True).encode())


def boot_id() -> str:
    """The id of this boot, empty if the kernel reports none."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read_card(folder: int) -> Card:
    """The card of an opened, perhaps foreign folder; raises FileNotFoundError if missing, ValueError if invalid."""
    try:
        card = json.loads(read_small(folder, CARD))
    except RecursionError as error:
        raise ValueError(f"{CARD} is nested too deep") from error
    if not isinstance(card, dict) or not isinstance(card.get("tags"), dict):
        raise ValueError(f"{CARD} is no card")
    boot, made_s = card.get("boot_id", ""), card.get("made_s", 0.0)
    texts = [card.get("name"), card.get("token"), card.get("offering"), boot, *card["tags"], *card["tags"].values()]
    if not all(isinstance(text, str) and text.isascii() and text.isprintable() for text in texts):
        raise ValueError(f"{CARD} is no card")
    if isinstance(made_s, bool) or not isinstance(made_s, int | float) or not 0 <= made_s < 2**40:
        raise ValueError(f"{CARD} is no card")
    return Card(card["name"], card["token"], card["tags"], card["offering"], boot, float(made_s))


def own_card(folder: int, token: str, study: str | None, path: Path) -> Card | None:
    """The study's card in a folder; None if it has at most an incomplete card. Raises NotOurs for other folders."""
    try:
        card = read_card(folder)
    except FileNotFoundError:
        if names_in(folder) in ([], [_DRAFT]):
            return None
        raise NotOurs.at(str(path), f"it holds files and no {CARD}: it is kept", _NEXT) from None
    except ValueError as error:
        raise NotOurs.at(str(path), f"{error}: it is kept", _NEXT) from error
    if study is None or card.tags.get(STUDY_TAG) != study:
        raise NotOurs.at(str(path), f"its {CARD} names another study: it is kept", _NEXT)
    if card.token != token:
        raise NotOurs.at(str(path), f"its {CARD} names another lease: it is kept", _NEXT)
    return card


def check_new_folder(folder: int, token: str, study: str | None, path: Path) -> None:
    """Raises NotOurs if an opened folder holds anything except a card of this lease, complete or not.

    Tokens are predictable: the owner of a study's folder can put files where a launch will be. So other users lose
    their access to the folder before its files are listed.
    """
    if os.fstat(folder).st_uid != os.geteuid():
        raise NotOurs.at(str(path), "it belongs to another user: nothing is launched in it", _NEXT)
    own_card(folder, token, study, path)
    os.fchmod(folder, 0o700)
    if not {CARD, _DRAFT}.issuperset(names_in(folder)):
        raise NotOurs.at(str(path), "it was there and holds files: nothing is launched in it", _NEXT)


def remove_draft(launches: int, token: str, folder: int) -> None:
    """Removes a folder with at most an incomplete card; raises OSError if it holds more."""
    with suppress(FileNotFoundError):
        os.unlink(_DRAFT, dir_fd=folder)
    remove_empty(launches, token, folder)
