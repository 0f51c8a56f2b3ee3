"""The accounts in which a study's resources were made: other credentials do not see them, so they would look gone."""

from collections.abc import Callable
from urllib.parse import urlsplit

from cloudcmp.errors import OtherAccount
from cloudcmp.model.protocol import UNKNOWN_ACCOUNT, Accounted, Provider

ACCOUNT = "account."
"""With a provider's name, the key of the account in the study's notes."""
_PORTS = {"http": 80, "https": 443}

Read = Callable[[str], str | None]
Write = Callable[[str, str], None]


class Accounts:
    """The account of each provider, stored with the study from its first create on."""

    def __init__(self, read: Read | None = None, write: Write | None = None) -> None:
        recorded: dict[str, str] = {}
        self._read_account = read or recorded.get
        self._write = write or recorded.__setitem__

    async def settle(self, provider: Provider) -> None:
        """Records the account if none is recorded yet; call it before anything is created.

        Raises OtherAccount, the provider's faults if it cannot name the account, and what the store raises.
        """
        if isinstance(provider, Accounted) and self._read_account(ACCOUNT + provider.name) is None:
            self._write(ACCOUNT + provider.name, await provider.account())
        await self.confirm(provider)

    async def confirm(self, provider: Provider) -> None:
        """Checks the account before an absence is believed; raises OtherAccount, and the provider's faults.

        Passes if the study recorded no account, or the provider names none.
        """
        recorded, now = await self.check_account(provider)
        if _endpoint(recorded) != _endpoint(now):
            what = f"the current account is {now}, the resource was made in {recorded}: its absence proves nothing"
            raise OtherAccount.at(provider.name, what, "name the endpoint as it was then")

    async def check_account(self, provider: Provider) -> tuple[str, str]:
        """Checks the account before anything is ended; returns the recorded and the current one.

        Raises OtherAccount if two known accounts differ (another endpoint may lead to the same cloud), and the
        provider's faults like `settle`. Returns the same account twice if there is nothing to compare.
        """
        recorded = self._read_account(ACCOUNT + provider.name)
        if recorded is None or not isinstance(provider, Accounted):
            return UNKNOWN_ACCOUNT, UNKNOWN_ACCOUNT
        now = await provider.account()
        if len({_account_id(recorded), _account_id(now)} - {UNKNOWN_ACCOUNT}) > 1:
            what = f"these credentials are of account {now}, it was made in account {recorded}"
            raise OtherAccount.at(provider.name, what, "use the credentials of that account")
        return recorded, now


def _account_id(account: str) -> str:
    return account.partition(" at ")[0]


def _endpoint(account: str) -> str:
    """Normalizes an account's endpoint: lower case, no default port, no final slash."""
    endpoint = account.partition(" at ")[2].strip()
    try:
        parts = urlsplit(endpoint)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return endpoint
    return (
        f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}" if parts.hostname else endpoint.rstrip("/")
    )
