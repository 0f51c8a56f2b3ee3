"""Which disk of a machine is the volume that was asked for: by what it is, never by its place."""

import asyncio

import pytest

from cloudcmp.errors import ProviderFault
from cloudcmp.model.offering import Volume
from cloudcmp.model.remote import CommandOutput
from cloudcmp.provision.disks import mounted_volume

GIB = 2**20  # in KiB, as the kernel counts
EBS, STORE = "Amazon Elastic Block Store              ", "Amazon EC2 NVMe Instance Storage        "
M5D = ({"nvme0n1": 8 * GIB, "nvme0n1p1": 8 * GIB - 4096, "nvme1n1": 20 * GIB, "nvme2n1": 73242187},
       {"nvme0n1": EBS, "nvme1n1": EBS, "nvme2n1": STORE})  # fmt: skip


class Guest:
    """A shell to a machine with these disks (KiB) and models, that formats what it is told to."""

    def __init__(self, disks, models, serials=None, mounts=""):
        self.disks, self.models, self.serials, self.mounts = disks, models, serials or {}, mounts
        self.formatted = []

    async def run(self, command, **_):
        if command[0] == "cat":
            rows = "".join(f" 259 {at} {size:10} {name}\n" for at, (name, size) in enumerate(self.disks.items()))
            return CommandOutput(0, f"major minor  #blocks  name\n\n{rows}{self.mounts}".encode(), b"")
        if "/sys/block" in command[2]:
            lines = [f"/sys/block/{name}/device/model {said}" for name, said in self.models.items()]
            lines += [f"/sys/block/{name}/serial {said}" for name, said in self.serials.items()]
            return CommandOutput(0, "\n".join([*lines, "/sys/block/*/serial "]).encode(), b"")
        self.formatted.append(command[-1])
        return CommandOutput(0, b"/mnt/cloudcmp\n", b"")


def found(volume, *guest, **more):
    machine = Guest(*guest, **more)
    assert asyncio.run(mounted_volume(machine, volume)) == "/mnt/cloudcmp"
    (disk,) = machine.formatted
    return disk


def volume(gib=20):
    return Volume("gp3", gib * 2**30)


def test_a_disk_on_the_host_of_the_machine_is_never_taken_for_the_volume():
    assert found(volume(), *M5D) == "/dev/nvme1n1"
    assert found(volume(), M5D[0] | {"nvme2n1": 20 * GIB}, M5D[1]) == "/dev/nvme1n1"


def test_of_two_volumes_the_one_of_the_size_that_was_asked_for():
    disks = M5D[0] | {"nvme3n1": 21 * GIB}
    assert found(volume(), disks, M5D[1] | {"nvme3n1": EBS}) == "/dev/nvme1n1"
    assert found(volume(21), disks, M5D[1] | {"nvme3n1": EBS}) == "/dev/nvme3n1"


def test_a_size_that_is_no_whole_gib_is_rounded_up_as_clouds_do():
    asked = Volume("gp3", 20 * 2**30 - 5)
    assert found(asked, M5D[0] | {"nvme3n1": 21 * GIB}, {}) == "/dev/nvme1n1"


def test_disks_that_say_nothing_are_told_apart_by_size():
    disks = {"xvda": 8 * GIB, "xvda1": 8 * GIB, "xvdb": 4 * GIB, "xvdf": 20 * GIB}
    assert found(volume(), disks, {}) == "/dev/xvdf"
    assert found(volume(), {**disks, "xvdb": 4 * GIB}, {}, mounts="/dev/xvdb /mnt ext3 rw 0 0\n") == "/dev/xvdf"


def test_a_guest_of_this_host_knows_its_volume_by_the_serial_number():
    serials = {"vda": "cloudcmp-state", "vdb": "cloudcmp-volume"}
    assert found(Volume("file"), {"vda": 64, "vdb": GIB}, {}, serials) == "/dev/vdb"
    seeded = {"vda": "cloudcmp-root", "vdb": "cloudcmp-seed", "vdc": "cloudcmp-volume"}
    disks = {"vda": 4 * GIB, "vda1": GIB, "vdb": 366, "vdc": GIB}
    assert found(Volume("file", 2**30), disks, {}, seeded) == "/dev/vdc"


AMBIGUOUS = [
    (
        {"xvdb": 20 * GIB, "xvdf": 20 * GIB},
        {},
        "it is unclear which disk it is: /dev/xvdb of 20 GiB, /dev/xvdf of 20 GiB",
    ),
    ({"xvdb": 4 * GIB, "xvdf": 5 * GIB}, {}, "it is unclear which disk it is"),
    (M5D[0] | {"nvme3n1": 20 * GIB}, M5D[1] | {"nvme3n1": EBS}, "it is unclear which disk it is"),
    ({"nvme0n1": 8 * GIB, "nvme0n1p1": GIB, "nvme2n1": 70 * GIB}, {"nvme2n1": STORE}, "it is unclear which disk it is"),
    ({"vda": GIB, "vda1": GIB}, {}, "shows no disk of its own for it"),
]


@pytest.mark.parametrize(("disks", "models", "says"), AMBIGUOUS)
def test_a_volume_that_cannot_be_told_is_refused_in_one_line_and_nothing_is_formatted(disks, models, says):
    machine = Guest(disks, models)
    with pytest.raises(ProviderFault, match=says) as fault:
        asyncio.run(mounted_volume(machine, volume()))
    assert machine.formatted == []
    assert "\n" not in str(fault.value)
