"""The minimal access rules of an application credential for cloudcmp, generated from the driver's calls.

https://docs.openstack.org/keystone/latest/user/application_credentials.html#access-rules. A rule names a service, a
method and a path; it cannot test tags.
"""

from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, IMAGE, NETWORK, OBJECTS

READ_CALLS = (
    (COMPUTE, "/flavors/detail"),
    (COMPUTE, "/limits"),
    (COMPUTE, "/os-server-groups"),
    (COMPUTE, "/servers/detail"),
    (COMPUTE, "/servers/{id}"),
    (NETWORK, "/extensions"),
    (NETWORK, "/floatingips"),
    (NETWORK, "/floatingips/{id}"),
    (NETWORK, "/networks"),
    (NETWORK, "/ports"),
    (NETWORK, "/quotas/{id}/details"),
    (NETWORK, "/routers"),
    (NETWORK, "/security-groups"),
    (BLOCKS, "/limits"),
    (BLOCKS, "/volumes/detail"),
    (BLOCKS, "/volumes/{id}"),
    (IMAGE, "/images"),
    (IMAGE, "/images/{id}"),
)
"""Read-only calls."""
CHANGE_CALLS = (
    (COMPUTE, "POST", "/servers"),
    (COMPUTE, "DELETE", "/servers/{id}"),
    (COMPUTE, "POST", "/servers/{id}/action"),
    (COMPUTE, "POST", "/os-server-groups"),
    (COMPUTE, "DELETE", "/os-server-groups/{id}"),
    (NETWORK, "POST", "/security-groups"),
    (NETWORK, "DELETE", "/security-groups/{id}"),
    (NETWORK, "POST", "/security-group-rules"),
    (NETWORK, "POST", "/floatingips"),
    (NETWORK, "DELETE", "/floatingips/{id}"),
    (BLOCKS, "POST", "/volumes/{id}/metadata"),
    (BLOCKS, "DELETE", "/volumes/{id}"),
)
"""Calls that create, change or delete; they also allow it for foreign resources."""
OBJECT_CALLS = (
    (OBJECTS, "GET", "/v1/*"),
    *((OBJECTS, method, path) for path in ("/v1/*/*", "/v1/*/*/**") for method in ("DELETE", "GET", "PUT")),
)
"""Calls on containers and objects, also those of trials, whose token is the credential's own."""
_ROOTS = {COMPUTE: ("/v2.1",), NETWORK: ("/v2.0",), BLOCKS: ("/v3", "/v3/{project_id}"), IMAGE: ("/v2",)}


def policy() -> list[dict[str, str]]:
    """Access rules for `openstack application credential create`; add the endpoints' path prefix, if any."""
    calls = [(service, "GET", path) for service, path in READ_CALLS] + list(CHANGE_CALLS)
    machines = [(service, method, root + path) for service, method, path in calls for root in _ROOTS[service]]
    return [
        {"service": service, "method": method, "path": path} for service, method, path in (*machines, *OBJECT_CALLS)
    ]
