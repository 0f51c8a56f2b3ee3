"""Who may ask: a service account whose key signs, a token server that checks it, and bearers that are checked too.

https://developers.google.com/identity/protocols/oauth2/service-account
"""

import base64
import binascii
import json
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.emulated.gce_json import Wrong, whole
from tests.emulated.wire import Answer, Request

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SCOPES = {"https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/compute"}
_SERVER = "https://oauth2.googleapis.com/token"  # whom clients name, wherever they were told to ask
_AUDIENCE = "https://compute.googleapis.com/"
_LATE_S = 300.0  # how far a signer's clock may be off


class Account:
    """One service account of one project. `now` is the cloud's own time (Unix s)."""

    def __init__(self, project: str, now: Callable[[], float]) -> None:
        self.project, self._now = project, now
        self.email = f"cloudcmp@{project}.iam.gserviceaccount.com"
        self._key = _key(project)
        self._tokens: dict[str, float] = {}
        self.granted = 0
        self.expired = False

    def file(self, token_uri: str, key: Any = None, universe: str = "gce.test") -> dict[str, str]:
        """What the key's file holds; `key` is another one than the account's."""
        private = (key or self._key).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return {
            "type": "service_account",
            "project_id": self.project,
            "private_key_id": "0123456789abcdef",
            "private_key": private.decode(),
            "client_email": self.email,
            "client_id": "1234567890",
            "token_uri": token_uri,
            # Of a universe other than Google's own: of that one the client asks a second host which places are allowed.
            "universe_domain": universe,
        }

    def token(self, request: Request, url: str) -> Answer:
        """The token server: a signed assertion for a bearer."""
        form = {key: values[0] for key, values in parse_qs(request.body.decode()).items()}
        claims = self._claims(form.get("assertion", "")) if form.get("grant_type") == _GRANT else None
        if claims is None or claims.get("aud") not in {url, _SERVER}:
            return whole({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, 400)
        bearer = f"ya29.{secrets.token_urlsafe(24)}"
        self._tokens[bearer] = self._now() + 3600
        self.granted += 1
        return whole({"access_token": bearer, "expires_in": 3600, "token_type": "Bearer"})

    def check(self, request: Request) -> None:
        """Raises the error of a request that bears no token of ours: one that was given, or one signed by the key."""
        kind, _, bearer = request.header("Authorization").partition(" ")
        if not self.expired and kind == "Bearer":
            if self._tokens.get(bearer, 0.0) > self._now():
                return
            claims = self._claims(bearer) or {}
            scoped = _SCOPES & set(str(claims.get("scope", "")).split())
            if scoped or claims.get("aud") == _AUDIENCE:
                return
        raise Wrong(401, "authError", "Request had invalid authentication credentials.", "UNAUTHENTICATED")

    def _claims(self, token: str) -> dict[str, Any] | None:
        """What a signed token claims, None where the signature, the signer or the time is wrong."""
        try:
            head, body, signature = token.split(".")
            self._key.public_key().verify(
                _bytes(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), hashes.SHA256()
            )
            claims = dict(json.loads(_bytes(body)))
            said = json.loads(_bytes(head))
        except (ValueError, binascii.Error, InvalidSignature):
            return None
        at, now = float(claims.get("iat", 0)), self._now()
        timely = at - _LATE_S <= now < float(claims.get("exp", 0)) + _LATE_S
        return claims if timely and said.get("alg") == "RS256" and claims.get("iss") == self.email else None


@cache
def _key(_: str) -> rsa.RSAPrivateKey:
    """A project's key, made once in a process because it takes long; a short one, for each client checks its primes."""
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
