"""A host of the user's own as an endpoint: the agent on it serves pages to vantage points elsewhere."""

import json
from pathlib import Path

from cloudcmp.app import study_view as viewing
from cloudcmp.model.trial import Outcome
from tests.app.test_remote_outcomes import boxes
from tests.cli.command import cloudcmp

STUDY = """
schema: 1
question: Which of us is near?
candidates: [{provider: ssh, region: ssh, offering: far}]
wan:
  vantages:
    - here
    - {name: lab, provider: ssh, offering: lab}
    - {name: lost, provider: ssh, offering: lab, address: "2001:4860:4860::8888"}
  sizes: [1]
  pages: 2
launches: 1
"""


def test_a_host_with_ssh_serves_pages_where_it_is_reached(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    with boxes(tmp_path, ("far", "lab")) as hosts:
        said = cloudcmp("run", tmp_path / "study.yaml", "--out", tmp_path / "out",
                        CLOUDCMP_SSH_CONFIG=str(tmp_path / "config"))  # fmt: skip
        address = hosts["far"].address
        assert [list((one.home / ".cloudcmp").rglob("*")) for one in hosts.values()] == [[], []]
    assert said.code == 0, said.out + said.err
    view = viewing.view(tmp_path / "out")
    ended = {dict(view.plan.trials[one.trial].params)["vantage"]: one for one in view.attempts}
    assert ended["here"].outcome is Outcome.OK, said.err
    notes = json.loads(ended["here"].facts)["notes"]
    assert notes["addresses"] == address != "127.0.0.1"
    # Both hosts are this one: what comes from 127.0.0.1 and was reached at another address is served nothing.
    assert (ended["lab"].outcome, ended["lab"].why[:13]) == (Outcome.FAILED, "no page came:")
    assert ended["lost"].outcome is Outcome.FAILED
    assert ended["lost"].why.endswith(f" cannot reach {address}: write its IPv4 address")
