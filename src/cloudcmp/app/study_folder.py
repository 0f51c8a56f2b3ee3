"""The folders of studies on this machine."""

from datetime import UTC, datetime
from pathlib import Path

from cloudcmp.model.inventory import StudyEntry

STUDIES = Path("cloudcmp-studies")
"""Folder of all studies, below the working directory."""


def new_folder(name: str, out: Path | None) -> Path:
    """The folder of a new study: `out`, else one named after the study and the time in UTC that does not exist yet."""
    if out is not None:
        return out
    folder = STUDIES / f"{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}"
    again = (folder.with_name(f"{folder.name}-{count}") for count in range(2, 1000))
    return next(path for path in (folder, *again) if not path.exists())


def known_studies() -> tuple[StudyEntry, ...]:
    """The study files in `studies` and the folders of studies below the working directory."""
    files = [StudyEntry(str(path), "study file") for path in sorted(Path("studies").glob("*.yaml"))]
    folders = sorted(path.parent for path in STUDIES.glob("*/study.db"))
    imported = {path for path in folders if (path / "samples" / "imported.parquet").exists()}
    return (*files, *(StudyEntry(str(path), "imported" if path in imported else "measured") for path in folders))
