"""What of a cloud's lists is ours: by the tags that a study gives, and by token."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from cloudcmp.errors import NoCredentials, ProviderFault
from cloudcmp.model.lease import Listing, TaggedResource

SCHEMA_TAG, STUDY_TAG = "cloudcmp:schema", "cloudcmp:study"
TOKEN_TAG = "cloudcmp:token"  # noqa: S105 - it names a tag
List = tuple[str, Callable[[], Awaitable[list[TaggedResource]]]]
"""A list that can be asked for, and what it is called in a line."""


def belongs(item: TaggedResource, study: str, token: str | None) -> bool:
    """True if a resource bears the study's tag or was made with the token."""
    return dict(item.tags).get(STUDY_TAG) == study or (token is not None and item.token == token)


def bears_schema(item: TaggedResource) -> bool:
    """True if a resource bears our schema's tag, whichever study made it."""
    return SCHEMA_TAG in dict(item.tags)


async def list_leftovers(
    lists: Sequence[List], at_once: int = 1, fatal: tuple[type[ProviderFault], ...] = (NoCredentials,)
) -> Listing:
    """Whatever bears our schema's tag in some lists, and a line for each list that cannot be had.

    At most `at_once` lists are asked at a time, in their order. Faults of the kinds `fatal` are raised, and nothing
    more is asked then.
    """
    gate, failed = asyncio.Semaphore(at_once), False

    async def one(name: str, fetch: Callable[[], Awaitable[list[TaggedResource]]]) -> tuple[list[TaggedResource], str]:
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

    results = await asyncio.gather(*(one(name, fetch) for name, fetch in lists))
    found = tuple(item for items, _ in results for item in items if bears_schema(item))
    return Listing(found, tuple(line for _, line in results if line))
