"""The driver for OpenStack, in private clouds and in public ones."""

from cloudcmp.provider.openstack.cloud import OpenStackProvider
from cloudcmp.provider.openstack.policy import policy
from cloudcmp.provider.openstack.safeguards import OPENSTACK, RACKSPACE
