"""OpenStack: private clouds, and the public ones that are built of it."""

from cloudcmp.provider.openstack.cloud import OpenStackProvider
from cloudcmp.provider.openstack.policy import policy
from cloudcmp.provider.openstack.safeguards import OPENSTACK, RACKSPACE
