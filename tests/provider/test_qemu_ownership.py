"""Whose a guest's folder is: one of another study, or of nobody, is kept."""

import asyncio
import os

import pytest

from cloudcmp.errors import NotOurs
from cloudcmp.model.lease import Handle
from cloudcmp.provider.qemu import QemuProvider
from cloudcmp.provider.qemu.inventory import Inventory
from cloudcmp.provider.qemu.machine import Card
from cloudcmp.provider.qemu.processes import Identity


def of_study(state, study):
    """The folder and the handle of a guest that has ended, of a study."""
    inventory = Inventory(state.resolve())
    folder = inventory.folder(inventory.id_of("token-1"))
    folder.mkdir(parents=True)
    identity = Identity(folder.name, "n", "token-1", "1cpu-128mb", (("cloudcmp:study", study),))
    Card(identity, 1.0, 2.0, "239.1.2.3:5", "10.77.0.1/24", ("-m",)).write(folder)
    (folder / "root.qcow2").write_text("data")
    return folder, Handle("instance", "local", folder.name)


def test_a_guest_of_another_study_is_kept(tmp_path):
    folder, handle = of_study(tmp_path, "study-b")
    with pytest.raises(NotOurs, match="another study: it is kept"):
        asyncio.run(QemuProvider(tmp_path, study="study-a").destroy(handle))
    assert (folder / "root.qcow2").exists()
    asyncio.run(QemuProvider(tmp_path, study="study-b").destroy(handle))
    assert not folder.exists()


@pytest.mark.parametrize("card", ["none", "of another guest", "a pipe", "a link", "nested"])
def test_a_folder_that_is_no_guests_is_kept(tmp_path, card):
    folder, handle = of_study(tmp_path, "study-a")
    text = (folder / "card.json").read_text()
    (folder / "card.json").unlink()
    if card == "of another guest":
        (folder / "card.json").write_text(text.replace(folder.name, "vm-0000000000000000"))
    elif card == "a pipe":
        os.mkfifo(folder / "card.json")
    elif card == "a link":
        (tmp_path / "elsewhere").write_text(text)
        (folder / "card.json").symlink_to(tmp_path / "elsewhere")
    elif card == "nested":
        (folder / "card.json").write_text("[" * 60000)
    with pytest.raises(NotOurs, match="it is kept"):
        asyncio.run(QemuProvider(tmp_path, study="study-a").destroy(handle))
    assert (folder / "root.qcow2").exists()


def test_a_link_to_a_folder_is_no_guest(tmp_path):
    (tmp_path / "home").mkdir()
    folder, handle = of_study(tmp_path / "state", "study-a")
    folder.rename(tmp_path / "home" / folder.name)
    folder.symlink_to(tmp_path / "home" / folder.name)
    provider = QemuProvider(tmp_path / "state", study="study-a")
    asyncio.run(provider.destroy(handle))
    assert (tmp_path / "home" / folder.name / "root.qcow2").exists()
