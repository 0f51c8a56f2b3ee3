"""OpenStack: private clouds, and the public ones that are built of it."""

from cloudcmp.provider.openstack.barriers import OPENSTACK, RACKSPACE
from cloudcmp.provider.openstack.cloud import OpenStackProvider
from cloudcmp.provider.openstack.policy import policy

__all__ = ["OPENSTACK", "RACKSPACE", "OpenStackProvider", "policy"]
