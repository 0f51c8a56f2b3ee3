"""The resources of the simulated clouds, in a file that outlives a killed controller."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cloudcmp.model.lease import INSTANCE
from cloudcmp.owned_folder import OwnedPath


@dataclass(frozen=True, slots=True)
class Resource:
    """A machine or data set of the cloud. Lists show it from `visible_at` on; times are virtual Unix s."""

    cloud_id: str
    name: str
    token: str
    tags: tuple[tuple[str, str], ...]
    made_at: float
    visible_at: float
    region: str
    end: str | None = None
    kind: str = INSTANCE


class Inventory:
    """The machines by id, kept in a file of one JSON line an event; without a file, in memory only.

    Skips an incomplete last line: that event never happened, as if its request had not arrived.
    """

    def __init__(self, state_file: OwnedPath | None) -> None:
        self._place = state_file
        self._resources: dict[str, Resource] = {}
        for event in self._events():
            self._apply(event)

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._resources.values()))

    def get(self, cloud_id: str) -> Resource | None:
        """The machine of an id, also if it has ended."""
        return self._resources.get(cloud_id)

    def add(self, resource: Resource) -> None:
        """Records a created machine."""
        self._record({
            "event": "made",
            "cloud_id": resource.cloud_id,
            "name": resource.name,
            "token": resource.token,
            "tags": dict(resource.tags),
            "made_at": resource.made_at,
            "visible_at": resource.visible_at,
            "region": resource.region,
            **({} if resource.kind == INSTANCE else {"kind": resource.kind}),
        })  # fmt: skip

    def end(self, cloud_id: str, how: str) -> None:
        """Records the end of a machine; ignores a second one."""
        resource = self._resources.get(cloud_id)
        if resource is not None and resource.end is None:
            self._record({"event": "ended", "cloud_id": cloud_id, "how": how})

    def _record(self, event: dict[str, object]) -> None:
        if self._place is not None:
            with self._place.file(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
                line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else b"\n" + line
                file.write(line)
        self._apply(event)

    def _events(self) -> Iterator[dict[str, object]]:
        if self._place is None:
            return
        try:
            with self._place.file(os.O_RDONLY) as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
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
                kind = str(event.get("kind", INSTANCE))
                self._resources[cloud_id] = Resource(
                    cloud_id, name, token, pairs, made_at, visible_at, region, kind=kind
                )
            case {"event": "ended", "how": str(how)} if cloud_id in self._resources:
                self._resources[cloud_id] = replace(self._resources[cloud_id], end=how)
            case _:
                return
