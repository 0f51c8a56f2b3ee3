"""What a token must be allowed, as each cloud can say it."""

from typing import Any

from cloudcmp.provider.longtail.dialect import Cloud


def policy(cloud: Cloud) -> dict[str, Any]:
    """The least scopes that a token needs; `scopes` is empty where the cloud has no such thing, and `note` says so."""
    return {"provider": cloud.name, "scopes": sorted(cloud.scopes), "note": cloud.scopes_say}


def scope_of(cloud: Cloud, method: str, path: str) -> str | None:
    """The scope that a call needs, None where the cloud has no scopes, or the call needs none."""
    if cloud.name == "digitalocean":
        return _digitalocean(method, path)
    if cloud.name == "linode":
        return _linode(method, path)
    return None


def rights_for(cloud: Cloud, method: str, path: str) -> str:
    """What to do where a call is not allowed, with the scope that it needs."""
    scope = scope_of(cloud, method, path)
    return f"it needs {scope}: {cloud.rights}" if scope else cloud.rights


_WORDS = {"droplets": "droplet", "firewalls": "firewall", "images": "image", "tags": "tag"}
_DOES = {"GET": "read", "POST": "create", "DELETE": "delete", "PUT": "update"}


def _digitalocean(method: str, path: str) -> str:
    """As the head of each call's own page says: https://docs.digitalocean.com/reference/api/reference/"""
    parts = path.strip("/").split("/")
    if parts[-1] == "actions" and method == "POST":
        return "droplet:update"
    return f"{_WORDS.get(parts[1], parts[1])}:{_DOES[method]}"


def _linode(method: str, path: str) -> str | None:
    """As https://techdocs.akamai.com/linode-api/reference/get-started#oauth-reference lists them (R)."""
    able = "read_only" if method == "GET" else "read_write"
    for part, word in (("/linode/instances", "linodes"), ("/networking/firewalls", "firewall"), ("/images", "images")):
        if part in path:
            return f"{word}:{able}"
    return "account:read_only" if path.endswith("/account") else None
