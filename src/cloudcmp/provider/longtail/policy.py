"""What a token must be allowed, as each cloud can say it."""

from typing import Any

from cloudcmp.provider.longtail.dialect import Cloud


def policy(cloud: Cloud) -> dict[str, Any]:
    """The least scopes that a token needs; `scopes` is empty where the cloud has no such thing, and `note` says so."""
    return {"provider": cloud.name, "scopes": sorted(cloud.scopes), "note": cloud.scopes_say}
