"""What is found of vantage points before a rented machine lets them in."""

import asyncio

import pytest

from cloudcmp.app.check.preflight import refuse
from cloudcmp.app.check.vantage_points import vantage_findings
from cloudcmp.errors import ProviderFault, Unreached, UserMistake
from cloudcmp.model.remote import CommandOutput, Endpoint
from cloudcmp.model.safety import Finding
from tests.plan.test_vantages import RENTED, planned

SSH = "{name: %s, provider: ssh, offering: %s-host}"


class Cloud:
    """A cloud that sees this machine at an address, or cannot be reached."""

    def __init__(self, seen: str) -> None:
        self.seen = seen

    async def controller(self) -> str:
        if not self.seen:
            raise Unreached.at("firewall", "our own address cannot be determined", "write it in the study")
        return self.seen


class Host:
    """A host with SSH that was reached at an address, and says that its own end is another one."""

    def __init__(self, reached: str, own: str) -> None:
        self.reached, self.own, self.closed = reached, own, False

    def peer(self) -> str:
        return self.reached

    async def run(self, *_: object, **__: object) -> CommandOutput:
        return CommandOutput(0, f"10.0.0.1 40000 {self.own} 22".encode() if self.own else b"", b"")

    async def close(self) -> None:
        self.closed = True


def found(vantages: str, cloud: Cloud, **hosts: Host) -> list[Finding]:
    async def dial(endpoint: Endpoint, _within_s: float) -> Host:
        if endpoint.alias not in {f"{name}-host" for name in hosts}:
            raise ProviderFault.at(str(endpoint.alias), "no answer within 30 s (SSH connect)", "see if it is up")
        return hosts[str(endpoint.alias).removesuffix("-host")]

    made = planned(RENTED % "", f"{{vantages: [{vantages}], sizes: [1]}}")
    seen = [one.finding for one in asyncio.run(vantage_findings(made, {"aws": cloud}, dial))]  # type: ignore[dict-item]
    assert all(one.closed for one in hosts.values())
    return seen


def test_every_address_that_is_let_in_is_named() -> None:
    stated = "{name: office, provider: ssh, offering: nowhere, address: 203.0.113.9}"
    vantages = ", ".join(("here", stated, SSH % ("lab", "lab"), SSH % ("far", "far")))
    (one,) = found(vantages, Cloud("8.8.4.4/32"), lab=Host("8.8.8.8", "10.0.0.7"), far=Host("10.0.0.9", "9.9.9.9"))
    assert (one.what, one.ok) == ("vantage", True)
    # Each once, in the order in which trials look from them, which is drawn.
    for told in ("here (8.8.4.4)", "office (203.0.113.9)", "lab (8.8.8.8)", "far (9.9.9.9)"):
        assert one.text.count(told) == 1, one.text
    assert one.text.endswith("at port 28080 and by ICMP")


@pytest.mark.parametrize(
    ("cloud", "hosts", "says"),
    [
        (Cloud("8.8.4.4/32"), {"lab": Host("10.0.0.9", "192.168.1.4")}, "lab: its public address is unknown"),
        (Cloud("8.8.4.4/32"), {"lab": Host("", "")}, "lab: its public address is unknown"),
        (Cloud("8.8.4.4/32"), {}, "lab: .*no answer within 30 s"),
        (Cloud("8.8.4.0/24"), {"lab": Host("8.8.8.8", "")}, "here: its public address is unknown"),
        (Cloud(""), {"lab": Host("8.8.8.8", "")}, "here: .*our own address cannot be determined"),
    ],
)
def test_an_unknown_address_is_refused_in_one_line_before_anything_is_rented(
    cloud: Cloud, hosts: dict[str, Host], says: str
) -> None:
    for one in hosts.values():
        one.closed = False
    with pytest.raises(UserMistake, match=f"{says}.*write address: 203.0.113.7 in its vantage point") as mistake:
        refuse(found(f"here, {SSH % ('lab', 'lab')}", cloud, **hosts))
    assert len(mistake.value.faults) == 1
    assert "\n" not in mistake.value.faults[0].line()


def test_a_host_may_say_nothing_that_is_more_than_an_address() -> None:
    for lie in ("0.0.0.0/0", "8.8.8.8,9.9.9.9", "8.8.8.0/24", "example.org", "::1", "fe80::1%eth0", "8.8.8.8 9.9.9.9"):
        (one, *_) = found(SSH % ("lab", "lab"), Cloud("8.8.4.4/32"), lab=Host("10.0.0.9", lie))
        assert (one.ok, "its public address is unknown" in one.text) == (False, True), lie
