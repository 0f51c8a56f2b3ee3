"""Selects our resources from a cloud's lists, by study tag and by token."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from cloudcmp.errors import NoCredentials, ProviderFault
from cloudcmp.model.lease import Listing, TaggedResource

SCHEMA_TAG, STUDY_TAG = "cloudcmp:schema", "cloudcmp:study"
TOKEN_TAG = "cloudcmp:token"  # noqa: S105 - it names a tag
List = tuple[str, Callable[[], Awaitable[list[TaggedResource]]]]
"""A list request, with its name for messages."""


def belongs(item: TaggedResource, study: str, token: str | None) -> bool:
    """True if a resource has the study's tag or was created with the token."""
    return dict(item.tags).get(STUDY_TAG) == study or (token is not None and item.token == token)


def bears_schema(item: TaggedResource) -> bool:
    """True if a resource has the schema tag of cloudcmp, of any study."""
    return SCHEMA_TAG in dict(item.tags)


async def list_leftovers(
    lists: Sequence[List], at_once: int = 1, fatal: tuple[type[ProviderFault], ...] = (NoCredentials,)
) -> Listing:
    """All resources with the schema tag, and a line for each list that failed.

    Starts the lists in order, at most `at_once` at a time. Raises faults of the kinds `fatal`, and starts no more
    lists.
    """
    gate, failed = asyncio.Semaphore(at_once), False

    async def run(name: str, fetch: Callable[[], Awaitable[list[TaggedResource]]]) -> tuple[list[TaggedResource], str]:
        nonlocal failed
        async with gate:
            if failed:
                return [], ""
            try:
                return await fetch(), ""
            except fatal:
                failed = True
                raise
            except ProviderFault as fault:
                return [], f"{name}: {fault}"

    results = await asyncio.gather(*(run(name, fetch) for name, fetch in lists))
    resources = tuple(item for items, _ in results for item in items if bears_schema(item))
    return Listing(resources, tuple(line for _, line in results if line))
