"""The minimal custom role for cloudcmp, generated from the driver's calls.

Permissions: https://cloud.google.com/compute/docs/reference/rest/v1 (at each method) and
https://cloud.google.com/compute/docs/access/iam-permissions
"""

from typing import Any

NEEDS: dict[str, tuple[str, ...]] = {
    "disks.aggregatedList": ("compute.disks.list",),
    "disks.delete": ("compute.disks.delete",),
    "disks.get": ("compute.disks.get",),
    "firewalls.delete": ("compute.firewalls.delete", "compute.networks.updatePolicy"),
    "firewalls.get": ("compute.firewalls.get",),
    "firewalls.insert": ("compute.firewalls.create", "compute.networks.updatePolicy"),
    "firewalls.list": ("compute.firewalls.list",),
    "globalOperations.get": ("compute.globalOperations.get",),
    "globalOperations.list": ("compute.globalOperations.list",),
    "images.get": ("compute.images.get",),
    "images.getFromFamily": ("compute.images.getFromFamily",),
    "instances.aggregatedList": ("compute.instances.list",),
    "instances.delete": ("compute.instances.delete",),
    "instances.get": ("compute.instances.get",),
    "instances.insert": (
        "compute.disks.create",
        "compute.disks.setLabels",
        "compute.images.useReadOnly",
        "compute.instances.create",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setTags",
        "compute.subnetworks.use",
        "compute.subnetworks.useExternalIp",
    ),
    "instances.setMachineType": ("compute.instances.setMachineType",),
    "instances.start": ("compute.instances.start",),
    "instances.stop": ("compute.instances.stop",),
    "machineTypes.get": ("compute.machineTypes.get",),
    "machineTypes.list": ("compute.machineTypes.list",),
    "networks.get": ("compute.networks.get",),
    "projects.get": ("compute.projects.get",),
    "regions.list": ("compute.regions.list",),
    "zoneOperations.get": ("compute.zoneOperations.get",),
    "zoneOperations.list": ("compute.zoneOperations.list",),
}
"""The permissions of each call of the driver; listing one's own permissions needs none."""
STORAGE_PERMISSIONS = (
    "storage.buckets.create",
    "storage.buckets.delete",
    "storage.buckets.get",
    "storage.buckets.list",
    "storage.objects.create",
    "storage.objects.delete",
    "storage.objects.get",
    "storage.objects.list",
)
"""The permissions for buckets, and for what a trial's token may do: it never opens more than its account may.

https://cloud.google.com/storage/docs/access-control/iam-json
"""
FIRESTORE_PERMISSIONS = (
    "datastore.databases.getMetadata",
    "datastore.entities.create",
    "datastore.entities.delete",
    "datastore.entities.get",
    "datastore.entities.list",
    "datastore.entities.update",
)
"""The permissions for documents, and for what a trial's token may do. No condition limits them to a collection.

https://cloud.google.com/firestore/docs/security/iam
"""
PUBSUB_PERMISSIONS = (
    "pubsub.subscriptions.consume",
    "pubsub.subscriptions.create",
    "pubsub.subscriptions.delete",
    "pubsub.subscriptions.get",
    "pubsub.subscriptions.list",
    "pubsub.topics.attachSubscription",
    "pubsub.topics.create",
    "pubsub.topics.delete",
    "pubsub.topics.get",
    "pubsub.topics.list",
    "pubsub.topics.publish",
)
"""The permissions for topics and subscriptions, and for what a trial's token may do.

https://cloud.google.com/pubsub/docs/access-control
"""
BIGTABLE_PERMISSIONS = (
    "bigtable.clusters.create",
    "bigtable.instances.create",
    "bigtable.instances.delete",
    "bigtable.instances.get",
    "bigtable.instances.list",
    "bigtable.tables.create",
    "bigtable.tables.mutateRows",
    "bigtable.tables.readRows",
)
"""The permissions for instances and their tables, and for what a trial's token may do.

https://cloud.google.com/bigtable/docs/access-control
"""
_PATHS = {
    "bigtableadmin.googleapis.com/Cluster": "/instances/",
    "bigtableadmin.googleapis.com/Instance": "/instances/",
    "bigtableadmin.googleapis.com/Table": "/instances/",
    "compute.googleapis.com/Instance": "/instances/",
    "compute.googleapis.com/Disk": "/disks/",
    "compute.googleapis.com/Firewall": "/firewalls/",
    "pubsub.googleapis.com/Subscription": "/subscriptions/",
    "pubsub.googleapis.com/Topic": "/topics/",
    "storage.googleapis.com/Bucket": "/buckets/",
    "storage.googleapis.com/Object": "/buckets/",
}
PREFIX = "cloudcmp-"
"""The prefix of all names in a study; no other resource should have it."""


def permissions() -> tuple[str, ...]:
    """Every permission that some call for machines needs, sorted."""
    return tuple(sorted({one for needed in NEEDS.values() for one in needed}))


def policy() -> dict[str, Any]:
    """A custom role, and a grant condition that limits it to cloudcmp's own names.

    IAM conditions can test names, not labels: https://cloud.google.com/iam/docs/conditions-resource-attributes. Images
    of other projects, such as Ubuntu's, are public and need no grant.
    """
    return {
        "role": {
            "title": "cloudcmp",
            "description": "What cloudcmp calls, and nothing else",
            "stage": "GA",
            "includedPermissions": [
                *BIGTABLE_PERMISSIONS,
                *permissions(),
                *FIRESTORE_PERMISSIONS,
                *PUBSUB_PERMISSIONS,
                *STORAGE_PERMISSIONS,
            ],
        },
        "condition": {
            "title": "names that begin with cloudcmp-",
            "description": "machines, disks, firewalls, buckets, topics and Bigtables of other names cannot be touched",
            "expression": " && ".join(
                f'(resource.type != "{kind}" || resource.name.extract("{part}{{name}}").startsWith("{PREFIX}"))'
                for kind, part in _PATHS.items()
            ),
        },
    }
