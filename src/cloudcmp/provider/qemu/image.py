"""The small guest image: a Debian cloud kernel with busybox, dropbear and our own scripts, all in memory.

It is built from the system's packages on first use, and cached under a name derived from its recipe and its content. It
boots in 128 MB with one processor. It is no complete Debian system: see `debian` for that.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from cloudcmp.errors import Refused, StorageFault
from cloudcmp.provider.qemu import archive
from cloudcmp.provider.qemu.archive import Entry
from cloudcmp.provider.qemu.packages import Package, Packages, libraries

_PACKAGES = ("linux-image-cloud-amd64", "busybox-static", "dropbear-bin", "e2fsprogs")
_DEPENDENCIES = ("lib", "zlib", "linux-image-")
_MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "virtio-rng")
_PROGRAMS = ("dropbear", "dropbearkey", "dropbearconvert", "mke2fs")
_SCRIPTS = {"init": "init.sh", "usr/local/sbin/cloudcmp-host": "host.sh", "usr/bin/sudo": "sudo.sh"}
_TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\ncloudcmp:x:1000:1000::/home/cloudcmp:/bin/sh\n",
    "etc/group": "root:x:0:\ncloudcmp:x:1000:\n",
    "etc/shadow": "root:*:1::::::\ncloudcmp:*:1::::::\n",
    "etc/shells": "/bin/sh\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
_FOLDERS = ("proc", "sys", "run", "root", "mnt")


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its kernel, its initial archive, and its packages. `digest` covers both files."""

    folder: Path
    digest: str
    kernel_version: str
    packages: tuple[Package, ...]

    @property
    def kernel(self) -> Path:
        """The kernel's file."""
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """The archive with the root file system."""
        return self.folder / "initrd"


def cache_folder() -> Path:
    """The folder of images and fetched programs: cloudcmp/qemu in $XDG_CACHE_HOME or ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "cloudcmp" / "qemu"


def small_image(cache: Path | None = None) -> Image:
    """The small image, built once from about 40 MB of packages; raises Refused or StorageFault."""
    cache = cache or cache_folder()
    return _read(cached_build(cache, small_prefix(), lambda draft: _build(draft, cache)))


def small_prefix() -> str:
    """The name prefix of a cached small image of the current recipe."""
    return f"small-{recipe('image.py', 'archive.py', 'packages.py', *sorted(_SCRIPTS.values()))}-"


def cached_build(cache: Path, prefix: str, build: Callable[[Path], str]) -> Path:
    """The cached folder with this prefix; if missing, one process builds it in a draft, and others wait."""
    try:
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        if found := find_cached(cache, prefix):
            return found
        with _lock(cache / f"{prefix}lock"):
            if found := find_cached(cache, prefix):
                return found
            for stale in cache.glob(f".{prefix}draft-*"):
                _remove_draft(stale)
            draft = Path(tempfile.mkdtemp(prefix=f".{prefix}draft-", dir=cache))
            try:
                place = cache / f"{prefix}{build(draft)}"
                _sync(draft)
                draft.rename(place)
            finally:
                _remove_draft(draft)
            return place
    except OSError as error:
        raise StorageFault.at(
            str(cache), error.strerror or str(error), "set XDG_CACHE_HOME to another folder"
        ) from error


def _remove_draft(draft: Path) -> None:
    """Removes a draft, except with a mount in it, whose content would be removed too."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    if not any(Path(line.split()[4]).is_relative_to(draft) for line in mounts):
        shutil.rmtree(draft, ignore_errors=True)


def find_cached(cache: Path, prefix: str) -> Path | None:
    """The newest finished folder with a prefix, None if there is none; builds nothing."""
    folders = [folder for folder in cache.glob(f"{prefix}*") if folder.is_dir()]
    return max(folders, key=lambda folder: (folder.stat().st_mtime, folder.name), default=None)


@contextmanager
def _lock(lock: Path) -> Iterator[None]:
    """Admits one process at a time; the lock ends with its holder."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sync(folder: Path) -> None:
    """Flushes a folder's files to disk, so that no finished name has unfinished files."""
    for path in [*(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def recipe(*names: str) -> str:
    """A digest of the source texts that define an image: a changed recipe is another image."""
    return hashlib.sha256("\0".join(script(name) for name in names).encode()).hexdigest()[:12]


def script(name: str) -> str:
    """The text of a file in this package."""
    return files("cloudcmp.provider.qemu").joinpath(name).read_text(encoding="utf-8")


def _build(draft: Path, cache: Path) -> str:
    """Fills a folder with the image; returns the name of its content."""
    tree = draft / "tree"
    tree.mkdir()
    packages = Packages(cache / "apt").unpack(_PACKAGES, _DEPENDENCIES, tree)
    (kernel,) = sorted(tree.glob("boot/vmlinuz-*"))[-1:]
    shutil.copyfile(kernel, draft / "vmlinuz")
    version = kernel.name.removeprefix("vmlinuz-")
    (draft / "initrd").write_bytes(archive.pack(_entries(tree, version)))
    digest = hashlib.sha256((draft / "vmlinuz").read_bytes() + (draft / "initrd").read_bytes()).hexdigest()
    card = {"digest": digest, "kernel": version, "packages": [asdict(package) for package in packages]}
    (draft / "image.json").write_text(json.dumps(card, indent=1), encoding="utf-8")
    shutil.rmtree(tree)
    return digest[:12]


def _entries(tree: Path, version: str) -> Iterator[Entry]:
    """All entries of the image."""
    yield archive.console()
    yield from (archive.directory(path) for path in _FOLDERS)
    yield archive.directory("tmp", 0o1777)
    for path, text in _TEXTS.items():
        yield archive.file(path, text.encode(), 0o600 if path == "etc/shadow" else 0o644)
    yield from (archive.file(path, script(name).encode(), 0o755) for path, name in _SCRIPTS.items())
    programs = {f"usr/sbin/{name}": _program(tree, name) for name in _PROGRAMS}
    shared = {f"lib/x86_64-linux-gnu/{Path(path).name}": path for path in libraries(tree, programs.values())}
    busybox = _program(tree, "busybox")
    yield from archive.read_files(tree, {**programs, **shared, "bin/busybox": busybox})
    yield archive.link("lib64", "lib/x86_64-linux-gnu")
    yield archive.link("usr/sbin/mkfs.ext4", "mke2fs")
    yield archive.link("usr/bin/cloudcmp-host", "/usr/local/sbin/cloudcmp-host")
    # Our programs come first in PATH; only applets with exactly the same path are left out.
    listed = subprocess.run([tree / busybox, "--list-full"], capture_output=True, text=True, check=True)
    used = {*programs, *_SCRIPTS, "usr/sbin/mkfs.ext4", "bin/busybox"}
    yield from (archive.link(path, "/bin/busybox") for path in listed.stdout.split() if path not in used)
    ordered = _order_modules(tree / "lib/modules" / version)
    yield archive.file("lib/modules/order", "".join(f"{module.stem}\n" for module in ordered).encode())
    for module in ordered:
        yield archive.file(f"lib/modules/{module.name}", module.read_bytes())


def _program(tree: Path, name: str) -> str:
    """The path of a program within the unpacked packages."""
    for folder in ("usr/sbin", "usr/bin", "sbin", "bin"):
        if (tree / folder / name).is_file():
            return f"{folder}/{name}"
    raise Refused.at("qemu", f"{name} is not in the packages of this system", "use Debian 12's package sources")


def _order_modules(folder: Path) -> list[Path]:
    """The necessary kernel modules, each after its dependencies."""
    found = {path.stem: path for path in sorted(folder.rglob("*.ko"))}
    ordered: dict[str, Path] = {}

    def add(name: str) -> None:
        # A module without a file is built into the kernel; file names may have - instead of _.
        path = found.get(name) or found.get(name.replace("_", "-"))
        if path is None or path.stem in ordered:
            return
        needs = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for need in needs[1].decode().split(",") if needs and needs[1] else []:
            add(need)
        ordered[path.stem] = path

    for name in _MODULES:
        add(name)
    return list(ordered.values())


def _read(folder: Path) -> Image:
    """A cached image as its card describes it."""
    card = json.loads((folder / "image.json").read_text(encoding="utf-8"))
    packages = tuple(Package(**package) for package in card["packages"])
    return Image(folder, card["digest"], card["kernel"], packages)
