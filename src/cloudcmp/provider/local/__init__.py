"""The driver for this machine."""

from cloudcmp.provider.local.cloud import LocalInstance, LocalProvider
from cloudcmp.provider.local.machine import Machine, read_machine
