"""What one emulated cloud knows beyond moto."""

from dataclasses import dataclass, field

from tests.emulated import ec2_xml as xml
from tests.emulated.ec2_faults import Faults
from tests.emulated.ec2_lives import Lives
from tests.emulated.ec2_moto import Account
from tests.emulated.ec2_query import Params
from tests.emulated.wire import Answer


@dataclass(slots=True)
class Spot:
    """A spot request that stands behind an instance."""

    id: str
    instance: str
    region: str
    tags: dict[str, str]
    cancelled: bool = False


@dataclass(slots=True)
class Placement:
    """A placement group."""

    id: str
    strategy: str
    tags: dict[str, str]


@dataclass(slots=True)
class State:
    """One cloud: its account, its instances' lives, and tokens, spot requests and groups with their times."""

    account: Account
    lives: Lives
    regions: tuple[str, ...]
    faults: Faults
    tokens: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    spots: dict[str, Spot] = field(default_factory=dict)
    groups_at: dict[str, float] = field(default_factory=dict)
    placements: dict[tuple[str, str], Placement] = field(default_factory=dict)

    def missing(self, region: str, ids: list[str]) -> Answer | None:
        backend = self.account.ec2(region)
        there = {instance.id for each in backend.reservations.values() for instance in each.instances}
        unknown = [id for id in ids if id not in there or not self.lives.visible(id)]
        if not unknown:
            return None
        plural = "IDs" if len(unknown) > 1 else "ID"
        return xml.error("InvalidInstanceID.NotFound", f"The instance {plural} '{', '.join(unknown)}' do not exist")

    def spot_state(self, spot: Spot) -> str:
        """A one-time request's state: closed once its instance has ended."""
        if spot.cancelled:
            return "cancelled"
        return "closed" if self.lives.state(spot.instance) == "terminated" else "active"

    def refused_parameter(self, params: Params) -> Answer | None:
        if self.faults.tags == "refused" and any(key.startswith("TagSpecification") for key in params):
            return xml.error("UnknownParameter", "The parameter TagSpecification is not recognized")
        return None

    def without_tags(self, params: Params) -> Params:
        keep = self.faults.tags == "kept"
        return {
            key: value
            for key, value in params.items()
            if key != "DryRun" and (keep or not key.startswith("TagSpecification"))
        }
