"""What is destroyed on this machine is proved to be the lease's, and nothing else is touched."""

import asyncio
import errno
import gc
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cloudcmp import owned_folder
from cloudcmp.errors import IncompleteListing, NotOurs, ProviderFault, Refused
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalInstance, LocalProvider, Machine
from cloudcmp.provider.local.card import boot_id
from cloudcmp.provider.local.processes import VARIABLE

FOUR = Machine((0, 2, 4, 6), None, 2**33, None)


@pytest.fixture
def token():
    return f"token-{uuid.uuid4()}"


@pytest.fixture
def local(tmp_path):
    """The provider of study-a, whose folder is tmp_path/study."""
    (tmp_path / "study").mkdir()
    launches = OwnedPath(tmp_path / "study", ("work", "launches"))
    return LocalProvider(launches, Path("agent"), "study-a", machine=lambda: FOUR)


@pytest.fixture
def launches(tmp_path):
    return tmp_path / "study" / "work" / "launches"


@contextmanager
def bystander(cwd, environ=None):
    """A process without a terminal, that lives until here."""
    with subprocess.Popen(["sleep", "60"], cwd=cwd, env=environ or {}, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def decoy(tmp_path, name):
    """A folder of the user's own, with a file in it."""
    folder = tmp_path / "home" / name
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("dear")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def card_of(token, study="study-a", **more):
    tags = {"cloudcmp:study": study, "cloudcmp:slot": "launch-0", "cloudcmp:attempt": "1"}
    card = {"name": "x", "token": token, "tags": tags, "offering": "1cpu", "boot_id": boot_id(), "made_s": 0.0}
    return json.dumps(card | more)


def moved_away(tmp_path, launches, link, token):
    """A real launch's folder behind a link: in the home there is all that a card has to say."""
    place = launches if link == "launches" else launches.parent if link == "work" else launches / token
    place.parent.mkdir(parents=True, exist_ok=True)
    target = tmp_path / "home" / place.name
    folder = target / {"launches": token, "work": f"launches/{token}", "token": ""}[link]
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("dear")
    (folder / "lease.json").write_text(card_of(token))
    place.symlink_to(target)
    return folder, place


@pytest.mark.parametrize("link", ["work", "launches", "token"])
def test_no_link_below_the_study_is_followed(tmp_path, plans, local, launches, token, link):
    folder, place = moved_away(tmp_path, launches, link, token)
    with bystander(folder) as process:
        handle = plans.handle(token)
        with pytest.raises(NotOurs, match="it is a link") as raised:
            asyncio.run(local.destroy(handle))
        assert raised.value.faults[0].where == str(place)
        for act in (local.create(plans.request(token)), connect(local, plans, token)):
            with pytest.raises(Refused, match="it is a link"):
                asyncio.run(act)
        if link == "token":
            assert asyncio.run(local.find("study-a", token)) == ()
            assert asyncio.run(local.gone(handle)) is None
        else:
            with pytest.raises(IncompleteListing, match="it is a link"):
                asyncio.run(local.find("study-a", token))
            with pytest.raises(NotOurs):
                asyncio.run(local.gone(handle))
        assert process.poll() is None
    assert names(folder) == ["lease.json", "letter.txt"]


def connect(local, plans, token):
    request = plans.request(token)
    return local.connect(plans.lease(request, token, "local"), plans.candidate(), plans.launch())


def test_links_may_lead_to_the_study_itself(tmp_path, plans, token):
    (tmp_path / "disk" / "study").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    launches = OwnedPath(tmp_path / "home" / "study", ("work", "launches"))
    local = LocalProvider(launches, Path("agent"), "study-a", machine=lambda: FOUR)
    asyncio.run(local.create(plans.request(token)))
    instance = asyncio.run(connect(local, plans, token))
    assert Path(instance.folder) == tmp_path.resolve() / "disk" / "study" / "work" / "launches" / token
    asyncio.run(local.destroy(plans.handle(token)))
    assert asyncio.run(local.gone(plans.handle(token)))


def pipe(folder, token):
    os.mkfifo(folder / "lease.json")


def linked_card(folder, token):
    elsewhere = folder.parents[3] / "elsewhere.json"
    elsewhere.write_text(card_of(token))
    (folder / "lease.json").symlink_to(elsewhere)


def card(content):
    return lambda folder, token: (folder / "lease.json").write_text(content(token))


FOREIGN = {
    "no card": lambda folder, token: None,
    "a pipe": pipe,
    "a link to a good card": linked_card,
    "a folder": lambda folder, token: (folder / "lease.json").mkdir(),
    "another study": card(lambda token: card_of(token, "study-b")),
    "no study": card(lambda token: card_of(token, tags={})),
    "another lease": card(lambda token: card_of("token-of-another")),
    "a huge card": card(lambda token: card_of(token) + " " * 2**20),
    "a nested card": card(lambda token: "[" * 60000),
    "a nested tag": card(lambda token: card_of(token, tags={"cloudcmp:study": ["study-a"]})),
    "no text": card(lambda token: '{"name":"\\ud800\\u001b[31m","token":"x","tags":{},"offering":""}'),
    "an endless time": card(lambda token: card_of(token, made_s=float("inf"))),
    "no object": card(lambda token: "7"),
    "torn": card(lambda token: "{"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_folder_without_the_card_of_this_lease_is_kept(plans, local, launches, token, kind):
    if kind == "a nested card":
        gc.collect()  # what other tests left would be finalised at the end of the stack, which fails
    folder = launches / token
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("dear")
    FOREIGN[kind](folder, token)
    before = names(folder)
    with bystander(folder, {VARIABLE: token}) as process:
        with pytest.raises(NotOurs, match="it is kept") as raised:
            asyncio.run(local.destroy(plans.handle(token)))
        with pytest.raises(NotOurs):
            asyncio.run(connect(local, plans, token))
        with pytest.raises(NotOurs):
            asyncio.run(local.create(plans.request(token)))
        assert process.poll() is None
    assert str(folder) in raised.value.faults[0].line()
    assert "\n" not in raised.value.faults[0].line()
    assert names(folder) == before
    for found in asyncio.run(local.find("study-a", token)):
        assert found.cloud_id == token
        assert found.name.isprintable()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "\0"])
def test_no_name_leads_out(plans, local, name):
    for act in (local.destroy(plans.handle(name)), local.gone(plans.handle(name)), connect(local, plans, name or "..")):
        with pytest.raises(Refused):
            asyncio.run(act)


def test_without_a_study_nothing_is_destroyed(plans, local, launches, token):
    asyncio.run(local.create(plans.request(token)))
    nobody = LocalProvider(OwnedPath(launches))
    with pytest.raises(NotOurs):
        asyncio.run(nobody.destroy(plans.handle(token)))
    assert (launches / token).is_dir()


@pytest.mark.parametrize("draft", [None, '{"name": "clo'])
def test_a_folder_whose_card_was_never_finished_goes(plans, local, launches, token, draft):
    (launches / token).mkdir(parents=True)
    if draft:
        (launches / token / "lease.json.new").write_text(draft)
    asyncio.run(local.destroy(plans.handle(token)))
    assert names(launches) == []


def test_it_can_be_made_where_its_card_was_never_finished(plans, local, launches, token):
    (launches / token).mkdir(parents=True)
    victim = launches.parents[2] / "victim"
    victim.write_text("dear")
    (launches / token / "lease.json.new").symlink_to(victim)
    asyncio.run(local.create(plans.request(token)))
    assert victim.read_text() == "dear"
    assert json.loads((launches / token / "lease.json").read_text())["token"] == token
    asyncio.run(local.create(plans.request(token)))
    assert names(launches / token) == ["lease.json"]
    other = replace(plans.request(token), tags=(("cloudcmp:study", "study-b"),))
    with pytest.raises(NotOurs):
        asyncio.run(local.create(other))


def test_a_process_older_than_the_lease_is_left_alone(tmp_path, plans, local, launches, token):
    with bystander(tmp_path, {VARIABLE: token}) as older:
        time.sleep(0.05)  # starts are counted in hundredths of a second
        asyncio.run(local.create(plans.request(token)))
        with bystander(tmp_path, {VARIABLE: token}) as marked, bystander(launches / token) as inside:
            deep = launches / token / "deep" / "er"
            deep.mkdir(parents=True)
            with bystander(deep) as below, bystander(tmp_path) as outside:
                asyncio.run(local.destroy(plans.handle(token)))
                assert [marked.wait(5), inside.wait(5), below.wait(5)] == [-9, -9, -9]
                assert outside.poll() is None
        assert older.poll() is None
    assert names(launches) == []


def test_one_that_worked_in_the_folder_before_it_was_a_launchs_is_left_alone(plans, local, launches, token):
    (launches / token).mkdir(parents=True)
    with bystander(launches / token) as older:
        time.sleep(0.05)
        asyncio.run(local.create(plans.request(token)))
        asyncio.run(local.destroy(plans.handle(token)))
        assert older.poll() is None


@pytest.mark.parametrize("boot", ["", "0e6e1b9c-0000-0000-0000-000000000000"])
def test_of_another_boot_no_process_is_ended(plans, local, launches, token, boot):
    (launches / token).mkdir(parents=True)
    (launches / token / "lease.json").write_text(card_of(token, boot_id=boot))
    with bystander(launches / token, {VARIABLE: token}) as process:
        asyncio.run(local.destroy(plans.handle(token)))
        assert process.poll() is None
    assert names(launches) == []


def test_neither_this_process_nor_those_above_it_are_ended(tmp_path, plans, local, launches, token):
    asyncio.run(local.create(plans.request(token)))
    code = f"""
import asyncio, sys
from pathlib import Path
from cloudcmp.model.lease import Handle
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider
local = LocalProvider(OwnedPath(Path({str(launches)!r})), None, "study-a")
asyncio.run(local.destroy(Handle("instance", "local", {token!r})))
"""
    line = ["sh", "-c", '"$0" -c "$1"; echo "ended $?"', sys.executable, code]
    done = subprocess.run(
        line, cwd=launches / token, env={VARIABLE: token}, start_new_session=True, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False, timeout=30,
    )  # fmt: skip
    assert done.stdout == "ended 0\n", done.stderr
    assert names(launches) == []


@pytest.mark.parametrize("what", ["a folder in it", "the folder itself"])
def test_a_link_that_comes_during_the_removal_is_not_followed(
    tmp_path, plans, local, launches, token, what, monkeypatch
):
    victim = decoy(tmp_path, "Documents")
    asyncio.run(local.create(plans.request(token)))
    (launches / token / "deep").mkdir()
    swapped = launches / token / "deep" if what == "a folder in it" else launches / token
    remove = shutil.rmtree

    def late(name, *, dir_fd):
        """What was looked at is moved away, and a link put in its place."""
        swapped.rename(tmp_path / "aside")
        swapped.symlink_to(victim)
        return remove(name, dir_fd=dir_fd)

    monkeypatch.setattr(owned_folder.shutil, "rmtree", late)
    with pytest.raises(ProviderFault, match=r"symbolic link|something else has its name"):
        asyncio.run(local.destroy(plans.handle(token)))
    monkeypatch.undo()
    assert (victim / "letter.txt").read_text() == "dear"
    if what == "a folder in it":  # the next try ends it
        asyncio.run(local.destroy(plans.handle(token)))
        assert names(launches) == []
    assert (victim / "letter.txt").read_text() == "dear"


def test_what_is_half_removed_still_says_whose_it_is(plans, local, launches, token, monkeypatch):
    asyncio.run(local.create(plans.request(token)))
    (launches / token / "deep").mkdir()
    (launches / token / "data").write_text("x")

    def refuse(name, *, dir_fd):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(owned_folder.shutil, "rmtree", refuse)
    with pytest.raises(ProviderFault, match="Permission denied; remove it by hand"):
        asyncio.run(local.destroy(plans.handle(token)))
    assert "lease.json" in names(launches / token)
    monkeypatch.undo()
    asyncio.run(local.destroy(plans.handle(token)))
    assert names(launches) == []


def test_folders_that_are_nested_too_deep_are_told(plans, local, launches, token):
    asyncio.run(local.create(plans.request(token)))
    dig = f"import os\nfor _ in range({sys.getrecursionlimit() + 100}): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-ISc", dig], cwd=launches / token, check=True)
    try:
        with pytest.raises(ProviderFault, match="nested too deep; remove it by hand"):
            asyncio.run(local.destroy(plans.handle(token)))
        assert "lease.json" in names(launches / token)
    finally:
        subprocess.run(["rm", "-rf", launches / token], check=True)


def test_links_and_pipes_in_a_launch_go_and_lead_nowhere(tmp_path, plans, local, launches, token):
    victim = decoy(tmp_path, "Documents")
    asyncio.run(local.create(plans.request(token)))
    folder = launches / token
    (folder / "a").symlink_to(victim)
    (folder / "b").symlink_to(victim / "letter.txt")
    (folder / "c").mkdir()
    (folder / "c" / "d").symlink_to(victim)
    os.mkfifo(folder / "c" / "pipe")
    asyncio.run(local.destroy(plans.handle(token)))
    assert names(launches) == []
    assert (victim / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("name", ["../out", "/etc/out", "files/../../out", "files//out", "..", "files/.."])
def test_files_are_not_brought_out_of_the_folder(tmp_path, plans, local, token, name):
    asyncio.run(local.create(plans.request(token)))
    instance = asyncio.run(connect(local, plans, token))
    (tmp_path / "tool").write_text("data")
    with pytest.raises(NotOurs):
        asyncio.run(instance.upload({name: tmp_path / "tool"}))
    assert not list(tmp_path.rglob("out"))


@pytest.mark.parametrize("link", ["files", "files/tool"])
def test_files_are_not_brought_through_a_link(tmp_path, plans, local, token, link):
    victim = decoy(tmp_path, "Documents")
    asyncio.run(local.create(plans.request(token)))
    instance = asyncio.run(connect(local, plans, token))
    assert isinstance(instance, LocalInstance)
    place = Path(instance.folder) / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(victim if link == "files" else victim / "letter.txt")
    (tmp_path / "tool").write_text("data")
    if link == "files":
        with pytest.raises(NotOurs, match="it is a link"):
            asyncio.run(instance.upload({"files/tool": tmp_path / "tool"}))
    else:
        asyncio.run(instance.upload({"files/tool": tmp_path / "tool"}))
        assert place.read_text() == "data"
        assert not place.is_symlink()
        assert place.stat().st_mode & 0o777 == 0o700
    assert names(victim) == ["letter.txt"]
    assert (victim / "letter.txt").read_text() == "dear"
