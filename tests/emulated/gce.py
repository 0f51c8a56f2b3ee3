"""A Compute Engine for tests: an own small server of its REST calls, spoken to by Google's own client.

`with gce(faults=..., boot=...) as cloud:` gives `cloud.environ` for the product (in this process or another),
`cloud.journal` of every call and `cloud.alive()`, the truth. `python -m tests.emulated.gce` runs one in the foreground
and prints what to export, with `--machines DIR` also SSH servers behind its instances. Everything listens on loopback
only. It is an emulation: what was tested against it was not tested on a real account. What it does row by row:
gce_contract.md.
"""

import argparse
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.emulated import gce_catalog as catalog
from tests.emulated import gce_told
from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Thing
from tests.emulated.faults import Fault
from tests.emulated.gce_auth import Account
from tests.emulated.gce_calls import Calls
from tests.emulated.gce_faults import Faults
from tests.emulated.gce_json import Wrong, injected, reason_in, whole
from tests.emulated.gce_rights import Rights, needed
from tests.emulated.gce_state import PREEMPTED, Disk, State
from tests.emulated.gce_told import tags
from tests.emulated.standing import Standing, foreground
from tests.emulated.wire import Answer, Request

__all__ = ["Call", "Fault", "Faults", "Gce", "Rights", "Thing", "gce"]

_PATH = re.compile(
    r"/compute/v1/projects/(?P<project>[^/]+)"
    r"(?:/(?P<place>zones/(?P<zone>[^/]+)|global|aggregated))?"
    r"(?:/(?P<kind>[a-zA-Z]+)(?:/(?P<family>family/)?(?P<resource>[^/]+)(?:/(?P<verb>[a-zA-Z]+))?)?)?"
)
_KINDS = {"operations": {"global": "globalOperations", "zones": "zoneOperations"}}


class Gce(Standing[Faults]):
    """One emulated cloud with one project and one service account. `now` is true time (Unix s)."""

    def __init__(
        self,
        faults: Faults | None = None,
        boot: Boot | None = None,
        *,
        policy: dict[str, Any] | None = None,
        project: str = "study-project",
        clock: Callable[[], float] = time.time,
        port: int = 0,
    ) -> None:
        self._clock = clock
        self.state = State(project, self.now, boot)
        self.state.images = catalog.images()
        self.account = Account(project, self.now)
        self.rights = _rights(policy)
        self.neighbours: list[Gce] = []  # other projects at the same place
        self._calls = Calls(self.state)
        self._folder = Path(tempfile.mkdtemp(prefix="gce-"))
        super().__init__(faults or Faults(), port)

    def now(self) -> float:
        """The cloud's own time."""
        return self._clock() + self.state.faults.skew_s

    def _behave(self, faults: Faults) -> None:
        self.state.faults = faults

    @property
    def environ(self) -> dict[str, str]:
        """What the product is to find in its environment; nothing of the caller's own settings is to be kept."""
        file = self._folder / "key.json"
        file.write_text(json.dumps(self.account.file(f"{self.url}/token")))
        return {
            "GOOGLE_APPLICATION_CREDENTIALS": str(file),
            "GOOGLE_CLOUD_PROJECT": self.state.project,
            "CLOUDCMP_GCP_ENDPOINT": self.url,
            "CLOUDSDK_COMPUTE_REGION": next(iter(catalog.REGIONS)),
            "CLOUDSDK_CONFIG": str(self._folder),
            "NO_GCE_CHECK": "true",
        }

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_machines(self) -> None:
        self.state.close()

    # -- what goes on

    def _handle(self, request: Request) -> Answer:
        for other in self.neighbours:
            if f"/projects/{other.state.project}" in request.path:
                return other._handle(request)
        call, body = _call_of(request, self.now())
        return self._answered(call, lambda: self._carried_out(request, call, body))

    def _carried_out(self, request: Request, call: Call, body: dict[str, Any]) -> Answer:
        try:
            return self._honest(request, call, body)
        except Wrong as wrong:
            return wrong.answer()

    def _honest(self, request: Request, call: Call, body: dict[str, Any]) -> Answer:
        """The answer without any fault: who asks, what that one may do, then the call itself."""
        if call.action == "token":
            return self.account.token(request, f"{self.url}/token")
        self.account.check(request)
        project = call.params.get("project", "")
        if call.action == "projects.testIamPermissions":
            if not self.faults.rights_told:
                raise Wrong(403, "accessNotConfigured", "Cloud Resource Manager API has not been used in the project")
            asked = [one for one in body.get("permissions", ()) if not self.rights.lacks({one}, self.faults.denied)]
            return whole({"permissions": asked})
        public = call.action.startswith("images.") and project != self.state.project
        if project != self.state.project and not public:
            raise Wrong(404, "notFound", f"The resource 'projects/{project}' was not found")
        if not public:
            self._permit(call, body)
        return whole(self._calls.answer(call.action, call.params, body))

    def _permit(self, call: Call, body: dict[str, Any]) -> None:
        lacking = self.rights.lacks(needed(call.action, body), self.faults.denied)
        name = call.params.get("resource") or str(body.get("name", ""))
        if not lacking and not self.rights.allows(call.action, name):
            lacking = sorted(needed(call.action, body))
        if lacking:
            raise Wrong(403, "forbidden", f"Required '{lacking[0]}' permission for 'projects/{self.state.project}'")

    def _outcome(self, answer: Answer) -> str:
        return reason_in(answer)

    def _injected(self, call: Call, code: str) -> Answer:
        return injected(code).answer()

    def _spoilt(self, answer: Answer, fault: Fault, call: Call) -> Answer:
        if answer.status >= 400 and fault.what in {"truncated", "cut", "empty"}:  # an error lists nothing
            return answer
        return super()._spoilt(answer, fault, call)

    def _broken(self, answer: Answer, call: Call) -> Answer:
        return replace(Wrong(503, "backendError", "Service unavailable").answer(), headers=answer.headers)

    def _cut(self, body: bytes) -> bytes:
        return body.replace(b'-end"', b'"')

    def reclaim(self, id: str) -> None:
        """The cloud takes a spot machine back: it is deleted where it was asked for so, else it stands still."""
        with self._lock:
            life = self.state.lives[id]
            if life.body.get("scheduling", {}).get("instanceTerminationAction") == "DELETE":
                self.state.end(life, PREEMPTED, "Instance was preempted.")
            else:
                self.state.stop(life)
                link = self.state.link("instances", life.name, life.zone)
                self.state.operation(PREEMPTED, link, life.zone).message = "Instance was preempted."

    # -- the truth

    def alive(self) -> list[Thing]:
        """All that exists now: machines, also those that stand still, disks, and firewall rules."""
        with self._lock:
            state = self.state
            state.settle()
            found = [
                Thing("instance", life.zone.rpartition("-")[0], life.key, state.status(life), tags(life.body))
                for life in state.lives.values()
            ]
            found += [
                Thing("volume", disk.zone.rpartition("-")[0], key, "READY", tags(disk.body))
                for key, disk in state.disks.items()
            ]
            return found + [Thing("firewall", "", name, "there", tags(rule)) for name, rule in state.firewalls.items()]

    def plant(self, kind: str, region: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a resource behind the product's back, which no journal shows; returns its id."""
        text = "cloudcmp " + json.dumps({"tags": dict(tags)}) if tags else ""
        labels = {key.replace(":", "-"): re.sub(r"[^a-z0-9_-]", "-", value.lower()) for key, value in tags.items()}
        plain = re.sub(r"[^a-z0-9-]+", "-", name.lower())
        zone = catalog.REGIONS[region][0]
        with self._lock:
            if kind == "firewall":
                self.state.firewalls[plain] = {"name": plain, "description": text}
                return plain
            if kind == "volume":
                body = {"labels": labels, "description": text}
                self.state.disks[f"{zone}/{plain}"] = Disk(zone, plain, body, auto_delete=False)
                return f"{zone}/{plain}"
            body = {
                "name": plain,
                "machineType": f"zones/{zone}/machineTypes/e2-micro",
                "labels": labels,
                "metadata": {"items": [{"key": "cloudcmp-tags", "value": text}]},
                "disks": [{"boot": True, "autoDelete": True, "initializeParams": {}}],
            }
            life = self.state.begin(zone, body, boots=False)
            life.began -= 1e6
            life.started -= 1e6
            return life.key

    def made_by(self, call: Call) -> str | None:
        """The token, else the name, that a call which makes something names, None for any other call."""
        return gce_told.made_by(call)

    def changed_by(self, call: Call) -> tuple[str, ...]:
        """The id that a call which changes or ends something names; empty for any other call."""
        return gce_told.changed_by(call)


def _call_of(request: Request, at: float) -> tuple[Call, dict[str, Any]]:
    """A request as a call: its action as Google's reference names it, and the JSON that it brings."""
    parts = urlsplit(request.path)
    params = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.path == "/token":
        return Call(at, "oauth2", "", "token", {}), {}
    body = json.loads(request.body) if request.body else {}
    if parts.path.endswith(":testIamPermissions"):
        project = parts.path.rsplit("/", 1)[-1].partition(":")[0]
        return Call(at, "cloudresourcemanager", "", "projects.testIamPermissions", {"project": project}), body
    match = _PATH.fullmatch(parts.path)
    if match is None:
        return Call(at, "compute", "", f"unknown {parts.path}", params), body
    said = {key: unquote(value) for key, value in match.groupdict().items() if value}
    params |= {key: said[key] for key in ("project", "zone", "resource") if key in said}
    if body:
        params["body"] = request.body.decode()
    region = said.get("zone", "").rpartition("-")[0]
    return Call(at, "compute", region, _action(request.method, said), params), body


def _action(method: str, said: Mapping[str, str]) -> str:
    place = said.get("place", "").partition("/")[0]
    kind = said.get("kind", "projects")
    kind = _KINDS.get(kind, {}).get(place, kind)
    if "verb" in said:
        return f"{kind}.{said['verb']}"
    if place == "aggregated":
        return f"{kind}.aggregatedList"
    if "family" in said:
        return f"{kind}.getFromFamily"
    if "resource" in said or kind == "projects":
        return f"{kind}.{'delete' if method == 'DELETE' else 'get'}"
    return f"{kind}.{'insert' if method == 'POST' else 'list'}"


def _rights(policy: dict[str, Any] | None) -> Rights:
    if policy is None:
        return Rights()
    return Rights(frozenset(policy["role"]["includedPermissions"]), policy["condition"]["expression"])


@contextmanager
def gce(faults: Faults | None = None, boot: Boot | None = None, **more: Any) -> Iterator[Gce]:
    """A cloud of the test's own (`more`: policy, project, clock, port); its machines end with the context."""
    with Gce(faults, boot, **more) as cloud:
        yield cloud


def main() -> None:
    """Run one in the foreground."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    foreground(asked, lambda args, boot: Gce(None, boot, port=args.port))


if __name__ == "__main__":
    main()
