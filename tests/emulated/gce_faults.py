"""What goes wrong in the emulated Compute Engine: standing properties of the cloud."""

from dataclasses import dataclass

from tests.emulated.faults import Behaviour


@dataclass(frozen=True, slots=True)
class Faults(Behaviour):
    """The whole behaviour beyond the ordinary; the defaults are a cloud in which nothing goes wrong.

    `request_ids` are honoured or ignored. `full` are zones without room, told by the insert's operation after `full_s`;
    `quota_cpus` is how many vCPUs a region may have. `unreachable` are zones that aggregated lists cannot ask:
    where `partial` they tell of the others, else of none. `end_s` is how long anything takes to end. `ends` is whether
    the cloud heeds terminationTime. `denied` are permissions that the account lacks, `rights_told` is whether it is
    told which it has. `page` is the most items of any list in one answer.
    """

    request_ids: str = "honoured"
    full: frozenset[str] = frozenset()
    full_s: float = 0.0
    quota_cpus: float = 200.0
    unreachable: frozenset[str] = frozenset()
    partial: bool = True
    end_s: float = 0.0
    ends: bool = True
    denied: frozenset[str] = frozenset()
    rights_told: bool = True
    network: bool = True
    page: int | None = None
