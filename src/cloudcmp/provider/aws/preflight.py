"""Checks that run before anything is created, and create nothing."""

import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from cloudcmp.errors import NoCredentials, ProviderFault, Refusal, RefusalKind, Refused
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT
from cloudcmp.model.safety import Finding
from cloudcmp.provider.aws.faults import POLICY
from cloudcmp.provider.aws.firewalls import Traits, description_of
from cloudcmp.provider.aws.images import Image
from cloudcmp.provider.aws.policy import NONEXISTENT_GROUP, NONEXISTENT_INSTANCE, TAG, TAG_VALUE
from cloudcmp.provider.aws.sdk import Response, Sdk
from cloudcmp.provider.common.findings import (
    account_finding,
    clock_finding,
    parse_http_date,
    quota_finding,
    refusal_finding,
)
from cloudcmp.provider.common.suggestions import nearest

_RIGHTS_OK = (
    "machines and firewall groups may be created, and no delete of a foreign id is refused; "
    "whether ours may be deleted is tried on a study's first firewall group"
)
_MINIMAL = {"Key": TAG, "Value": TAG_VALUE}
ImageFor = Callable[[str, str, dict[str, str]], Awaitable[Image]]


def date_of(response: Response) -> float | None:
    """The time of a response by the cloud's own clock (Unix s)."""
    return parse_http_date(response.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", ""))


async def account_of(sdk: Sdk, *, compatible: bool) -> str:
    """The account, and the endpoint if one is set; fetched once for the same credentials."""
    if sdk.account is None:
        if compatible:
            sdk.account = await _default_group_owner(sdk)
        else:
            response = await sdk.read("sts", sdk.default_region(), "get_caller_identity")
            sdk.account = str(response.get("Account", UNKNOWN_ACCOUNT))
    return sdk.with_endpoint(sdk.account)


async def _default_group_owner(sdk: Sdk) -> str:
    """The owner of the default security group: other clouds may lack the service that reports the account."""
    filters = [{"Name": "group-name", "Values": ["default"]}]
    try:
        groups = await sdk.pages(sdk.default_region(), "describe_security_groups", "SecurityGroups", Filters=filters)
    except NoCredentials:
        raise
    except Refused:
        return UNKNOWN_ACCOUNT
    owners = {one.get("OwnerId") for one in groups if one.get("GroupName") == "default"}
    return str(owners.pop() or UNKNOWN_ACCOUNT) if len(owners) == 1 else UNKNOWN_ACCOUNT


class Preflight:
    """The checks before a study; `compatible`: the cloud is not AWS. `now` is this machine's Unix time (s)."""

    def __init__(
        self,
        sdk: Sdk,
        traits: Traits,
        regions: Callable[[], Awaitable[Iterable[str]]],
        image_for: ImageFor,
        *,
        compatible: bool,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._sdk, self._traits, self._regions, self._image_for = sdk, traits, regions, image_for
        self._compatible, self._now = compatible, now

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the credentials are refused."""
        try:
            response = await self._whoami()
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        user = self._sdk.with_endpoint(str(response.get("Arn", "they are accepted")))
        findings = [Finding("credentials", True, user), self._account(response, candidates)]
        findings.append(clock_finding(date_of(response), self._now()))
        regions = tuple(await self._regions())
        accepted: list[tuple[Candidate, Image]] = []
        for candidate in candidates:
            region = candidate.offering.region
            if region not in regions:
                what = f"{candidate.id}: there is no region {region!r}, or it is not enabled"
                hint = nearest(region, regions, f"enabled are {', '.join(regions)}")
                findings.append(Finding("capability", False, what, hint))
                continue
            finding, image = await self._image(candidate)
            findings.append(finding)
            accepted += [(candidate, image)] if image else []
        findings += await self._rights(accepted)
        findings += await quota(self._sdk, [one for one, _ in accepted], compatible=self._compatible)
        if self._compatible:
            findings.append(await self._capability())
        return tuple(findings)

    async def _whoami(self) -> Response:
        if self._compatible:
            return await self._sdk.read("ec2", self._sdk.default_region(), "describe_regions")
        return await self._sdk.read("sts", self._sdk.default_region(), "get_caller_identity")

    @staticmethod
    def _account(response: Response, candidates: Sequence[Candidate]) -> Finding:
        account = response.get("Account")
        mismatch_hint = "use the other account's credentials"
        return account_finding(account, f"account {account}", candidates, mismatch_hint=mismatch_hint)

    async def _image(self, candidate: Candidate) -> tuple[Finding, Image | None]:
        offering = candidate.offering
        try:
            image = await self._image_for(offering.region, offering.name, dict(candidate.options))
        except Refused as fault:
            return refusal_finding("image", fault, candidate.id), None
        return Finding("image", True, f"{candidate.id}: {image.name or image.id} ({image.id})"), image

    # -- rights, by dry runs: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html

    async def _rights(self, accepted: Sequence[tuple[Candidate, Image]]) -> list[Finding]:
        """Dry runs in each region; the right to delete is tried on ids that nobody owns."""
        by_region = {one.offering.region: (one, image) for one, image in reversed(accepted)}
        findings = []
        for region in list(by_region) or [self._sdk.default_region()]:
            if (await self._dry_run("describe_regions", region)).kind is not RefusalKind.ALLOWED:
                findings.append(Finding("rights", None, f"{region}: this cloud knows no dry run; nothing was tried"))
                continue
            outcomes = {
                name: await self._dry_run(action, region, **more) for name, action, more in _dry_runs(by_region, region)
            }
            findings.append(_rights_finding(region, outcomes))
        return findings

    async def _dry_run(self, action: str, region: str, **params: Any) -> Refusal:
        """The outcome of a dry run; without a code if the cloud executed it."""
        try:
            await self._sdk.read("ec2", region, action, DryRun=True, **params)
        except NoCredentials:
            raise
        except ProviderFault as fault:
            return fault.reason or Refusal(RefusalKind.OTHER, fault.faults[0].what)
        return Refusal(RefusalKind.OTHER)

    async def _capability(self) -> Finding:
        """Whether the cloud finds machines by token; whether it keeps tags can only be seen on a created resource."""
        filters = [{"Name": "client-token", "Values": ["cloudcmp-none"]}]
        try:
            await self._sdk.pages(self._sdk.default_region(), "describe_instances", "Reservations", Filters=filters)
        except Refused as fault:
            self._traits.token = False
            what = f"machines cannot be found by their client token ({fault.faults[0].what})"
            return Finding("capability", None, f"{what}; the first firewall group shows whether tags are kept")
        self._traits.token = True
        return Finding("capability", True, "machines can be found by their client token")


def _dry_runs(by_region: dict[str, Any], region: str) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """The calls of a study, as (right, action, parameters)."""

    def tagged(*kinds: str) -> list[dict[str, Any]]:
        return [{"ResourceType": kind, "Tags": [_MINIMAL]} for kind in kinds]

    yield "ec2:TerminateInstances", "terminate_instances", {"InstanceIds": [NONEXISTENT_INSTANCE]}
    yield "ec2:DeleteSecurityGroup", "delete_security_group", {"GroupId": NONEXISTENT_GROUP}
    group = {"GroupName": "cloudcmp-check", "Description": description_of("check")}
    yield (
        "ec2:CreateSecurityGroup",
        "create_security_group",
        {**group, "TagSpecifications": tagged("security-group")},
    )
    if by_region.get(region):
        candidate, image = by_region[region]
        what = {"ImageId": image.id, "InstanceType": candidate.offering.name, "MinCount": 1, "MaxCount": 1}
        specs = tagged("instance", "volume", "network-interface")
        yield "ec2:RunInstances", "run_instances", {**what, "TagSpecifications": specs}


def _rights_finding(region: str, outcomes: dict[str, Refusal]) -> Finding:
    denied = [name for name, one in outcomes.items() if one.kind is RefusalKind.DENIED]
    if denied:
        return Finding("rights", False, f"{region}: not allowed: {', '.join(denied)}", POLICY)
    fine = {RefusalKind.ALLOWED, RefusalKind.MISSING}
    unclear = [f"{name} ({one.code or 'no answer'})" for name, one in outcomes.items() if one.kind not in fine]
    if unclear:
        return Finding("rights", None, f"{region}: unclear: {', '.join(unclear)}")
    return Finding("rights", True, f"{region}: {_RIGHTS_OK}")


# https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html: the limits count vCPUs.
_STANDARD = "ACDHIMRTZ"
_CODES = {"on-demand": {"standard": "L-1216C47A", "x": "L-7295265B"}, "spot": {"standard": "L-34B43A08"}}


async def quota(sdk: Sdk, candidates: Sequence[Candidate], *, compatible: bool) -> list[Finding]:
    """Whether all candidates of a region may run at once, beside running machines; None if it cannot be read."""
    if compatible:
        return [Finding("quota", None, "this cloud reports no quota")] if candidates else []
    needs: dict[tuple[str, str, str], float] = {}
    for one in candidates:
        market = dict(one.options).get("market", "on-demand")
        key = (one.offering.region, market, _quota_class(one.offering.name))
        needs[key] = needs.get(key, 0.0) + (one.offering.vcpus or 0.0) * one.count
    return [await _quota_of(sdk, *key, need) for key, need in sorted(needs.items())]


async def _quota_of(sdk: Sdk, region: str, market: str, quota_class: str, need: float) -> Finding:
    where = f"{region}: {quota_class} {market} vCPUs"
    code = _CODES.get(market, {}).get(quota_class)
    if code is None:
        return Finding("quota", None, f"{where}: which quota applies is unknown")
    try:
        response = await sdk.read("service-quotas", region, "get_service_quota", ServiceCode="ec2", QuotaCode=code)
        most = float(response["Quota"]["Value"])
        used = await _running_vcpus(sdk, region, market, quota_class)
    except (ProviderFault, KeyError, ValueError) as fault:
        return Finding("quota", None, f"{where}: it cannot be read ({fault})")
    return quota_finding(where, need, used, most, "Service Quotas", word="running")


async def _running_vcpus(sdk: Sdk, region: str, market: str, quota_class: str) -> float:
    states = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    pages = await sdk.pages(region, "describe_instances", "Reservations", Filters=states)
    total = 0.0
    for one in (instance for page in pages for instance in page.get("Instances", ())):
        instance_market = "spot" if one.get("InstanceLifecycle") == "spot" else "on-demand"
        if instance_market == market and _quota_class(str(one.get("InstanceType", ""))) == quota_class:
            cores = one.get("CpuOptions", {})
            total += cores.get("CoreCount", 1) * cores.get("ThreadsPerCore", 1)
    return total


def _quota_class(name: str) -> str:
    letters = re.match(r"[a-z]+", name)
    family = letters.group() if letters else ""
    return "standard" if len(family) <= 2 and family[:1].upper() in _STANDARD and family not in {"dl"} else family
