"""Builds a complete Debian guest image: systemd, cloud-init, OpenSSH and sudo, as in clouds' own images.

mmdebstrap builds it from the system's package sources, as root, once, in some minutes. It boots with its own kernel and
needs half a GiB of memory.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from cloudcmp.errors import Refused
from cloudcmp.provider.qemu.boot import DiskImage
from cloudcmp.provider.qemu.image import cached_build, recipe
from cloudcmp.provider.qemu.packages import Packages, run_from

_TOOLS = ("mmdebstrap", "e2fsprogs")
_SYSTEM = (
    "linux-image-cloud-amd64", "initramfs-tools", "systemd-sysv", "udev", "dbus", "cloud-init", "openssh-server",
    "sudo", "iproute2", "netbase", "e2fsprogs", "ifupdown", "isc-dhcp-client", "procps",
)  # fmt: skip
_NEEDED = ("perl", "setpriv", "unshare")
_EXCLUDED = ("doc", "man", "locale", "info")
_SET_LOCALE = 'echo "locale: C.UTF-8" >"$1/etc/cloud/cloud.cfg.d/99_cloudcmp.cfg"'  # the only locale in the image
# mmdebstrap mounts the host's /dev and more in the new system. Its own namespaces end with it and with us, so no mount
# or process stays, and removing a draft removes nothing of the host.
_NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--")
_DISK = "4G"  # a sparse file
_MAKE_S = 3600.0


def debian_image(cache: Path) -> DiskImage:
    """The Debian image, built if it is missing; raises Refused if it cannot be built."""
    folder = cached_build(cache, debian_prefix(), lambda draft: _build(draft, cache))
    return DiskImage(folder / "disk", folder / "vmlinuz", folder / "initrd")


def debian_prefix() -> str:
    """The name prefix of a cached Debian image of the current recipe."""
    return f"debian-{recipe('debian.py', 'packages.py')}-"


def check_buildable() -> None:
    """Raises Refused with what is missing if the image cannot be built here."""
    for needed, holds in (("root", os.geteuid() == 0), *((tool, shutil.which(tool)) for tool in _NEEDED)):
        if not holds:
            raise Refused.at("qemu", f"the image `debian` cannot be built without {needed}", "use the image `small`")


def _build(draft: Path, cache: Path) -> str:
    """Fills a folder with the image; returns its version's name."""
    check_buildable()
    tools, root = draft / "tools", draft / "root"
    tools.mkdir()
    Packages(cache / "apt").unpack(_TOOLS, ("lib",), tools)
    sources = _run(
        ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages",
         "Origin: Debian"], tools, "list the package sources",
    )  # fmt: skip
    suite = next((line.split()[2] for line in sources.splitlines()), None)
    if suite is None:
        raise Refused.at("qemu", "this system has no Debian package sources", "use the image `small`")
    excludes = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _EXCLUDED]
    make = [
        *_NAMESPACES, "perl", str(tools / "usr/bin/mmdebstrap"), "--mode=root", "--variant=apt", "--quiet", *excludes,
        '--aptopt=Acquire::Languages "none"', f"--customize-hook={_SET_LOCALE}", f"--include={','.join(_SYSTEM)}",
        suite, str(root), "-",
    ]  # fmt: skip
    _run(make, tools, "make a Debian system", sources)
    (kernel,) = sorted(root.glob("boot/vmlinuz-*"))[-1:]
    version = kernel.name.removeprefix("vmlinuz-")
    shutil.copyfile(kernel, draft / "vmlinuz")
    shutil.copyfile(root / "boot" / f"initrd.img-{version}", draft / "initrd")
    mke2fs = run_from(tools, "sbin/mke2fs" if (tools / "sbin/mke2fs").exists() else "usr/sbin/mke2fs")
    _run([*mke2fs, "-q", "-t", "ext4", "-d", str(root), str(draft / "disk"), _DISK], tools, "make a disk of it")
    shutil.rmtree(root)
    shutil.rmtree(tools)
    return re.sub(r"[^0-9A-Za-z.]+", "-", f"{suite}-{version}")


def _run(command: list[str], tools: Path, what: str, text: str = "") -> str:
    """The output of a command, with its own tools first in PATH; raises Refused with its last error."""
    environ = {"PATH": f"{tools}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, env=environ, input=text, capture_output=True, text=True, errors="replace", timeout=_MAKE_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused.at("qemu", f"could not {what}: {error}", "use the image `small`") from error
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit {done.returncode}"]
        raise Refused.at("qemu", f"could not {what}: {errors[-1].strip()}", "use the image `small`")
    return done.stdout
