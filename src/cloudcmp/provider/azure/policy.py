"""The minimal role for cloudcmp, generated from the driver's calls.

Azure's roles have no tag conditions for such calls: a user with this role may delete any machine and any resource group
in the scope of its assignment. Assign it in a subscription that holds nothing else. Operations:
https://learn.microsoft.com/azure/role-based-access-control/resource-provider-operations Roles:
https://learn.microsoft.com/azure/role-based-access-control/custom-roles
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

READ_ACTIONS = (
    "Microsoft.Authorization/permissions/read",
    "Microsoft.Compute/availabilitySets/read",
    "Microsoft.Compute/disks/read",
    "Microsoft.Compute/locations/operations/read",
    "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read",
    "Microsoft.Compute/locations/usages/read",
    "Microsoft.Compute/proximityPlacementGroups/read",
    "Microsoft.Compute/skus/read",
    "Microsoft.Compute/virtualMachines/read",
    "Microsoft.Network/networkInterfaces/read",
    "Microsoft.Network/networkSecurityGroups/read",
    "Microsoft.Network/publicIPAddresses/read",
    "Microsoft.Network/virtualNetworks/read",
    "Microsoft.Resources/subscriptions/locations/read",
    "Microsoft.Resources/subscriptions/read",
    "Microsoft.Resources/subscriptions/resourceGroups/read",
    "Microsoft.Resources/subscriptions/resourceGroups/resources/read",
)
CHANGE_ACTIONS = (
    "Microsoft.Compute/availabilitySets/write",
    "Microsoft.Compute/disks/delete",
    "Microsoft.Compute/proximityPlacementGroups/write",
    "Microsoft.Compute/virtualMachines/deallocate/action",
    "Microsoft.Compute/virtualMachines/delete",
    "Microsoft.Compute/virtualMachines/start/action",
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.Network/networkSecurityGroups/write",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Resources/subscriptions/resourceGroups/delete",
    "Microsoft.Resources/subscriptions/resourceGroups/write",
)
IMPLICIT_ACTIONS = (
    "Microsoft.Compute/disks/write",
    "Microsoft.Compute/images/read",
    "Microsoft.Network/networkInterfaces/delete",
    "Microsoft.Network/networkInterfaces/join/action",
    "Microsoft.Network/networkInterfaces/write",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/publicIPAddresses/delete",
    "Microsoft.Network/publicIPAddresses/join/action",
    "Microsoft.Network/publicIPAddresses/write",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/virtualNetworks/subnets/read",
    "Microsoft.Network/virtualNetworks/subnets/write",
)
"""Operations that a call on a machine or a network performs implicitly."""

_STORAGE = "Microsoft.Storage/storageAccounts/"
STORAGE_ACTIONS = tuple(
    f"{_STORAGE}{one}"
    for one in (
        "blobServices/containers/delete",
        "blobServices/containers/read",
        "blobServices/containers/write",
        "blobServices/generateUserDelegationKey/action",
        "queueServices/generateUserDelegationKey/action",
        "queueServices/queues/delete",
        "queueServices/queues/read",
        "queueServices/queues/write",
        "tableServices/tables/delete",
        "tableServices/tables/read",
        "tableServices/tables/write",
    )
)
"""Operations on the data sets of a storage account, for a login; an account key needs no role."""
STORAGE_DATA_ACTIONS = tuple(
    f"{_STORAGE}{one}"
    for one in (
        "blobServices/containers/blobs/delete",
        "blobServices/containers/blobs/read",
        "blobServices/containers/blobs/write",
        "queueServices/queues/messages/add/action",
        "queueServices/queues/messages/delete",
        "queueServices/queues/messages/process/action",
    )
)
"""What a trial's signature may allow, never more than the login that it was made with; and to empty a queue."""


def actions() -> tuple[str, ...]:
    """Every action that machines need, sorted."""
    return tuple(sorted({*READ_ACTIONS, *CHANGE_ACTIONS, *IMPLICIT_ACTIONS}))


def policy() -> dict[str, Any]:
    """A role definition for `azure`; cloudcmp calls nothing else. Put the subscription's id into `AssignableScopes`."""
    return {
        "Name": "cloudcmp",
        "IsCustom": True,
        "Description": "The least that cloudcmp needs. It may end what others made: give it a subscription of its own.",
        "Actions": sorted({*actions(), *STORAGE_ACTIONS}),
        "NotActions": [],
        "DataActions": list(STORAGE_DATA_ACTIONS),
        "NotDataActions": [],
        "AssignableScopes": ["/subscriptions/00000000-0000-0000-0000-000000000000"],
    }


def allows(permissions: Iterable[Mapping[str, Any]], action: str) -> bool:
    """True if permissions, each with `actions` and `notActions`, allow an action."""
    return any(
        _matches(one.get("actions") or (), action) and not _matches(one.get("notActions") or (), action)
        for one in permissions
    )


def _matches(patterns: Iterable[str], action: str) -> bool:
    return any(fnmatchcase(action.lower(), str(pattern).lower()) for pattern in patterns)
