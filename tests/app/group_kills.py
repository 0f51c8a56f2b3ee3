"""Studies of four machines that measure between each other at an emulated cloud: whole, and killed at random moments.

The machines are SSH servers on loopback addresses with the real agent. They meet at one address, because a connection
to any of loopback comes from that one; what a cloud would let through between them is read in its firewall's rules.
"""

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from cloudcmp.model.protocol import Zoned
from cloudcmp.provider import make
from tests.app.cloud_walk import Study, Toll, kills
from tests.app.clouds import Sky, clouds
from tests.emulated.kinds import KINDS, kind

MACHINES = 4
STUDY = Study(
    """\
schema: 1
question: How does a group of four machines talk?
candidates:
%sprobes:
  - {probe: barrier, params: {path: zone, peers: 4, rounds: 5}}
  - {probe: exchange, params: {op: alltoall, path: zone, peers: 4, size_bytes: 10000, rounds: 3}}
  - {probe: tcp, params: {path: zone, duration_s: 0.2}}
  - {probe: rtt, params: {path: zone, duration_s: 0.2}}
launches: 1
runs: 1
caps: {duty: 100 %%}
budget: 1 USD
seed: 1
""",
    4,
)


def clouds_of_groups() -> tuple[str, ...]:
    """The emulated clouds whose machines can measure between each other."""
    return tuple(name for name in KINDS if not kind(name).alone)


def candidate(cloud: str) -> str:
    """A machine of a cloud with the options that matter to a group: its placement, or its zone."""
    return kind(cloud).rented(kind(cloud).also)


def wrong_whole(folder: Path, cloud: str) -> list[str]:
    """All that is wrong with a study that nobody kills: four machines measured, and went."""
    with clouds(folder, (cloud,)) as sky:
        (folder / "study.yaml").write_text(STUDY.text % candidate(cloud))
        ran = sky.shortly("run", "study.yaml", "--out", "out")
        if ran.code:
            return [f"it ended with {ran.code}: {ran.out}", *_wrong_after(sky)]
        wrong = _wrong_in(folder / "out" / "study.db", isinstance(make(cloud), Zoned))
        made = len(kind(cloud).machines(sky.clouds[cloud]))
        wrong += [] if made == MACHINES else [f"{made} machines were asked for"]
        return wrong + _wrong_after(sky)


def _wrong_after(sky: Sky) -> list[str]:
    wrong = [f"left: {one}" for one in sky.left()] + [f"no intent: {one}" for one in sky.unwritten]
    return wrong + sky.harm() + sky.bodies()


def _wrong_in(study: Path, zoned: bool) -> list[str]:
    """What is wrong in the store of a whole study: trials that are not ok or sent nothing, machines that did not go."""
    with contextlib.closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as database:
        ended = database.execute("SELECT trial, outcome, why, facts FROM attempt").fetchall()
        leases = database.execute("SELECT slot, event FROM lease WHERE kind = 'instance'").fetchall()
    wrong = [] if len(ended) == STUDY.trials else [f"{len(ended)} attempts of {STUDY.trials} trials"]
    for trial, outcome, why, text in ended:
        facts = json.loads(text or "{}")
        wrong += [] if outcome == "ok" else [f"trial {trial} is {outcome}: {why}"]
        wrong += [] if _payload(facts) > 0 else [f"trial {trial} sent nothing"]
        where = facts.get("zones", [])
        if zoned and not (len(where) == MACHINES and len(set(where)) == 1):
            wrong.append(f"trial {trial} is within a zone, and its machines are in {where}")
    for event in ("CREATED", "GONE"):
        slots = {slot for slot, one in leases if one == event}
        wrong += [] if len(slots) == MACHINES else [f"{event} are {sorted(slots)}"]
    return wrong


def _payload(facts: Mapping[str, object]) -> float:
    notes = facts.get("notes")
    sent = notes.get("payload_bytes") if isinstance(notes, dict) else None
    return float(sent) if isinstance(sent, int | float) else 0.0


def group_kills(folder: Path, n: int, seed: int, cloud: str) -> Toll:
    """SIGKILL for the controller of such a study at so many random moments, each mended; see cloud_walk.py."""
    return kills(folder, n, seed, (candidate(cloud),), STUDY)
