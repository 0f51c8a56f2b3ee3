"""The emulated Keystone: credentials are checked, tokens expire, and access rules are kept to.

Access rules: https://docs.openstack.org/keystone/latest/user/application_credentials.html#access-rules
"""

import re
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.emulated.nova_state import PROJECT
from tests.emulated.nova_wire import Asked, error, said
from tests.emulated.wire import Answer

SERVICES = {"compute": "compute", "network": "network", "volume": "block-storage", "image": "image"}
"""The services, and the types by which access rules and the catalogue name them."""
_ROOTS = {"compute": "/v2.1", "network": "", "volume": f"/v3/{PROJECT}", "image": "", "objects": f"/v1/AUTH_{PROJECT}"}
_TYPES = {**SERVICES, "volume": "volumev3", "objects": "object-store"}
_NEVER = "The request you have made requires authentication."


@dataclass(frozen=True, slots=True)
class Token:
    """A token: until when it is good (Unix s), and what it opens (None: everything)."""

    id: str
    expires: float
    rules: Sequence[dict[str, str]] | None


@dataclass(slots=True)
class Keystone:
    """One user in one project; with `rules` it is known by an application credential that they restrict."""

    regions: Sequence[str]
    base: Callable[[], str]
    rules: Sequence[dict[str, str]] | None = None
    roles: tuple[str, ...] = ("member", "reader")
    user: str = "alice"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    credential: str = field(default_factory=lambda: uuid.uuid4().hex)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token_s: float = 3600.0
    volumes: bool = True
    objects: bool = False
    tokens: dict[str, Token] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        """The credentials, as openstacksdk and every other client of OpenStack finds them."""
        named = {"OS_AUTH_URL": f"{self.base()}/identity/v3", "OS_IDENTITY_API_VERSION": "3"}
        if self.rules is not None:
            return named | {
                "OS_AUTH_TYPE": "v3applicationcredential",
                "OS_APPLICATION_CREDENTIAL_ID": self.credential,
                "OS_APPLICATION_CREDENTIAL_SECRET": self.secret,
            }
        return named | {
            "OS_AUTH_TYPE": "password",
            "OS_USERNAME": self.user,
            "OS_PASSWORD": self.password,
            "OS_PROJECT_NAME": "tests",
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }

    def answer(self, this: Asked) -> Answer:
        """Versions for anybody, a token for whoever knows the password or the secret."""
        if this.action == "Authenticate":
            return self._authenticate(this.body.get("auth", {}))
        if this.action == "ShowToken":
            return self.refused(this) or said({"token": self._told(self.tokens[this.request.header("X-Auth-Token")])})
        links = [{"rel": "self", "href": f"{self.base()}/identity/v3/"}]
        version = {"id": "v3.14", "status": "stable", "links": links, "media-types": []}
        if this.path.rstrip("/") == "/v3":
            return said({"version": version})
        return said({"versions": {"values": [version]}}, 300)

    def _authenticate(self, auth: Any) -> Answer:
        identity = auth.get("identity", {})
        methods = identity.get("methods", [])
        if "application_credential" in methods:
            given = identity["application_credential"]
            good = self.rules is not None and (given.get("id"), given.get("secret")) == (self.credential, self.secret)
            rules = self.rules
        else:
            user = identity.get("password", {}).get("user", {})
            domain = user.get("domain", {}).get("name", "")
            scope = auth.get("scope", {}).get("project", {})
            good = (user.get("name"), domain, user.get("password")) == (self.user, "Default", self.password)
            good = good and (scope.get("name") == "tests" or scope.get("id") == PROJECT)
            rules = None
        if not good:
            return error("identity", 401, _NEVER)
        token = Token(secrets.token_hex(24), time.time() + self.token_s, rules)
        self.tokens[token.id] = token
        return said({"token": self._told(token)}, 201, **{"X-Subject-Token": token.id})

    def _told(self, token: Token) -> dict[str, Any]:
        return {
            "methods": ["password"],
            "expires_at": _stamp(token.expires),
            "issued_at": _stamp(time.time()),
            "project": {"id": PROJECT, "name": "tests", "domain": {"id": "default", "name": "Default"}},
            "user": {"id": uuid.uuid5(uuid.NAMESPACE_DNS, self.user).hex, "name": self.user,
                     "domain": {"id": "default", "name": "Default"}},
            "roles": [{"id": uuid.uuid5(uuid.NAMESPACE_DNS, role).hex, "name": role} for role in self.roles],
            "catalog": [
                *(self._service(name) for name in SERVICES if name != "volume" or self.volumes),
                *([self._service("objects")] if self.objects else []),
            ],
        }  # fmt: skip

    def _service(self, name: str) -> dict[str, Any]:
        return {
            "id": uuid.uuid5(uuid.NAMESPACE_DNS, name).hex,
            "type": _TYPES[name],
            "name": name,
            "endpoints": [
                {"id": uuid.uuid5(uuid.NAMESPACE_DNS, f"{name} {region}").hex, "interface": "public",
                 "region": region, "region_id": region, "url": f"{self.base()}/{region}/{name}{_ROOTS[name]}"}
                for region in self.regions
            ],
        }  # fmt: skip

    def refused(self, this: Asked) -> Answer | None:
        """The answer to a call whose token is not good, or whose access rules do not name it; None where it may go."""
        token = self.tokens.get(this.request.header("X-Auth-Token"))
        if token is None or token.expires <= time.time():
            return error(this.service, 401, _NEVER)
        if token.rules is not None and this.service != "identity" and not _named(token.rules, this):
            return error(this.service, 401, _NEVER)
        return None

    def expire(self) -> None:
        """Every token that was given is good no more."""
        self.tokens.clear()


def _named(rules: Sequence[dict[str, str]], this: Asked) -> bool:
    return any(
        rule["service"] == SERVICES[this.service] and rule["method"] == this.method and _fits(rule["path"], this.whole)
        for rule in rules
    )


def _fits(pattern: str, path: str) -> bool:
    """`*` and `{name}` stand for one segment of a path, `**` for any number."""
    parts = re.split(r"(\*\*|\*|\{[^}]*\})", pattern)
    regex = "".join(
        ".*" if part == "**" else r"[^/]+" if part == "*" or part.startswith("{") else re.escape(part) for part in parts
    )
    return re.fullmatch(regex, path) is not None


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
