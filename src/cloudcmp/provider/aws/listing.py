"""Lists existing EC2 resources completely, or raises."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from cloudcmp.errors import NoCredentials, ProviderFault, RefusalKind, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME, Listing, TaggedResource
from cloudcmp.provider.aws.firewalls import Traits, groups_by_token, token_in
from cloudcmp.provider.aws.sdk import Sdk
from cloudcmp.provider.common.inventory import SCHEMA_TAG, STUDY_TAG, TOKEN_TAG, list_leftovers

_AT_ONCE = 4
Filters = list[dict[str, Any]]


def by_tag(key: str, value: str | None = None) -> Filters:
    """The filter for resources with a tag, of one value or any."""
    return [{"Name": "tag-key", "Values": [key]} if value is None else {"Name": f"tag:{key}", "Values": [value]}]


async def find(sdk: Sdk, traits: Traits, region: str, study: str, token: str | None) -> tuple[TaggedResource, ...]:
    """Resources in a region with the study's tag or the token, each once; raises IncompleteListing."""
    resources = [item for kind in _LISTS for item in await kind(sdk, region, by_tag(STUDY_TAG, study))]
    if token is not None:
        resources += await _by_token(sdk, traits, region, token)
    return tuple({(item.kind, item.cloud_id): item for item in resources}.values())


async def _by_token(sdk: Sdk, traits: Traits, region: str, token: str) -> list[TaggedResource]:
    groups = [_group(region, one) for one in await groups_by_token(sdk, region, token)]
    if traits.token is not False:
        try:
            return groups + await _instances(sdk, region, [{"Name": "client-token", "Values": [token]}])
        except Refused:
            traits.token = False
    # A cloud that cannot filter by the token may still list it.
    return groups + [item for item in await _instances(sdk, region, []) if item.token == token]


async def leftovers(sdk: Sdk, regions: Callable[[], Awaitable[Iterable[str]]]) -> Listing:
    """All resources with the schema tag in all regions, and a line for each region and kind that cannot be listed."""
    try:
        names = tuple(await regions())
        unlisted: list[str] = []
    except NoCredentials:
        raise
    except ProviderFault as fault:
        names, unlisted = (sdk.default_region(),), [f"regions: they cannot be listed: {fault}"]
    lists = [
        (f"{region}: {word}", partial(kind, sdk, region, by_tag(SCHEMA_TAG)))
        for region in names
        for kind, word in _LISTS.items()
    ]
    listing = await list_leftovers(lists, _AT_ONCE, fatal=())  # one region may refuse what others accept
    return Listing(listing.found, (*unlisted, *listing.unlisted))


async def _instances(sdk: Sdk, region: str, filters: Filters) -> list[TaggedResource]:
    pages = await sdk.pages(region, "describe_instances", "Reservations", Filters=filters)
    resources = [_instance(region, one) for each in pages for one in each.get("Instances", ())]
    return [item for item in resources if item.state != "terminated"]


async def _volumes(sdk: Sdk, region: str, filters: Filters) -> list[TaggedResource]:
    """Volumes that no machine deletes when it ends."""
    listed = await sdk.pages(region, "describe_volumes", "Volumes", Filters=filters)
    return [_volume(region, one) for one in listed if not _ends_with_machine(one)]


async def _groups(sdk: Sdk, region: str, filters: Filters) -> list[TaggedResource]:
    listed = await sdk.pages(region, "describe_security_groups", "SecurityGroups", Filters=filters)
    return [_group(region, one) for one in listed]


async def _placements(sdk: Sdk, region: str, filters: Filters) -> list[TaggedResource]:
    try:
        listed = await sdk.pages(region, "describe_placement_groups", "PlacementGroups", Filters=filters)
    except Refused as fault:
        # A cloud without placement groups has none of ours.
        if fault.is_refusal(RefusalKind.UNKNOWN_ACTION):
            return []
        raise
    alive = [one for one in listed if one.get("State") != "deleted"]
    return [_resource(region, one, FIREWALL, "GroupId", one["GroupName"], state=one.get("State", "")) for one in alive]


List = Callable[[Sdk, str, Filters], Awaitable[list[TaggedResource]]]
_LISTS: dict[List, str] = {
    _instances: "instances",
    _volumes: "volumes",
    _placements: "placement groups",
    _groups: "security groups",
}


def _instance(region: str, one: dict[str, Any]) -> TaggedResource:
    state = str(one.get("State", {}).get("Name", "unknown"))
    token, kind = one.get("ClientToken") or None, one.get("InstanceType")
    return _resource(region, one, INSTANCE, "InstanceId", token=token, state=state, offering=kind)


def _volume(region: str, one: dict[str, Any]) -> TaggedResource:
    state, kind = str(one.get("State", "unknown")), one.get("VolumeType")
    return _resource(region, one, VOLUME, "VolumeId", state=state, offering=kind)


def _group(region: str, one: dict[str, Any]) -> TaggedResource:
    token = token_in(str(one.get("Description", "")))
    return _resource(region, one, FIREWALL, "GroupId", one.get("GroupName", ""), token, "there")


def _resource(
    region: str,
    one: dict[str, Any],
    kind: str,
    id: str,
    name: str | None = None,
    token: str | None = None,
    state: str = "unknown",
    offering: str | None = None,
) -> TaggedResource:
    """A resource in the ledger's form; without a name or token of its own, it gets them from its tags."""
    pairs = [(str(tag["Key"]), str(tag["Value"])) for tag in one.get("Tags") or ()]
    own = dict(pairs)
    tags = tuple(sorted((key, value) for key, value in pairs if key != TOKEN_TAG))
    display_name = own.get("Name", "") if name is None else str(name)
    return TaggedResource(str(one[id]), display_name, token or own.get(TOKEN_TAG), tags, state, kind, region, offering)


def _ends_with_machine(one: dict[str, Any]) -> bool:
    attachments = one.get("Attachments") or ()
    return one.get("State") == "deleting" or any(disk.get("DeleteOnTermination", False) for disk in attachments)
