"""Our tags on what bears no tags in its creating call: in the description, or in the name where there is none.

Neutron sets the tags of a thing only in a second call, and Nova's server groups have none at all; both hold a text of
255 characters (https://docs.openstack.org/api-ref/network/v2/, https://docs.openstack.org/api-ref/compute/).
"""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from cloudcmp.errors import Refused

MOST = 255
_HEAD = "cloudcmp"
_TAGS = {"schema": "c", "study": "n", "slot": "s", "attempt": "a", "owner": "w", "expires": "e"}
_PREFIX = "cloudcmp:"
_PLAIN = "-._~:/,;"
Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a text of ours says: the token of the request, its tags, and the id of what the thing belongs to."""

    token: str
    tags: Tags = ()
    on: str = ""

    def text(self, where: str) -> str:
        """The mark as a text; raises Refused for one that is too long to be kept."""
        pairs = [("t", self.token), *([("o", self.on)] if self.on else [])]
        pairs += [(_short(key), value) for key, value in self.tags]
        text = " ".join((_HEAD, *(f"{quote(key, _PLAIN)}={quote(value, _PLAIN)}" for key, value in pairs)))
        if len(text) > MOST:
            what = f"its tags take {len(text)} characters, and this cloud keeps {MOST}"
            raise Refused.at(where, what, "give the study a shorter name")
        return text


def mark_in(text: str) -> Mark | None:
    """The mark in a description or a name, None where it is none of ours."""
    head, *parts = text.split(" ")
    pairs = [part.partition("=") for part in parts]
    if head != _HEAD or not pairs or not all(sign for _, sign, _ in pairs):
        return None
    response = {unquote(key): unquote(value) for key, _, value in pairs}
    token, on = response.pop("t", ""), response.pop("o", "")
    return Mark(token, tuple(sorted((_long(key), value) for key, value in response.items())), on) if token else None


def _short(key: str) -> str:
    """A tag's key in one letter where it is one of ours; any other begins with a colon, which no letter does."""
    return _TAGS.get(key.removeprefix(_PREFIX), "") if key.startswith(_PREFIX) and key[9:] in _TAGS else f":{key}"


def _long(key: str) -> str:
    if key.startswith(":"):
        return key[1:]
    return next((f"{_PREFIX}{name}" for name, letter in _TAGS.items() if letter == key), key)
