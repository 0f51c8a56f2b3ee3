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
from urllib.parse import unquote

from cloudcmp.model.lease import CreateRequest

ITEM = "cloudcmp-tags"
"""The key of the metadata item with a machine's tags and token."""
_CHUNK, _MORE = 60, "_"
SCHEMA_LABEL, STUDY_LABEL, TOKEN_LABEL = "cloudcmp-schema", "cloudcmp-study", "cloudcmp-token"
_TAG_PREFIX = "cloudcmp:"
_TEXT_PREFIX = "cloudcmp "
_EXACT_KEY = re.compile(r"cloudcmp-([a-z]+)(?:_([0-9]{1,2}))?")
_LABEL = re.compile(r"[a-z0-9_-]{0,63}")
_NAMESPACE = uuid.UUID("b6a2f0c4-6a0f-5d6c-9a53-6a3c8f1d2e70")
Tags = tuple[tuple[str, str], ...]


def labels_of(request: CreateRequest) -> dict[str, str]:
    """The labels of a request's resources: its tags in the label alphabet, and its token."""
    own = {key.replace(":", "-"): label(value) for key, value in request.tags if key.startswith(_TAG_PREFIX)}
    return own | {TOKEN_LABEL: label(request.token)}


def label(value: str) -> str:
    """A value in the label alphabet; other letters are replaced, and a hash keeps the values distinct."""
    if _LABEL.fullmatch(value):
        return value
    plain = re.sub(r"[^a-z0-9_-]+", "-", value.lower())
    return f"{plain[:50]}-{hashlib.sha256(value.encode()).hexdigest()[:12]}"


def to_text(request: CreateRequest, **more: str) -> str:
    """The exact tags and the token as one line of text."""
    return _TEXT_PREFIX + json.dumps({"token": request.token, "tags": dict(request.tags), **more}, sort_keys=True)


def parse_text(text: str) -> dict[str, object] | None:
    """The content of such a line, None for any other text."""
    if not text.startswith(_TEXT_PREFIX):
        return None
    try:
        content = json.loads(text.removeprefix(_TEXT_PREFIX))
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("tags"), dict) else None


def tags_and_token(text: str, labels: Mapping[str, str]) -> tuple[Tags, str | None]:
    """The tags and the token of a resource, from its text, else from its labels."""
    content = parse_text(text)
    if content is None:
        ours = {key: value for key, value in labels.items() if key.startswith("cloudcmp-") and key != TOKEN_LABEL}
        tags = {f"{_TAG_PREFIX}{key.removeprefix('cloudcmp-')}": value for key, value in ours.items()}
        return tuple(sorted(tags.items())), labels.get(TOKEN_LABEL) or None
    tags = {str(key): str(value) for key, value in dict(content["tags"]).items()}  # type: ignore[call-overload]
    return tuple(sorted(tags.items())), str(content.get("token") or "") or None


def request_id(token: str, place: str, failures: int = 0) -> str:
    """The `requestId` of one call of a request: a UUID that is the same for each repetition, and not zero.

    Each zone has its own id, because a second zone is only tried after the first surely created nothing. `failures`
    counts earlier failures of the call: for a used id the cloud returns the old operation and creates nothing.
    https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert
    """
    suffix = f"/{failures}" if failures else ""
    return str(uuid.uuid5(_NAMESPACE, f"{token}/{place}{suffix}"))


def exact_labels(tags: Tags) -> dict[str, str]:
    """Our tags as labels from which they can be read back, for resources that keep no text beside their labels.

    Characters outside of the label alphabet are written as hexadecimal bytes, and a long value takes several labels.
    """
    labels: dict[str, str] = {}
    for key, value in tags:
        chunks = [""]
        for letter in value:
            unit = letter if re.fullmatch(r"[a-z0-9-]", letter) else "".join(f"_{byte:02x}" for byte in letter.encode())
            if len(chunks[-1]) + len(unit) > _CHUNK:
                chunks.append("")
            chunks[-1] += unit
        for number, chunk in enumerate(chunks):
            labels[key.replace(":", "-") + (f"{_MORE}{number}" if number else "")] = chunk
    return labels


def exact_tags(labels: Mapping[str, str]) -> Tags:
    """The tags that `exact_labels` wrote; labels of other forms are left out."""
    chunks = ((match, value) for key, value in labels.items() if (match := _EXACT_KEY.fullmatch(key)))
    values: dict[str, str] = {}
    for match, value in sorted(chunks, key=lambda chunk: int(chunk[0][2] or 0)):
        name = f"{_TAG_PREFIX}{match[1]}"
        values[name] = values.get(name, "") + value
    return tuple(sorted((name, unquote(value.replace(_MORE, "%"))) for name, value in values.items()))
