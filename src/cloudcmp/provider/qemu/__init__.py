"""The driver for virtual machines on this host."""

from cloudcmp.provider.qemu.cloud import QemuProvider
