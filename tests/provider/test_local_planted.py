"""A folder that exists before its launch is made: it is used only if it holds nothing but its card."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from cloudcmp.errors import NotOurs
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider
from cloudcmp.provider.local.card import boot_id


@pytest.fixture
def local(tmp_path):
    return LocalProvider(OwnedPath(tmp_path, ("work", "launches")), Path("agent"), "study-a")


@pytest.fixture
def folder(tmp_path, token):
    """The launch's folder, with the card that its create call would write."""
    folder = tmp_path / "work" / "launches" / token
    folder.mkdir(parents=True, mode=0o777)
    tags = {"cloudcmp:study": "study-a", "cloudcmp:slot": "launch-0", "cloudcmp:attempt": "1"}
    card = {"name": "x", "token": token, "tags": tags, "offering": "1cpu", "boot_id": boot_id(), "made_s": 0.0}
    (folder / "lease.json").write_text(json.dumps(card))
    return folder


@pytest.fixture
def token():
    return "token-1"


@pytest.mark.parametrize("name", ["GNUmakefile", "files/.set-up-tool", ".hidden", "link"])
def test_a_folder_with_a_good_card_and_a_strangers_files_is_refused(plans, local, folder, token, name):
    place = folder / name
    place.parent.mkdir(exist_ok=True)
    place.symlink_to("/etc") if name == "link" else place.write_text("all:\n\ttouch /tmp/planted\n")
    with pytest.raises(NotOurs, match="nothing is launched in it") as raised:
        asyncio.run(local.create(plans.request(token)))
    assert raised.value.faults[0].where == str(folder)
    assert "\n" not in raised.value.faults[0].line()
    assert os.path.lexists(place)


def test_a_card_that_was_there_is_written_anew(plans, local, folder, token):
    """A time of 0 would make every process of the machine younger than the launch."""
    folder.chmod(0o777)
    (folder / "lease.json.new").write_text("{")
    asyncio.run(local.create(plans.request(token)))
    assert [path.name for path in folder.iterdir()] == ["lease.json"]
    assert json.loads((folder / "lease.json").read_text())["made_s"] > 0
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_refused(plans, local, folder, token):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(folder, 65534, 65534)
    with pytest.raises(NotOurs, match="another user"):
        asyncio.run(local.create(plans.request(token)))
