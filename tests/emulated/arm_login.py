"""Where tokens come from: the part of Entra that a client secret needs, and the check of every token."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from tests.emulated.arm_answers import said
from tests.emulated.wire import Answer, Request

_UNKNOWN = "AADSTS700016: Application with identifier was not found in the directory."
_WRONG = "AADSTS7000215: Invalid client secret provided."
_TENANT = "AADSTS90002: Tenant not found."


@dataclass(slots=True)
class Login:
    """One tenant with one application; `clock` gives seconds of any origin, `base` is where it listens."""

    tenant: str
    client: str
    secret: str
    clock: Callable[[], float]
    base: str = ""
    expires_s: float = 86400.0
    tokens: dict[str, float] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer | None:
        """The answer to a request for the tenant's own addresses, None for any other."""
        path = request.path.partition("?")[0]
        tenant = path.strip("/").split("/")[0]
        if path.endswith("/.well-known/openid-configuration"):
            return self._where(tenant) if tenant == self.tenant else _no(_TENANT, "invalid_tenant", 400)
        if path == f"/{self.tenant}/oauth2/v2.0/token":
            return self._token(request)
        return None

    def _where(self, tenant: str) -> Answer:
        own = f"{self.base}/{tenant}"
        told = {"issuer": f"{own}/v2.0", "authorization_endpoint": f"{own}/oauth2/v2.0/authorize"}
        return said({**told, "token_endpoint": f"{own}/oauth2/v2.0/token"})

    def _token(self, request: Request) -> Answer:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if form.get("client_id") != self.client:
            return _no(_UNKNOWN, "unauthorized_client", 400)
        if form.get("client_secret") != self.secret:
            return _no(_WRONG, "invalid_client", 401)
        token = secrets.token_urlsafe(24)
        self.tokens[token] = self.clock() + self.expires_s
        return said({"token_type": "Bearer", "expires_in": 86400, "ext_expires_in": 86400, "access_token": token})

    def refused(self, request: Request) -> str:
        """The code with which a request is refused, empty for one that bears a token that holds."""
        scheme, _, token = request.header("Authorization").partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            return "InvalidAuthenticationToken"
        return "ExpiredAuthenticationToken" if self.clock() >= self.tokens[token] else ""


def _no(text: str, code: str, status: int) -> Answer:
    return said({"error": code, "error_description": text, "error_codes": []}, status)
