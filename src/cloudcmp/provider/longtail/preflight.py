"""Checks that run before anything is created, and create nothing."""

import time
from collections.abc import Callable, Sequence

from cloudcmp.errors import NoCredentials, NotAllowed, ProviderFault, Refused
from cloudcmp.model.lease import FIREWALL, INSTANCE
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.findings import account_finding, clock_finding, parse_http_date, refusal_finding
from cloudcmp.provider.longtail.catalog import OfferingCatalog
from cloudcmp.provider.longtail.dialect import Response
from cloudcmp.provider.longtail.faults import is_missing
from cloudcmp.provider.longtail.options import image_of
from cloudcmp.provider.longtail.pages import Json
from cloudcmp.provider.longtail.sdk import ApiClient


class Preflight:
    """The checks before a study. `now` is this machine's Unix time (s)."""

    def __init__(self, api: ApiClient, catalog: OfferingCatalog, now: Callable[[], float] = time.time) -> None:
        self._api, self._catalog, self._now = api, catalog, now
        self._cloud = api.cloud

    async def run(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """All findings; only the first if the token is refused."""
        try:
            reply = await self._api.read(self._cloud.dialect.machines[0])
        except NoCredentials as fault:
            return (refusal_finding("credentials", fault),)
        endpoint = self._api.endpoint()
        findings = [Finding("credentials", True, f"the token is accepted{f' at {endpoint}' if endpoint else ''}")]
        response = await self._read_account()
        findings.append(self._account_finding(response, candidates))
        findings.append(clock_finding(parse_http_date(reply.headers.get("date", "")), self._now()))
        for candidate in candidates:
            findings.append(await self._names(candidate))
        findings += await self._rights()
        findings += self._quota(response, reply, candidates)
        return tuple(findings)

    async def _read_account(self) -> Json:
        try:
            return (await self._api.read(self._cloud.dialect.account)).body
        except NotAllowed:
            return {}

    def _account_finding(self, response: Json, candidates: Sequence[Candidate]) -> Finding:
        account = self._cloud.dialect.account_id(response)
        unknown_text, mismatch_hint = "the token does not let us see its account", "use the other account's token"
        return account_finding(
            account, f"account {account}", candidates, unknown_text=unknown_text, mismatch_hint=mismatch_hint
        )

    async def _names(self, candidate: Candidate) -> Finding:
        offering = candidate.offering
        try:
            await self._catalog.check_offering(offering.region, offering.name)
        except Refused as fault:
            return refusal_finding("capability", fault, candidate.id)
        try:
            image = await self._catalog.image(image_of(dict(candidate.options)))
        except Refused as fault:
            return refusal_finding("image", fault, candidate.id)
        return Finding("image", True, f"{candidate.id}: {image.name} ({image.id})")

    # -- rights: none of these clouds has a dry run

    async def _rights(self) -> list[Finding]:
        """Whether the token may delete foreign ids and send an empty creating request; neither has an effect."""
        machine, firewall = self._cloud.nonexistent
        dialect = self._cloud.dialect
        attempts: tuple[tuple[str, str, str, Json | None], ...] = (
            (INSTANCE, "DELETE", f"{dialect.machines[0]}/{machine}", None),
            (FIREWALL, "DELETE", f"{dialect.firewalls[0]}/{firewall}", None),
            (INSTANCE, "POST", dialect.machines[0], {}),
        )
        denied, unclear = [], []
        for kind, method, path, body in attempts:
            action = f"{'delete' if method == 'DELETE' else 'make'} a {'machine' if kind == INSTANCE else kind}"
            try:
                await self._api.change(method, path, body)
            except NotAllowed:
                denied.append(action)
            except Refused as fault:
                if method == "DELETE" and not is_missing(fault):
                    unclear.append(action)
            except ProviderFault:
                unclear.append(action)
        if denied:
            return [Finding("rights", False, f"the token may not {', '.join(denied)}", self._cloud.rights)]
        if unclear:
            return [Finding("rights", None, f"whether the token may {', '.join(unclear)} is unknown")]
        return [Finding("rights", True, "machines may be created, and no delete of a foreign id is refused")]

    def _quota(self, response: Json, reply: Response, candidates: Sequence[Candidate]) -> list[Finding]:
        most = self._cloud.machine_limit(response)
        if most is None:
            return [
                Finding("quota", None, f"{self._cloud.title} does not report how many machines an account may have")
            ]
        running = self._cloud.paging.total(reply.body) or 0
        need = sum(one.count for one in candidates)
        text = f"{running} machines are there, {need} more are needed at once, {most} are allowed"
        if running + need > most:
            return [Finding("quota", False, text, "ask for a higher limit, or run fewer at once")]
        return [Finding("quota", True, text)]
