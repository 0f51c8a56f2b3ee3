"""What the simulated cloud holds. It outlives its client, so a killed controller's successor still finds it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Resource:
    """One machine of the cloud. Lists show it from `visible_at` on; `end` says how it went. Virtual Unix seconds."""

    cloud_id: str
    name: str
    token: str
    tags: tuple[tuple[str, str], ...]
    made_at: float
    visible_at: float
    region: str
    end: str | None = None


class Inventory:
    """The machines by id, kept in a file of one JSON line an event; without a file, in memory only.

    A last line that a kill has torn is passed over: that event never happened, as if its request had not arrived.
    """

    def __init__(self, state_file: Path | None) -> None:
        self._file = state_file
        self._resources: dict[str, Resource] = {}
        for event in self._events():
            self._apply(event)

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._resources.values()))

    def get(self, cloud_id: str) -> Resource | None:
        """The machine of an id, also when it has ended."""
        return self._resources.get(cloud_id)

    def add(self, resource: Resource) -> None:
        """A machine was made."""
        self._record({
            "event": "made",
            "cloud_id": resource.cloud_id,
            "name": resource.name,
            "token": resource.token,
            "tags": dict(resource.tags),
            "made_at": resource.made_at,
            "visible_at": resource.visible_at,
            "region": resource.region,
        })  # fmt: skip

    def end(self, cloud_id: str, how: str) -> None:
        """A machine went; the first end stands."""
        resource = self._resources.get(cloud_id)
        if resource is not None and resource.end is None:
            self._record({"event": "ended", "cloud_id": cloud_id, "how": how})

    def _record(self, event: dict[str, object]) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab+") as file:
                file.seek(0, 2)
                if file.tell():
                    file.seek(-1, 2)
                    if file.read(1) != b"\n":
                        file.write(b"\n")
                file.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        self._apply(event)

    def _events(self) -> Iterator[dict[str, object]]:
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_bytes().split(b"\n"):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event

    def _apply(self, event: dict[str, object]) -> None:
        cloud_id = str(event.get("cloud_id"))
        match event:
            case {
                "event": "made",
                "name": str(name),
                "token": str(token),
                "tags": dict(tags),
                "made_at": float(made_at),
                "visible_at": float(visible_at),
                "region": str(region),
            }:
                pairs = tuple(sorted((str(key), str(value)) for key, value in tags.items()))
                self._resources[cloud_id] = Resource(cloud_id, name, token, pairs, made_at, visible_at, region)
            case {"event": "ended", "how": str(how)} if cloud_id in self._resources:
                self._resources[cloud_id] = replace(self._resources[cloud_id], end=how)
            case _:
                return
