"""Our tags on Compute Engine resources: exact tags and token as text, and labels to filter by.

Labels hold at most 63 lower-case letters, digits, dashes and underscores
(https://cloud.google.com/compute/docs/labeling-resources). So the exact tags are in a machine's metadata, and in the
description of a disk or of a firewall rule; firewall rules have no labels at all.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping

from cloudcmp.model.lease import CreateRequest

ITEM = "cloudcmp-tags"
"""The key of the metadata item with a machine's tags and token."""
SCHEMA_LABEL, STUDY_LABEL, TOKEN_LABEL = "cloudcmp-schema", "cloudcmp-study", "cloudcmp-token"
_LABELLED = "cloudcmp:"
_HEAD = "cloudcmp "
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")
_OURS = uuid.UUID("b6a2f0c4-6a0f-5d6c-9a53-6a3c8f1d2e70")
Tags = tuple[tuple[str, str], ...]


def labels_of(request: CreateRequest) -> dict[str, str]:
    """The labels of a request's resources: its tags in the label alphabet, and its token."""
    own = {key.replace(":", "-"): label(value) for key, value in request.tags if key.startswith(_LABELLED)}
    return own | {TOKEN_LABEL: label(request.token)}


def label(value: str) -> str:
    """A value in the label alphabet; other letters are replaced, and a hash keeps the values distinct."""
    if _LABEL.fullmatch(value):
        return value
    plain = re.sub(r"[^a-z0-9_-]+", "-", value.lower())
    return f"{plain[:50]}-{hashlib.sha256(value.encode()).hexdigest()[:12]}"


def to_text(request: CreateRequest, **more: str) -> str:
    """The exact tags and the token as one line of text."""
    return _HEAD + json.dumps({"token": request.token, "tags": dict(request.tags), **more}, sort_keys=True)


def read(text: str) -> dict[str, object] | None:
    """The content of such a line, None for any other text."""
    if not text.startswith(_HEAD):
        return None
    try:
        response = json.loads(text.removeprefix(_HEAD))
    except ValueError:
        return None
    return response if isinstance(response, dict) and isinstance(response.get("tags"), dict) else None


def tags_and_token(text: str, labels: Mapping[str, str]) -> tuple[Tags, str | None]:
    """The tags and the token of a resource, from its text, else from its labels."""
    response = read(text)
    if response is None:
        ours = {key: value for key, value in labels.items() if key.startswith("cloudcmp-") and key != TOKEN_LABEL}
        tags = {f"{_LABELLED}{key.removeprefix('cloudcmp-')}": value for key, value in ours.items()}
        return tuple(sorted(tags.items())), labels.get(TOKEN_LABEL) or None
    tags = {str(key): str(value) for key, value in dict(response["tags"]).items()}  # type: ignore[call-overload]
    return tuple(sorted(tags.items())), str(response.get("token") or "") or None


def request_id(token: str, place: str, undone: int = 0) -> str:
    """The `requestId` of one call of a request: a UUID that is the same for each repetition, and not zero.

    Each zone has its own id, because a second zone is only tried after the first surely created nothing. `undone`
    counts earlier failures of the call: for a used id the cloud returns the old operation and creates nothing.
    https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert
    """
    again = f"/{undone}" if undone else ""
    return str(uuid.uuid5(_OURS, f"{token}/{place}{again}"))
