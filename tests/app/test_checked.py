"""What each provider is asked before a study, as the support matrix says it."""

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.agent.ssh import dial
from cloudcmp.app import plan as planning
from cloudcmp.catalog import METRICS
from cloudcmp.model.plan import Plan
from cloudcmp.provider import ProviderOptions, make
from cloudcmp.provision.contract import CHECKED, TESTED
from tests.app.clouds import clouds
from tests.emulated.ec2 import EUCALYPTUS, ec2
from tests.emulated.guests import missing
from tests.emulated.kinds import KINDS, kind
from tests.emulated.pointed import pointed
from tests.emulated.standing import Standing

STUDY = "schema: 1\nquestion: Which?\ncandidates:\n%sprobes: [{probe: int}]\nlaunches: 1\nbudget: 5 USD\n"
OWN = {
    "local": "  - {provider: local, offering: 1cpu}\n",
    "qemu": "  - {provider: qemu, region: local, offering: 1cpu-128mb}\n",
    "simulated": "  - {provider: simulated, region: nimbus, offering: small}\n",
    "ssh": "  - {provider: ssh, offering: box}\n",
}


def asked(name: str, plan: Plan) -> set[str]:
    """What a provider's own findings are about; none of them may be a fault."""
    found = asyncio.run(
        make(name, ProviderOptions(metrics=METRICS, candidates=plan.candidates, dial=dial)).check(plan.candidates)
    )
    assert [one for one in found if one.ok is False] == []
    return {one.what for one in found}


def planned(candidates: str) -> Plan:
    return planning.plan_text(STUDY % candidates, "study.yaml")


def opened(name: str) -> AbstractContextManager[Standing[Any]]:
    return ec2(EUCALYPTUS) if name == "ec2" else kind(name).opened(None)


@pytest.mark.parametrize("name", [*KINDS, "ec2"])
def test_an_emulated_cloud_is_asked_what_the_matrix_says(name: str) -> None:
    candidate = kind("aws" if name == "ec2" else name).rented().replace("provider: aws", f"provider: {name}")
    with pointed(opened(name)) as cloud:
        before = set(cloud.alive())
        assert asked(name, planned(candidate)) == set(TESTED[name].checked)
        assert set(cloud.alive()) == before


@pytest.mark.parametrize("name", OWN)
def test_what_needs_no_cloud_is_asked_what_the_matrix_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "qemu" and (lacking := missing()):
        pytest.skip(lacking)
    with clouds(tmp_path / "sky", ()) as sky:
        monkeypatch.setenv("CLOUDCMP_SSH_CONFIG", sky.environ["CLOUDCMP_SSH_CONFIG"])
        assert asked(name, planned(OWN[name])) == set(TESTED[name].checked)


def test_what_may_be_asked_is_said_once() -> None:
    assert {what for one in TESTED.values() for what in one.checked} == set(CHECKED)
