"""The least that an application credential must open for cloudcmp to work: access rules, from what the driver calls.

https://docs.openstack.org/keystone/latest/user/application_credentials.html#access-rules. A rule names a service, a
method and a path; what a thing bears, such as our tags, it cannot name.
"""

from cloudcmp.provider.openstack.sdk import BLOCKS, COMPUTE, IMAGE, NETWORK

LOOKS = (
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
"""What is only read."""
CHANGES = (
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
"""What is made, changed and ended: of things that are not ours as well, for a rule cannot tell them apart."""
_ROOTS = {COMPUTE: ("/v2.1",), NETWORK: ("/v2.0",), BLOCKS: ("/v3", "/v3/{project_id}"), IMAGE: ("/v2",)}


def policy() -> list[dict[str, str]]:
    """Access rules for `openstack application credential create --access-rules`; what they do not name, cloudcmp does
    not do. Installations whose endpoints have more before the version need it before each path as well.
    """
    every = [(service, "GET", path) for service, path in LOOKS] + list(CHANGES)
    return [
        {"service": service, "method": method, "path": root + path}
        for service, method, path in every
        for root in _ROOTS[service]
    ]
