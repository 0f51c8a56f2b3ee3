"""Rented machines as endpoints of vantage points, from a study's file to its end, on emulated clouds."""

import json
from pathlib import Path

import pytest

from tests.app.clouds import Sky, clouds, unable
from tests.app.test_zones import attempts
from tests.emulated.kinds import kind
from tests.slices import some

pytestmark = pytest.mark.skipif(bool(unable()), reason=unable() or "studies can run")

REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
STUDY = """\
schema: 1
question: Which data centre is near?
candidates:
  - {provider: %s, region: %s, offering: %s, price: 0.0104 USD/h}
wan: {vantages: [here, {name: lab, address: 198.51.100.5}], sizes: [1], pages: 2}
launches: 1
runs: 1
budget: 1 USD
"""
LET_IN = ["127.0.0.1/32", "198.51.100.5/32"]


def let_in(sky: Sky, cloud: str) -> list[str]:
    """The addresses that requests to the cloud let in to pages, and to nothing else but ICMP."""
    if cloud == "gcp":
        (sent,) = [one for one in sky.clouds["gcp"].calls("firewalls.insert") if "28080" in str(one.params)]
        return sorted(json.loads(sent.params["body"])["sourceRanges"])
    (sent,) = sky.cloud.calls("AuthorizeSecurityGroupIngress")
    at = next(key.split(".")[1] for key, value in sent.params.items() if (key[-8:], value) == ("FromPort", "28080"))
    assert sent.params[f"IpPermissions.{at}.ToPort"] == "28080"
    own = {key: value for key, value in sent.params.items() if key.startswith(f"IpPermissions.{at}.")}
    return sorted(value for key, value in own.items() if "Cidr" in key)


@pytest.mark.parametrize("cloud", some(tuple(REGIONS), 1, 0))
def test_p01_a_rented_machine_serves_the_vantage_points_that_its_firewall_lets_in(cloud: str, tmp_path: Path) -> None:
    with clouds(tmp_path / "sky", (cloud,), cheap=True) as sky:
        (sky.folder / "study.yaml").write_text(STUDY % (cloud, REGIONS[cloud], kind(cloud).offering))
        ran = sky.shortly("run", "study.yaml", "--out", "out", "--json")
        assert ran.code == 0, ran.out + ran.err
        # Both run here: what comes from 127.0.0.1 and says that it is 198.51.100.5 is served nothing.
        failed, well = sorted((outcome, why) for outcome, why, _ in attempts(sky))
        assert (failed[0], failed[1][:13], well) == ("failed", "no page came:", ("ok", ""))
        assert let_in(sky, cloud) == LET_IN
        assert [*sky.left(), *sky.harm(), *sky.bodies(), *sky.unwritten] == []
