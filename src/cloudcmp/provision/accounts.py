"""In which account a study's things were made: under other credentials they are not seen, and look gone."""

from collections.abc import Callable

from cloudcmp.errors import OtherAccount
from cloudcmp.model.protocol import Accounted, Provider

ACCOUNT = "account."
"""With a provider's name, names the account among what a study remembers."""

Read = Callable[[str], str | None]
Write = Callable[[str, str], None]


class Accounts:
    """The account of each provider that has any, kept with the study from its first create on."""

    def __init__(self, read: Read | None = None, write: Write | None = None) -> None:
        kept: dict[str, str] = {}
        self._read = read or kept.get
        self._write = write or kept.__setitem__

    async def settle(self, provider: Provider) -> None:
        """To be called before something is made: keeps the account where none is kept yet.

        Raises OtherAccount, the provider's faults where it can not be told, and what the store raises.
        """
        if isinstance(provider, Accounted) and self._read(ACCOUNT + provider.name) is None:
            self._write(ACCOUNT + provider.name, await provider.account())
        await self.confirm(provider)

    async def confirm(self, provider: Provider) -> None:
        """To be called before an absence is believed; raises OtherAccount, and the provider's faults as `settle`.

        Nothing can be said of a study that kept no account.
        """
        if not isinstance(provider, Accounted):
            return
        kept = self._read(ACCOUNT + provider.name)
        if kept is None:
            return
        now = await provider.account()
        if now != kept:
            what = f"these credentials are of account {now}, it was made in account {kept}"
            raise OtherAccount.at(provider.name, what, "use the credentials of that account")
