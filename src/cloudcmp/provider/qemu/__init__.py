"""Virtual machines on this host, as a provider like any other."""

from cloudcmp.provider.qemu.cloud import QemuProvider
