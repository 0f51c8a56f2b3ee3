"""The folders of studies on this machine."""

from datetime import UTC, datetime
from pathlib import Path

from cloudcmp.app.settings import STUDIES, studies_folder
from cloudcmp.model.inventory import StudyEntry


def new_folder(name: str, out: Path | None) -> Path:
    """The folder of a new study: `out`, else one named after the study and the time in UTC that does not exist yet.

    The latter is in the folder of the user's settings; raises UserMistake if they are bad.
    """
    if out is not None:
        return out
    folder = studies_folder() / f"{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    again = (folder.with_name(f"{folder.name}-{count}") for count in range(2, 1000))
    return next(path for path in (folder, *again) if not path.exists())


def known_studies() -> tuple[StudyEntry, ...]:
    """The study files in `studies`, and the folders of studies below the working directory or where settings put them.

    Raises UserMistake for bad settings.
    """
    files = [StudyEntry(str(path), "study file") for path in sorted(Path("studies").glob("*.yaml"))]
    places = dict.fromkeys((STUDIES, studies_folder()))
    folders = [path.parent for place in places for path in sorted(place.glob("*/study.db"))]
    imported = {path for path in folders if (path / "samples" / "imported.parquet").exists()}
    return (*files, *(StudyEntry(str(path), "imported" if path in imported else "measured") for path in folders))
