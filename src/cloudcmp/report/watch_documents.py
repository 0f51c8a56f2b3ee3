"""The data of the JSON documents of `watch`."""

from collections.abc import Sequence
from typing import Any

from cloudcmp.model.watch_summary import WatchedFolder


def watched(folders: Sequence[WatchedFolder]) -> dict[str, Any]:
    """The document of `watch` and of `watch --verify`: each folder of evidence."""
    return {"watched": list(folders)}
