"""Offerings of providers, their prices and billing, and the planted truth of simulated ones."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from cloudcmp.model.promise import Promise, Promised, from_attributes

_HOUR_S = 3600.0


REPEATED = "repeated_rows"
"""The attribute of an imported offering with the number of its rows that repeat another one, as `8 of 16`."""
DOUBTFUL_PRICE = "doubtful_price"
"""The attribute of an imported offering with a price that no cloud has; its price counts as unknown."""
COPIES = "copied_files"
"""The attribute of an imported offering that names files with the bytes of another one."""


# The hourly prices of clouds' machines lie well inside: a nano costs 0.003 USD, 32 TB of memory 400 USD.
_CHEAPEST, _DEAREST = Decimal("0.0002"), Decimal(5000)
_LIKE_A_DOLLAR = ("USD", "EUR", "GBP", "CHF", "CAD", "AUD")


def is_doubtful_price(amount_per_hour: Decimal, currency: str) -> bool:
    """True if no cloud's machine has such a price an hour, probably because it is of another unit or mistyped.

    Only currencies in the order of magnitude of a US dollar are known.
    """
    return currency in _LIKE_A_DOLLAR and not _CHEAPEST <= amount_per_hour <= _DEAREST


@dataclass(frozen=True, slots=True)
class Price:
    """A price for one hour of one unit; never zero: a price of zero or none is unknown (None).

    `how` is that of its price list (`cloudcmp.model.price`), empty without one; `list` is the start of the list's
    SHA-256, and `sku` the list's own name of the resource.
    """

    amount_per_hour: Decimal
    currency: str
    source: str
    as_of: date | None = None
    how: str = ""
    sku: str = ""
    list: str = ""


@dataclass(frozen=True, slots=True)
class Offering:
    """An instance type, or a storage service, in a region. Unknown facts are None.

    `attributes` are further advertised facts (cpu, disk_class, ...), as sorted text pairs; `promises` are the rates
    that its provider promises.
    """

    provider: str
    region: str
    name: str
    vcpus: float | None = None
    memory_gib: float | None = None
    category: str | None = None
    price: Price | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    promises: tuple[Promise, ...] = ()

    @property
    def promised(self) -> tuple[Promise, ...]:
        """The promised rates; those of an imported table or of an earlier version are among the attributes."""
        return self.promises or from_attributes(dict(self.attributes), "a fact of the offering, undated")

    def promised_rate(self, of: Promised) -> float | None:
        """The highest promised rate of a kind, in B/s or op/s; None if none is known."""
        return max((one.cap for one in self.promised if one.of is of and one.cap is not None), default=None)


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a machine: `type` is the provider's own term; size and IOPS are None if not given.

    A `root` volume holds the operating system; any other is a separate disk, formatted and mounted for test files.
    """

    type: str
    size_bytes: int | None = None
    iops: int | None = None
    root: bool = False
    price: Price | None = None

    def __str__(self) -> str:
        size = f" {self.size_bytes / 2**30:g} GiB" if self.size_bytes else ""
        rate = f" {self.iops} IOPS" if self.iops else ""
        return f"{self.type}{size}{rate}{' root' if self.root else ''}"


@dataclass(frozen=True, slots=True)
class Surplus:
    """The price of one vCPU for an hour at full speed, beyond the CPU credits, of the types of a family on a system."""

    family: str
    system: str
    price: Price


@dataclass(frozen=True, slots=True)
class Billing:
    """How time is billed: at least `minimum_s`, then every `step_s` begun.

    `beside` is the hourly price of each machine besides its type and volumes; `uncounted` names, in words, charges that
    no price includes. `ends`: machines, and their cost, end by themselves at their time to live. `images` are those
    known to be billed this way, if billing depends on the image. `dedicated` is charged in each region for every clock
    hour in which a machine of tenancy: dedicated runs there. `root` is the default system disk. Traffic over the paths
    of `free` is not billed. `spot_capped`: the price of a spot machine is passed to the provider as its maximum, and
    the machine is taken back above that. `surplus` are the prices of CPU time beyond the credits of burstable types.
    """

    minimum_s: float = _HOUR_S
    step_s: float = _HOUR_S
    beside: Price | None = None
    uncounted: tuple[str, ...] = ()
    ends: bool = False
    images: tuple[str, ...] = ()
    dedicated: Price | None = None
    root: Volume | None = None
    free: tuple[str, ...] = ()
    spot_capped: bool = False
    surplus: tuple[Surplus, ...] = ()

    def hourly(self, options: Mapping[str, str]) -> bool:
        """True if a machine with these options counts by the hour begun, because its image's billing is unknown."""
        image = options.get("image", "")
        return bool(self.images and image) and image not in self.images

    @property
    def anew_s(self) -> float:
        """Seconds to add to a life in place of a further start: paid(a) + paid(b) <= paid(a + b + anew_s).

        Holds for lives that are no shorter than the minimum or than a step.
        """
        if self.step_s <= 0 or self.minimum_s % self.step_s == 0:
            return max(self.minimum_s, self.step_s)
        return self.minimum_s + self.step_s if self.minimum_s > self.step_s else 2 * self.step_s

    def in_hours(self) -> "Billing":
        """This billing, by the hour begun."""
        return replace(self, minimum_s=_HOUR_S, step_s=_HOUR_S)

    def paid_s(self, seconds: float) -> float:
        """The seconds billed for so many seconds of use; never fewer."""
        if seconds <= self.minimum_s:
            return self.minimum_s
        steps = math.ceil((seconds - self.minimum_s) / self.step_s) if self.step_s > 0 else 0
        return max(seconds, self.minimum_s + steps * self.step_s)


@dataclass(frozen=True, slots=True)
class Match:
    """Requested properties of an offering, to name similar offerings of several providers."""

    vcpus: float | None = None
    memory_gib: float | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class CellTruth:
    """The planted distribution of one cell of a simulated candidate.

    `mean` in the metric's unit; `cov` between runs of one launch and `between` launches, as ratios;
    `drift` relative change per day; `daily` relative amplitude of a daily cycle.
    """

    mean: float
    cov: float = 0.02
    between: float = 0.02
    drift: float = 0.0
    daily: float = 0.0


@dataclass(frozen=True, slots=True)
class Faults:
    """Planted faults of a simulated candidate: shares of events between 0 and 1, and a read lag in seconds."""

    capacity: float = 0.0
    preemption: float = 0.0
    hang: float = 0.0
    garbage: float = 0.0
    lost_answer: float = 0.0
    stale_list_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Truth:
    """The planted truth of a simulated candidate; `cells` is keyed by a cell's text or by a metric's name."""

    cells: tuple[tuple[str, CellTruth], ...] = ()
    boot_s: float | None = None
    faults: Faults = Faults()


_CUSTOM = re.compile(r"(?:([a-z][a-z0-9]*)-)?custom-([0-9]{1,4})-([0-9]{1,8})(-ext)?")
_STEP_MIB = 256


@dataclass(frozen=True, slots=True)
class CustomType:
    """A custom machine type: its family, vCPUs and memory; `extended` if it has more memory than the family's limit."""

    family: str
    vcpus: int
    memory_mib: int
    extended: bool = False


def custom_type(provider: str, name: str) -> CustomType | None:
    """The custom type of a name such as `n2-custom-4-8192` of `gcp`, None for any other name.

    `custom-4-8192` is of family n1. Raises ValueError for a size that Compute Engine has in no family: vCPUs must be
    one or an even number, memory a multiple of 256 MiB. Does not check the limits of each family.
    https://cloud.google.com/compute/docs/instances/creating-instance-with-custom-machine-type
    """
    match = _CUSTOM.fullmatch(name) if provider == "gcp" else None
    if match is None:
        return None
    vcpus, memory_mib = int(match[2]), int(match[3])
    if vcpus != 1 and (vcpus % 2 or not vcpus):
        raise ValueError(f"{name}: {vcpus} vCPUs are neither 1 nor an even number")
    if memory_mib % _STEP_MIB or not memory_mib:
        raise ValueError(f"{name}: {memory_mib} MiB are no multiple of {_STEP_MIB} MiB")
    return CustomType(match[1] or "n1", vcpus, memory_mib, bool(match[4]))
