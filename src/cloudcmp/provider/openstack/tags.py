"""Our tags as text, in the description or the name of resources that take no tags in their creating call.

Neutron sets tags only in a second call, and Nova's server groups have none; both hold a text of 255 characters
(https://docs.openstack.org/api-ref/network/v2/, https://docs.openstack.org/api-ref/compute/).
"""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from cloudcmp.errors import Refused

MOST = 255
_PREFIX_WORD = "cloudcmp"
_TAGS = {"schema": "c", "study": "n", "slot": "s", "attempt": "a", "owner": "w", "expires": "e"}
_PREFIX = "cloudcmp:"
_PLAIN = "-._~:/,;"
Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The content of our text: the request's token, its tags, and the id of the resource that this one belongs to."""

    token: str
    tags: Tags = ()
    parent: str = ""

    def text(self, where: str) -> str:
        """The mark as text; raises Refused if it is too long."""
        pairs = [("t", self.token), *([("o", self.parent)] if self.parent else [])]
        pairs += [(_short(key), value) for key, value in self.tags]
        text = " ".join((_PREFIX_WORD, *(f"{quote(key, _PLAIN)}={quote(value, _PLAIN)}" for key, value in pairs)))
        if len(text) > MOST:
            what = f"its tags take {len(text)} characters, and this cloud keeps {MOST}"
            raise Refused.at(where, what, "give the study a shorter name")
        return text


def parse_mark(text: str) -> Mark | None:
    """The mark in a description or a name, None if it is not ours."""
    head, *parts = text.split(" ")
    pairs = [part.partition("=") for part in parts]
    if head != _PREFIX_WORD or not pairs or not all(sign for _, sign, _ in pairs):
        return None
    values = {unquote(key): unquote(value) for key, _, value in pairs}
    token, parent = values.pop("t", ""), values.pop("o", "")
    return Mark(token, tuple(sorted((_long(key), value) for key, value in values.items())), parent) if token else None


def _short(key: str) -> str:
    """Our tag's key as one letter; any other key with a leading colon."""
    return _TAGS.get(key.removeprefix(_PREFIX), "") if key.startswith(_PREFIX) and key[9:] in _TAGS else f":{key}"


def _long(key: str) -> str:
    if key.startswith(":"):
        return key[1:]
    return next((f"{_PREFIX}{name}" for name, letter in _TAGS.items() if letter == key), key)
