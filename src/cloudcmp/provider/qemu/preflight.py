"""Checks which parts of guests are on this host, and what a study would fetch. Fetches and builds nothing."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cloudcmp.errors import CloudcmpError, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.qemu.boot import DiskImage
from cloudcmp.provider.qemu.debian import check_buildable, debian_prefix
from cloudcmp.provider.qemu.image import find_cached, small_prefix
from cloudcmp.provider.qemu.media import image_format
from cloudcmp.provider.qemu.packages import check_fetchable
from cloudcmp.provider.qemu.program import check_program_fetchable, known_accelerator, known_program

SMALL, DEBIAN = "small", "debian"
# Download sizes according to Debian 12's package lists (2026-11).
_PROGRAM_MB, _SMALL_MB, _DEBIAN_MB = 40, 40, 125
_SOURCES = "from this system's package sources into the cache"
_FETCHING_PROGRAM = f"a study fetches it, about {_PROGRAM_MB} MB {_SOURCES}"


def images_of(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """The candidates' images, sorted, and the small one, which tests whether KVM boots a guest."""
    return tuple(sorted({SMALL, *(dict(one.options).get("image", SMALL) for one in candidates)}))


def own_image(name: str) -> DiskImage:
    """The user's own image at a path; raises Refused if it is unusable."""
    if "/" not in name:
        known = f"known are {SMALL}, {DEBIAN} and a path (with a /) to a qcow2 or raw image"
        raise Refused.at("qemu", f"no image {name!r}", known)
    image_format(Path(name))
    return DiskImage(Path(name))


def host(cache: Path) -> Finding:
    """Whether qemu is installed or can be fetched, and what runs the processors, if known."""
    try:
        program = known_program(cache)
        if program is None:
            check_program_fetchable()
            return Finding("host", True, f"qemu is not there: {_FETCHING_PROGRAM}")
    except CloudcmpError as error:
        return failed_finding(error, "host")
    accel = known_accelerator(cache)
    how = (
        f"processors by {accel.name.upper()} ({accel.why})"
        if accel
        else "whether KVM boots a guest is tried by a study"
    )
    return Finding("host", True, f"qemu {program.version}, {how}")


def image(cache: Path, name: str) -> Finding:
    """Whether an image exists or can be built."""
    try:
        missing = _how_to_get(cache, name)
        if missing and name == DEBIAN:
            check_buildable()
        if missing:
            check_fetchable([f"the image `{name}`"])
    except CloudcmpError as error:
        return failed_finding(error, "image")
    return Finding("image", True, f"{name} is not there: {missing}" if missing else f"{name} is there")


def to_fetch(cache: Path, images: Sequence[str]) -> Iterator[str]:
    """The downloads of a study on these images, a line each; raises as `own_image`."""
    if known_program(cache) is None:
        yield f"qemu: {_FETCHING_PROGRAM}"
    for name in images:
        if missing := _how_to_get(cache, name):
            yield f"{name}: {missing}"


def failed_finding(error: CloudcmpError, what: str) -> Finding:
    """A fault as a finding."""
    fault = error.faults[0]
    return Finding(what, False, fault.what, fault.next)


def _how_to_get(cache: Path, name: str) -> str:
    """What a study would do to get an image, empty if it exists; raises as `own_image`."""
    if name not in {SMALL, DEBIAN}:
        own_image(name)
        return ""
    prefix, size_mb, time = (
        (small_prefix(), _SMALL_MB, "seconds") if name == SMALL else (debian_prefix(), _DEBIAN_MB, "minutes")
    )
    if find_cached(cache, prefix):
        return ""
    return f"a study builds it in some {time}, of about {size_mb} MB that it fetches {_SOURCES}"
