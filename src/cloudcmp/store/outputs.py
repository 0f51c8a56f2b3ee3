"""The output of commands: one small file per attempt, named with its digest in the attempt's facts."""

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from cloudcmp.errors import Fault, NotOurs, StorageFault
from cloudcmp.model.trial import Attempt
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.store.faults import storage
from cloudcmp.store.files import write_durably

FOLDER = "outputs"
KEY = "output"
_LARGEST_BYTES = 256 * 1024 * 1024  # far more than an agent sends
_FILE = re.compile(rf"{FOLDER}/\d+-\d+\.json\.gz")


def keep(folder: Path, trial: int, attempt: int, texts: Mapping[str, str]) -> dict[str, str]:
    """Writes the output of an attempt durably; returns the file, relative to the study's folder, and its digest."""
    content = gzip.compress(json.dumps(dict(texts), ensure_ascii=False).encode(), mtime=0)
    try:
        with storage(folder), OwnedPath(folder, (FOLDER,)).folder(make=True):
            pass  # the folder exists, and is not a link
    except NotOurs as error:
        raise StorageFault(*error.faults) from error
    file = f"{FOLDER}/{trial:08d}-{attempt}.json.gz"
    write_durably(folder / file, content)
    return {"file": file, "sha256": hashlib.sha256(content).hexdigest()}


def damaged(folder: Path, attempts: Iterable[Attempt]) -> list[Fault]:
    """A fault for each output that differs from the written one; opens only output files, and no link."""
    faults = []
    for attempt in attempts:
        kept = json.loads(attempt.facts or "{}").get(KEY)
        if kept is not None and not _is_whole(folder, kept):
            what = f"the output of trial {attempt.trial}, attempt {attempt.attempt} is not what was written"
            faults.append(Fault(str(folder / FOLDER), what, "no figure is made of it again; restore it from a copy"))
    return faults


def _is_whole(folder: Path, kept: object) -> bool:
    """True if the file named in the facts matches its digest; facts may come from a stranger."""
    file, digest = (kept.get("file"), kept.get("sha256")) if isinstance(kept, dict) else (None, None)
    if not isinstance(file, str) or not _FILE.fullmatch(file):
        return False
    try:
        with OwnedPath(folder, tuple(file.split("/"))).file(os.O_RDONLY) as opened:
            return hashlib.sha256(opened.read(_LARGEST_BYTES)).hexdigest() == digest
    except (NotOurs, OSError):
        return False
