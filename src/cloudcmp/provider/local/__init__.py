"""This machine, as a provider like any other."""

from cloudcmp.provider.local.cloud import LocalInstance, LocalProvider
from cloudcmp.provider.local.machine import Machine, read_machine
