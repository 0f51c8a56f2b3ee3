"""The folders of studies on this machine."""

from datetime import UTC, datetime
from pathlib import Path

from cloudcmp.app import study_list
from cloudcmp.app.provider_clients import brief
from cloudcmp.app.settings import STUDIES, studies_folder
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.inventory import StudyEntry
from cloudcmp.store.summary import summary_of


def new_folder(name: str, out: Path | None) -> Path:
    """The folder of a new study: `out`, else one named after the study and the time in UTC that does not exist yet.

    The latter is in the folder of the user's settings; raises UserMistake if they are bad.
    """
    if out is not None:
        return out
    folder = studies_folder() / f"{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    again = (folder.with_name(f"{folder.name}-{count}") for count in range(2, 1000))
    return next(path for path in (folder, *again) if not path.exists())


def is_usual(folder: Path) -> bool:
    """True if a study's folder is found without the list of studies elsewhere; raises UserMistake for bad settings."""
    return folder.absolute().parent in {place.absolute() for place in (STUDIES, studies_folder())}


def remember_folder(folder: Path) -> str:
    """Add the folder of a new study to the user's list if it is not in a usual place; returns a warning, or nothing."""
    try:
        return "" if is_usual(folder) else study_list.remember(folder)
    except UserMistake:  # of settings that this study does not need
        return study_list.remember(folder)


def known_studies() -> tuple[StudyEntry, ...]:
    """The study files in `studies`, and the folders of studies: below the working directory, where settings put them,
    and where `--out` put them.

    Raises UserMistake for bad settings.
    """
    files = [StudyEntry(str(path), "study file") for path in sorted(Path("studies").glob("*.yaml"))]
    usual = [path.parent for place in (STUDIES, studies_folder()) for path in sorted(place.glob("*/study.db"))]
    found = {folder.absolute(): folder for folder in (*usual, *map(_shortest, study_list.remembered()))}
    return (*files, *map(_entry, found.values()))


def _shortest(folder: Path) -> Path:
    """A folder below the working directory, relative to it; any other as it is."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _entry(folder: Path) -> StudyEntry:
    """A study's folder with what a glance at its database tells."""
    try:
        one = summary_of(folder)
    except CloudcmpError as fault:
        return StudyEntry(str(folder), "unreadable", state=brief(fault))
    written = datetime.fromtimestamp(one.written_at, UTC).strftime("%Y-%m-%d %H:%M")
    if one.imported:
        return StudyEntry(str(folder), "imported", one.name, one.candidates, "finished", written)
    state = "finished" if one.ended >= one.trials else f"{one.ended} of {one.trials} trials"
    return StudyEntry(str(folder), "measured", one.name, one.candidates, state, written)
