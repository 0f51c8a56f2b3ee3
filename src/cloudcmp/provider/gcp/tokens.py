"""Tokens for a trial: as narrow as Google makes them, and valid for as long as the trial may last."""

import time
from datetime import UTC
from typing import Any

from cloudcmp.errors import Refused
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.gcp.sdk import Sdk

_OBJECTS = "inRole:roles/storage.objectUser"
"""To write, read, list and delete objects."""


def bucket_token(sdk: Sdk, bucket: str, until: float) -> str:
    """A token that opens one bucket's objects and nothing else until a time (Unix s); raises what its library raises.

    https://cloud.google.com/iam/docs/downscoping-short-lived-credentials
    """
    import_modules("google.auth.downscoped")
    from google.auth import downscoped

    domain = sdk.domain()
    where = f"//storage.{domain}/projects/_/buckets/{bucket}"
    rule = downscoped.AccessBoundaryRule(where, [_OBJECTS])  # type: ignore[no-untyped-call]
    boundary = downscoped.CredentialAccessBoundary([rule])  # type: ignore[no-untyped-call]
    source = sdk.session().credentials
    narrow = downscoped.Credentials(source, boundary, universe_domain=domain)  # type: ignore[no-untyped-call]
    return _renewed(sdk, narrow, until)


def scoped_token(sdk: Sdk, scope: str, until: float) -> str:
    """A token that opens one interface of the project's until a time (Unix s); raises what its library raises.

    A user's own login cannot be narrowed: its token opens all that the user may do.
    """
    source = sdk.session().credentials
    narrow = source.with_scopes([scope]) if hasattr(source, "with_scopes") else source
    return _renewed(sdk, narrow, until)


def _renewed(sdk: Sdk, credentials: Any, until: float) -> str:
    import_modules("google.auth.transport.requests")
    from google.auth.transport.requests import Request

    credentials.refresh(Request())  # type: ignore[no-untyped-call]
    ends_at = float("inf") if credentials.expiry is None else credentials.expiry.replace(tzinfo=UTC).timestamp()
    if ends_at < until:
        what = f"a token of Google ends in {ends_at - time.time():.0f} s, before the trial may end"
        raise Refused.at(sdk.name, what, "choose shorter trials")
    return str(credentials.token)
