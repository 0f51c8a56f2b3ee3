"""Guests without booting them: archives, disks, cards, sizes, and what is told where something is missing."""

import asyncio
import os
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.guests import missing, request
from tests.slices import long

from cloudcmp.errors import IncompleteListing, NoCapacity, ProviderFault, Refused, StorageFault
from cloudcmp.model.lease import Handle
from cloudcmp.model.offering import Volume
from cloudcmp.provider.local import Machine
from cloudcmp.provider.qemu import QemuProvider, archive, preflight
from cloudcmp.provider.qemu.image import cache_folder, cached_build, small_image, small_prefix
from cloudcmp.provider.qemu.inventory import Inventory
from cloudcmp.provider.qemu.machine import CARD, Card, last_line, mac_of, read_card
from cloudcmp.provider.qemu.media import image_format, nocloud, overlay
from cloudcmp.provider.qemu.packages import Packages
from cloudcmp.provider.qemu.processes import Identity, list_running
from cloudcmp.provider.qemu.program import accelerator, find_program, known_accelerator

needs_guests = pytest.mark.skipif(missing() is not None, reason=str(missing()))

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
MACHINE = Machine((0, 1), None, 4 * 2**30, "a processor")


def unpacked(data):
    """What is in a cpio archive (new ASCII format), by path: mode, owner, bytes."""
    found, at = {}, 0
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name = data[at + 110 : at + 110 + fields[11] - 1].decode()
        at += -(-(110 + fields[11]) // 4) * 4
        if name == "TRAILER!!!":
            return found
        assert fields[5] == 0, "a time"
        found[name] = (fields[1], fields[2], data[at : at + fields[6]])
        at += -(-fields[6] // 4) * 4


@given(st.dictionaries(PATHS, st.binary(max_size=20), max_size=6))
def test_an_archive_holds_what_was_put_in_with_its_folders_before(files):
    files = {path: data for path, data in files.items() if not any(f"{path}/" in f"{o}/" for o in files if o != path)}
    entries = [archive.file(path, data, 0o640, 7) for path, data in files.items()]
    packed = archive.pack(entries)
    assert packed == archive.pack(reversed(entries))
    assert len(packed) % 512 == 0
    found = unpacked(packed)
    assert {path: held[2] for path, held in found.items() if held[0] == 0o100640} == files
    order = list(found)
    for path in files:
        for parent in list(Path(path).parents)[:-1]:
            assert found[str(parent)][0] == 0o040755
            assert order.index(str(parent)) < order.index(path)


def test_an_archive_takes_a_path_once():
    with pytest.raises(ValueError, match="twice"):
        archive.pack([archive.file("twice", b"a"), archive.file("twice", b"b")])


IDENTITIES = st.builds(
    Identity,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.dictionaries(TEXTS, TEXTS, max_size=3).map(lambda t: tuple(sorted(t.items()))),
)


@given(IDENTITIES)
def test_an_identity_is_read_from_the_words_that_it_wrote(identity):
    assert Identity.of(["qemu", "-m", "128", *identity.arguments(), "-smp", "1"]) == identity


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_no_other_words_are_an_identity(before, text):
    assert Identity.of([*before, "-fw_cfg", f"name=opt/cloudcmp,string={text}"]) is None


@needs_guests
def test_p06_processes_that_only_look_like_guests_are_none():
    script = "import time; time.sleep(30)"
    tags = '{"id":"vm-1",,"name":"cloudcmp-a",,"token":"t",,"offering":"1cpu",,"tags":["cloudcmp:schema"]}'
    decoys = ["name=opt/cloudcmp,string={}", f"name=opt/cloudcmp,string={tags}", "name=opt/other,string={}"]
    started = [subprocess.Popen([sys.executable, "-c", script, "-fw_cfg", word]) for word in decoys]
    try:
        pids = {process.pid for process in started}
        assert not [one for one in list_running() if one.pid in pids]
        assert not pids & {one.pid for one in list_running()}
    finally:
        for process in started:
            process.kill()
            process.wait()


CARDS = Card(Identity("vm-1", "n", "t", "1cpu-128mb", (("a", "b"),)), 1.0, 2.0, "239.1.2.3:5", "10.77.0.1/24", ("-m",))


def test_a_card_is_read_as_it_was_written(tmp_path):
    CARDS.write(tmp_path)
    assert read_card(tmp_path) == CARDS
    assert read_card(tmp_path / "none") is None


@given(cut=st.integers(0, 200), flip=st.integers(0, 500))
def test_a_damaged_card_is_none_or_a_card(tmp_path_factory, cut, flip):
    folder = tmp_path_factory.mktemp("card")
    CARDS.write(folder)
    data = bytearray((folder / CARD).read_bytes())
    data[flip % len(data)] ^= 0x11
    (folder / CARD).write_bytes(data[: len(data) - cut])
    card = read_card(folder)
    assert card is None or isinstance(card, Card)


@given(st.binary(max_size=80))
def test_any_file_is_an_image_or_refused(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("image") / "disk"
    for head in (b"", b"QFI\xfb\0\0\0\3" + bytes(8)):
        file.write_bytes(head + data)
        try:
            form, size_bytes = image_format(file)
        except Refused:
            continue
        assert form in {"raw", "qcow2"}
        assert size_bytes >= 0


def test_an_overlay_is_as_large_as_asked_and_never_smaller_than_its_image(tmp_path):
    base = tmp_path / "base"
    with base.open("wb") as file:
        file.truncate(2**20)
    for asked_bytes, size_bytes in ((None, 2**20), (2**10, 2**20), (2**34, 2**34)):
        overlay(tmp_path / "over", base, asked_bytes)
        head = (tmp_path / "over").read_bytes()
        assert struct.unpack_from(">Q", head, 24) == (size_bytes,)
        at, length = struct.unpack_from(">QI", head, 8)
        assert head[at : at + length].decode() == str(base)
    with pytest.raises(Refused, match="has a backing file"):
        image_format(tmp_path / "over")


@given(st.dictionaries(st.sampled_from(["user-data", "meta-data", "network-config"]), st.text(max_size=5000)))
def test_a_seed_holds_its_files_where_its_folder_says(texts):
    disk = nocloud(texts)
    assert disk[16 * 2048 : 16 * 2048 + 8] == b"\1CD001\1\0"
    assert disk[16 * 2048 + 40 : 16 * 2048 + 46] == b"cidata"
    assert struct.unpack_from("<I", disk, 16 * 2048 + 80) == (len(disk) // 2048,)
    (folder,) = struct.unpack_from("<I", disk, 16 * 2048 + 156 + 2)
    at, found = folder * 2048, {}
    while disk[at]:
        extent, size_bytes = struct.unpack_from("<I", disk, at + 2) + struct.unpack_from("<I", disk, at + 10)
        name = disk[at + 33 : at + 33 + disk[at + 32]].decode()
        if not disk[at + 25]:
            found[name.removesuffix(".;1").lower()] = disk[extent * 2048 :][:size_bytes].decode()
        at += disk[at]
    assert found == texts


def test_one_of_many_builders_builds_and_a_failed_one_leaves_nothing(tmp_path):
    built = []

    def build(draft):
        built.append(draft)
        (draft / "half").write_text("half")
        time.sleep(0.1)
        (draft / "whole").write_text("whole")
        return "done"

    with pytest.raises(Refused):
        cached_build(tmp_path, "thing-", lambda draft: (_ for _ in ()).throw(Refused.at("a", "b")))
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    (tmp_path / ".thing-draft-of-the-dead").mkdir()
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: cached_build(tmp_path, "thing-", build), range(4)))
    assert folders == {tmp_path / "thing-done"}
    assert len(built) == 1
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["thing-done"]


def test_a_cache_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFault, match="XDG_CACHE_HOME"):
        cached_build(tmp_path / "file", "thing-", lambda draft: "done")


def test_what_to_install_is_told_in_one_line_where_neither_qemu_nor_apt_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="apt install qemu-system-x86") as caught:
        find_program(tmp_path / "cache")
    assert "\n" not in str(caught.value)
    with pytest.raises(Refused, match="apt-get is not there"):
        Packages(tmp_path / "lists").unpack(["busybox-static"], [], tmp_path / "tree")
    findings = asyncio.run(QemuProvider(tmp_path / "state", tmp_path / "cache").check(()))
    assert (findings[0].what, findings[0].ok) == ("host", False)


LISTENING = """
import sys
def heard(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        sys.__stderr__.write(f"HEARD {event} {args[1:]}\\n")
    if event == "subprocess.Popen":
        sys.__stderr__.write(f"HEARD {event} {list(args[1])}\\n")
sys.addaudithook(heard)
from cloudcmp.cli.entry import main
sys.argv = ["cloudcmp", *sys.argv[1:]]
main()
"""


@needs_guests
@pytest.mark.parametrize("image", ["small", "debian"])
def test_a_check_only_looks_it_writes_nothing_and_fetches_nothing(tmp_path, image):
    study = tmp_path / "vm.yaml"
    study.write_text(
        "schema: 1\nquestion: Which?\nprobes: [{probe: fma}]\nlaunches: 1\n"
        f"candidates: [{{provider: qemu, offering: 1cpu-128mb, image: {image}}}]\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    find_cached = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    said = subprocess.run(
        [sys.executable, "-c", LISTENING, "check", str(study)], cwd=tmp_path, env=find_cached | {"HOME": str(home)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "small is not there" in " ".join(said.stdout.split()), said.stderr
    heard = [line for line in said.stderr.splitlines() if line.startswith("HEARD")]
    assert all(line.endswith("'--version']") for line in heard), heard  # of a qemu that this system has
    assert list(home.iterdir()) == []


def test_what_is_not_there_is_told_with_its_size_and_is_no_reason_to_refuse(tmp_path, monkeypatch):
    tools = {"apt-get", "dpkg-deb"}
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}" if name in tools else None)
    for finding in (preflight.host(tmp_path), preflight.image(tmp_path, "small")):
        assert finding.ok is True
        assert "is not there: a study" in finding.text
        assert "40 MB" in finding.text
    assert len(list(preflight.to_fetch(tmp_path, ["small"]))) == 2
    (tmp_path / f"{small_prefix()}done").mkdir()
    assert preflight.image(tmp_path, "small").text == "small is there"
    assert len(list(preflight.to_fetch(tmp_path, ["small"]))) == 1
    assert {path.name for path in tmp_path.iterdir()} == {f"{small_prefix()}done"}
    assert preflight.image(tmp_path, "smalle").ok is False
    monkeypatch.setattr("cloudcmp.provider.qemu.debian.os.geteuid", lambda: 1000)
    assert "without root" in preflight.image(tmp_path, "debian").text


@needs_guests
@long  # that one of many builders builds, and what is told where nothing is, shorter ones try
def test_the_same_packages_give_the_same_image(tmp_path):
    find_cached, built = small_image(), small_image(tmp_path)
    if find_cached.packages != built.packages:
        pytest.skip("the system's package sources have moved on since the image was built")
    assert built.digest == find_cached.digest
    assert built.initrd.read_bytes() == find_cached.initrd.read_bytes()
    held = unpacked(built.initrd.read_bytes())
    assert held["etc/shadow"][0] == 0o100600
    order = held["lib/modules/order"][2].decode().split()
    assert order.index("virtio_ring") < order.index("virtio") < order.index("virtio_pci") < order.index("virtio_net")


@needs_guests
def test_what_runs_the_guests_is_found_once_and_a_device_that_is_not_there_is_no_kvm(tmp_path):
    program, image = find_program(cache_folder()), small_image()
    for cache, device in ((tmp_path, tmp_path / "kvm"), (tmp_path, Path("/dev/kvm"))):
        found = accelerator(program, image, cache, device)
        assert found.name in {"kvm", "tcg"}
        assert found.why
        assert known_accelerator(cache, device) == found
        assert accelerator(program, replace(image, folder=tmp_path), cache, device) == found


def test_types_are_those_that_the_host_can_carry(tmp_path):
    def names(machine):
        return [one.name for one in QemuProvider(tmp_path, machine=lambda: machine).offerings("local")]

    assert names(MACHINE)[0] == "1cpu-128mb"
    assert "2cpu-1024mb" in names(MACHINE)
    assert not [name for name in names(MACHINE) if name.startswith(("4", "8"))]
    assert names(replace(MACHINE, memory_bytes=300 * 2**20)) == ["1cpu-128mb"]
    assert QemuProvider(tmp_path).offerings("mars") == ()
    smallest = QemuProvider(tmp_path, machine=lambda: MACHINE).offerings()[0]
    assert (smallest.vcpus, smallest.memory_gib, smallest.price) == (1.0, 0.125, None)


@needs_guests
@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ({"offering": "1cpu-128m"}, Refused, "did you mean 1cpu-128mb"),
        ({"image": "smalle"}, Refused, "no image 'smalle'"),
        ({"image": "/nowhere/disk.qcow2"}, Refused, "/nowhere/disk.qcow2: No such file"),
        ({"volume": Volume("disk", 2**20, root=True)}, Refused, "no system disk"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_line_and_leaves_nothing(tmp_path, asked, kind, words):
    provider = QemuProvider(tmp_path, machine=lambda: MACHINE)
    with pytest.raises(kind, match=words) as caught:
        asyncio.run(provider.create(request("token-1", **asked)))
    assert "\n" not in str(caught.value)
    assert asyncio.run(provider.find("study-a", "token-1")) == ()


@needs_guests
def test_short_memory_is_no_capacity_and_leaves_nothing(tmp_path):
    provider = QemuProvider(tmp_path, free_bytes=lambda: 200 * 2**20)
    with pytest.raises(NoCapacity, match="200 MiB of this host's memory are free, 288 are needed"):
        asyncio.run(provider.create(request("token-1")))
    assert asyncio.run(provider.find("study-a", "token-1")) == ()


def test_a_folder_that_cannot_be_listed_is_no_empty_list(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(IncompleteListing):
        Inventory(tmp_path / "state").all()


def test_a_folder_whose_card_was_never_written_is_found_by_its_token_and_removed(tmp_path):
    provider, inventory = QemuProvider(tmp_path), Inventory(tmp_path.resolve())
    folder = inventory.folder(inventory.id_of("token-1"))
    folder.mkdir()
    (found,) = asyncio.run(provider.find("study-a", "token-1"))
    assert found.state == "incomplete"
    assert found.cloud_id not in {one.cloud_id for one in asyncio.run(provider.leftovers()).found}
    asyncio.run(provider.destroy(found.handle()))
    assert not folder.exists()


@pytest.mark.parametrize("cloud_id", ["", "..", "../..", "never-was", "vm-", "lock", "/etc"])
def test_an_id_that_is_none_leads_nowhere(tmp_path, cloud_id):
    provider = QemuProvider(tmp_path / "state")
    (tmp_path / "state").mkdir()
    handle = Handle("instance", "local", cloud_id)
    asyncio.run(provider.destroy(handle))
    assert asyncio.run(provider.gone(handle))
    assert asyncio.run(provider.look(handle)).state == "gone"
    with pytest.raises(ProviderFault, match="no such guest"):
        asyncio.run(provider.resize(handle, "1cpu-128mb"))
    assert tmp_path.exists()


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ("", ""),
        ("a\r\nb\x1b[31m\r\n\r\n", "b"),
        ("Kernel panic - no root\r\nRebooting in 1 s\r\n", "Kernel panic - no root"),
        ("Kernel panic - no root\r\ncloudcmp: ssh up 2\r\nlogin\r\n", "login"),
    ],
)
def test_last_words_are_the_lines_that_tell_most_without_control_characters(tmp_path, log, told):
    (tmp_path / "serial.log").write_bytes(log.encode())
    assert last_line(tmp_path) == told


def test_hardware_addresses_are_of_their_own_and_local():
    assert mac_of("10.77.3.1/24") == "52:54:0a:4d:03:01"
