"""Tags that look like ours, on what no sweep may touch."""

from collections.abc import Mapping

EXPIRED = {"cloudcmp:expires": "2020-01-01T00:00:00Z"}
OURS = {
    "cloudcmp:schema": "1", "cloudcmp:study": "old-1", "cloudcmp:slot": "launch-0", "cloudcmp:attempt": "1", **EXPIRED,
}  # fmt: skip
"""What a study that expired long ago gave its resources."""
DECOYS: tuple[Mapping[str, str], ...] = (
    {"cloudcmp:study": "study-a"},
    {"Cloudcmp:schema": "1", "cloudcmp:study": "study-a", **EXPIRED},
    {"cloudcmp-schema": "1", "cloudcmp:study": "study-b", **EXPIRED},
    {"cloudcmp:schemas": "1"},
    {"schema": "1", "study": "study-a"},
    {"cloudcmp:schema": "2", "cloudcmp:study": "study-a", **EXPIRED},
    {"cloudcmp:schema": "1", "cloudcmp:study": "study-a", "cloudcmp:expires": "2999-01-01T00:00:00Z"},
    {"cloudcmp:schema": "1", **EXPIRED},
    {},
)
"""The wrong schema, a missing tag, one that is written otherwise, none at all, and what has not expired."""
