"""The fields of a JSON document that a client sent, each checked for its type."""

import json
from collections.abc import Mapping
from typing import Any

from cloudcmp.provider.simulated.storage.request import ServiceError


class Fields:
    """An object of a request. Every getter raises ServiceError for a value of another type, or a missing one."""

    def __init__(self, plain: Mapping[str, Any], invalid: str) -> None:
        self.plain = plain
        self._invalid = invalid

    @classmethod
    def parse(cls, body: bytes, serialization: str, invalid: str) -> "Fields":
        """The object in a body. The parameters are the service's codes for no JSON object, and for a wrong value."""
        try:
            plain = json.loads(body)
            json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()  # neither half a character nor NaN
        except (ValueError, RecursionError):
            raise ServiceError(400, serialization, "The body is no JSON document.") from None
        if not isinstance(plain, dict):
            raise ServiceError(400, serialization, "The body is no JSON object.")
        return cls(plain, invalid)

    def error(self, message: str) -> ServiceError:
        """The service's error for a wrong value."""
        return ServiceError(400, self._invalid, message)

    def only(self, *known: str) -> None:
        """Raises ServiceError if there is a field that is not among `known`: it would be ignored otherwise."""
        for name in self.plain:
            if name not in known:
                raise self.error(f"This service has no {name}.")

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self.plain.get(name, default)
        if not isinstance(value, str):
            raise self.error(f"{name} must be a text.")
        return value

    def flag(self, name: str) -> bool:
        """A boolean, false if it is missing."""
        value = self.plain.get(name, False)
        if not isinstance(value, bool):
            raise self.error(f"{name} must be true or false.")
        return value

    def count(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number between two others."""
        value = self.plain.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.error(f"{name} must be a whole number from {least} to {most}.")
        return value

    def fields(self, name: str) -> "Fields":
        """An object, empty if it is missing."""
        value = self.plain.get(name, {})
        if not isinstance(value, dict):
            raise self.error(f"{name} must be an object.")
        return Fields(value, self._invalid)

    def objects(self, name: str) -> "list[Fields]":
        """A list of objects, empty if it is missing."""
        value = self.plain.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(f"{name} must be a list of objects.")
        return [Fields(one, self._invalid) for one in value]

    def texts(self, name: str) -> dict[str, str]:
        """An object of texts, empty if it is missing."""
        value = self.fields(name).plain
        if not all(isinstance(one, str) for one in value.values()):
            raise self.error(f"{name} must be an object of texts.")
        return dict(value)

    def names(self, name: str) -> list[str]:
        """A list of texts, empty if it is missing."""
        value = self.plain.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.error(f"{name} must be a list of texts.")
        return value
