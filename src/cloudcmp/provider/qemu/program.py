"""Finds qemu, or fetches it from the system's package sources, and tests whether KVM boots a guest."""

import json
import os
import platform
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp.errors import Refused
from cloudcmp.provider.qemu.image import Image, cached_build, find_cached
from cloudcmp.provider.qemu.packages import Packages, check_fetchable, run_from

PROGRAM = "qemu-system-x86_64"
_PACKAGES = ("qemu-system-x86",)
_DEPENDENCIES = ("lib", "zlib", "qemu-system", "seabios", "ipxe-qemu")
_DATA = ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")
_CACHE_PREFIX = "program-"
_INSTALL = "install it: apt install qemu-system-x86"
_MODULES = "usr/lib/x86_64-linux-gnu/qemu"
_PROBE_S = 20.0
# Arguments for KVM and for emulation; guests are small, and so is the translation cache.
_ACCELERATORS = {"kvm": ("-accel", "kvm", "-cpu", "host"), "tcg": ("-accel", "tcg,tb-size=32", "-cpu", "max")}


@dataclass(frozen=True, slots=True)
class Program:
    """How to run qemu here: its first arguments, their environment, and its version."""

    arguments: tuple[str, ...]
    version: str
    environ: Mapping[str, str] = field(default_factory=dict)


def find_program(cache: Path, path: str | None = None) -> Program:
    """qemu from PATH, else fetched once into the cache folder (about 40 MB); raises Refused with what to install."""
    if program := known_program(cache, path):
        return program
    try:
        return _cached_program(cached_build(cache, _CACHE_PREFIX, lambda draft: _fetch(draft, cache)))
    except Refused as error:
        raise Refused.at("qemu", f"{PROGRAM} is not there, and could not be fetched ({error})", _INSTALL) from error


def known_program(cache: Path, path: str | None = None) -> Program | None:
    """qemu from PATH or the cache folder, None if it must be fetched; raises Refused if it cannot run here."""
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise Refused.at("qemu", f"guests are for x86-64 Linux hosts, not {platform.system()} {platform.machine()}",
                         "use another provider here")  # fmt: skip
    if executable := shutil.which(PROGRAM, path=path):
        return Program((executable,), _version([executable], {}))
    folder = find_cached(cache, _CACHE_PREFIX)
    return _cached_program(folder) if folder else None


def check_program_fetchable() -> None:
    """Raises Refused if the tools to fetch qemu are missing."""
    try:
        check_fetchable(_PACKAGES)
    except Refused as error:
        raise Refused.at("qemu", f"{PROGRAM} is not there, and cannot be fetched ({error})", _INSTALL) from error


def _cached_program(folder: Path) -> Program:
    arguments = run_from(folder, f"usr/bin/{PROGRAM}")
    arguments += [word for data in _DATA if (folder / data).is_dir() for word in ("-L", str(folder / data))]
    environ = {"QEMU_MODULE_DIR": str(folder / _MODULES)}
    return Program(tuple(arguments), _version(arguments, environ), environ)


def _fetch(draft: Path, cache: Path) -> str:
    """Unpacks qemu and its dependencies into a folder; returns the version's name."""
    packages = Packages(cache / "apt").unpack(_PACKAGES, _DEPENDENCIES, draft)
    versions = {package.name: package.version for package in packages}
    return re.sub(r"[^0-9A-Za-z.]+", "-", versions[_PACKAGES[0]])


def _version(arguments: list[str], environ: Mapping[str, str]) -> str:
    """The version that qemu reports; raises Refused for a program that does not run."""
    try:
        done = subprocess.run(
            [*arguments, "--version"], env={"PATH": os.defpath, **environ}, capture_output=True, text=True, timeout=60,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused.at("qemu", f"{arguments[-1]} does not run: {error}", "see what it says with --version") from error
    return done.stdout.split("\n")[0].removeprefix("QEMU emulator version ").strip()


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What runs the guest's processors, and why: `kvm` by hardware, or `tcg` by translation, much slower."""

    name: str
    why: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments for qemu."""
        return _ACCELERATORS[self.name]


def known_accelerator(cache: Path, device: Path = Path("/dev/kvm")) -> Accelerator | None:
    """The accelerator of an earlier test, or without a test if KVM is unusable; None if a test is necessary."""
    if not os.access(device, os.R_OK | os.W_OK):
        return Accelerator("tcg", f"{device} cannot be used")
    for file in sorted(cache.glob(f"accelerator-*-{_kernel()}.json"), key=lambda file: file.stat().st_mtime)[-1:]:
        return _read_accelerator(file)
    return None


def accelerator(program: Program, image: Image, cache: Path, device: Path = Path("/dev/kvm")) -> Accelerator:
    """KVM if the small image boots with it, else TCG; tested once for this kernel and this qemu."""
    if not os.access(device, os.R_OK | os.W_OK):
        return Accelerator("tcg", f"{device} cannot be used")
    version = re.sub(r"[^0-9A-Za-z.]+", "-", program.version)
    file = cache / f"accelerator-{version}-{_kernel()}.json"
    if (known := _read_accelerator(file)) is not None:
        return known
    fault = _boot_fault(program, image)
    result = Accelerator("kvm", "it boots") if fault is None else Accelerator("tcg", f"KVM boots no guest: {fault}")
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"name": result.name, "why": result.why}), encoding="utf-8")
    draft.replace(file)
    return result


def _kernel() -> str:
    return re.sub(r"[^0-9A-Za-z.]+", "-", platform.release())


def _read_accelerator(file: Path) -> Accelerator | None:
    try:
        card = json.loads(file.read_text(encoding="utf-8"))
        return Accelerator(card["name"], card["why"]) if card["name"] in _ACCELERATORS else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _boot_fault(program: Program, image: Image) -> str | None:
    """Why the small image does not boot with KVM, None if it does. Boots it once, without network and disks."""
    command = [
        *program.arguments, "-M", "pc", *_ACCELERATORS["kvm"], "-m", "128", "-nodefaults", "-no-user-config",
        "-display", "none", "-no-reboot", "-serial", "stdio", "-kernel", str(image.kernel), "-initrd",
        str(image.initrd), "-append", "console=ttyS0 quiet panic=-1 cloudcmp.probe",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                command, env={"PATH": os.defpath, **program.environ}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, timeout=_PROBE_S, check=False, preexec_fn=_no_core,
            )  # fmt: skip
            how = f"qemu ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            how = f"nothing within {_PROBE_S:.0f} s"
        output.seek(0)
        text = output.read(65536).decode("utf-8", errors="replace")
    if "cloudcmp: alive" in text:
        return None
    lines = [line.strip() for line in text.splitlines() if "error" in line or "panic" in line]
    return (lines or [how])[0][:200]


def _no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
