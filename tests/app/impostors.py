"""Rented machines that show another host key than the one that they were given: nothing of ours may reach them."""

from pathlib import Path

from cloudcmp.agent.host import new_key
from tests.app.cloud_walk import Toll
from tests.app.clouds import clouds
from tests.emulated.kinds import kind
from tests.emulated.ssh_server import Lies

STUDY = """\
schema: 1
question: Who answers there?
candidates:
%sprobes:
  - {probe: int, params: {threads: one, duration_s: 0.02}}
launches: %d
runs: 1
budget: 10 USD
"""
_CONNECTIONS = 100
_A_STUDY = 10


def other() -> Lies:
    """Every connection is shown one key that nobody was told of."""
    return Lies(host_keys=dict.fromkeys(range(_CONNECTIONS), new_key()))


def impostors(folder: Path, cloud: str, n: int) -> Toll:
    """So many machines at a cloud that are not the one that was asked for; `deaths` counts those that were met."""
    toll = Toll()
    with clouds(folder, (cloud,), lies=other) as sky:
        while toll.deaths < n:
            launches, before = min(_A_STUDY, n - toll.deaths), len(sky.machines)
            toll.studies += 1
            (folder / "study.yaml").write_text(STUDY % (kind(cloud).rented(), launches))
            ran = sky.shortly("run", "study.yaml", "--out", f"out-{toll.studies}")
            met = sky.machines[before:]
            toll.deaths += len(met)
            toll.wrong += [] if len(met) == launches else [f"{len(met)} machines came up, not {launches}: {ran.out}"]
            toll.wrong += [f"exit code {ran.code}: {ran.out}"] if ran.code not in {0, 3} else []
            toll.wrong += [] if "host key" in ran.out else [f"it is not told why: {ran.out}"]
            toll.wrong += [f"{one.address} was never asked" for one in met if not one.server.connections]
            toll.wrong += [f"{one.address} let us in" for one in met if one.server.logins or one.server.commands]
            toll.wrong += [f"{one.address} was sent something" for one in met if one.server.input_bytes]
            toll.wrong += [f"left: {one}" for one in sky.left()] + sky.harm() + sky.unwritten
            if not met:
                break
    return toll
