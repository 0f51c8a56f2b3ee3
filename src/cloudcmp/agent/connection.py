"""SSH connections to one verified host, with a distinct error for each kind of failure."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncssh

from cloudcmp.errors import CloudcmpError, NoCredentials, ProviderFault, Refused, WrongHost
from cloudcmp.model.remote import Endpoint
from cloudcmp.model.untrusted_text import one_line

_KEEPALIVE_S = 15
_KEEPALIVES = 4
_WHO = "nothing was sent; destroy the machine, or see who answers there"
_SYSTEM_KNOWN_HOSTS = Path("/etc/ssh/ssh_known_hosts")

# Overrides any configuration: nothing is forwarded to the machine, and only our own commands run.
_CLOSED: dict[str, Any] = {
    "agent_forwarding": False,
    "x11_forwarding": False,
    "request_pty": False,
    "send_env": [],
    "command": None,
    "compression_algs": ["none"],
    "x509_trusted_certs": None,
    "keepalive_interval": _KEEPALIVE_S,
    "keepalive_count_max": _KEEPALIVES,
    "login_timeout": 0,  # the caller's own limit holds for all phases
    "connect_timeout": None,
}
# With our own key, no other login method is tried and none of the user's files is read.
_OWN_KEY: dict[str, Any] = {
    "config": None,
    "agent_path": None,
    "pkcs11_provider": None,
    "gss_host": None,
    "gss_kex": False,
    "gss_auth": False,
    "host_based_auth": False,
    "password_auth": False,
    "kbdint_auth": False,
    "preferred_auth": ["publickey"],
}


class _Handshake(asyncssh.SSHClient):
    """Records the phase of a connection, and the host key that it showed if it was not a trusted one."""

    def __init__(self) -> None:
        self.phase = "connect"
        self.shown: tuple[str, str, int, asyncssh.SSHKey] | None = None
        self._connection: asyncssh.SSHClientConnection | None = None

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        self._connection = conn
        self.phase = "banner"

    def begin_auth(self, username: str) -> None:  # noqa: ARG002
        self.phase = "login"

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.shown = (host, addr, port, key)
        return False

    def reached(self) -> str:
        """The current phase of the connection."""
        if self.phase == "banner" and self._connection and self._connection.get_extra_info("server_version"):
            return "key exchange"
        return self.phase


@dataclass(frozen=True, slots=True)
class SshHost:
    """A machine to which connections can be opened; `config` is an OpenSSH configuration for aliases."""

    endpoint: Endpoint
    config: str | None = None

    @property
    def name(self) -> str:
        """The machine in an error message."""
        end = self.endpoint
        host = f"[{end.address}]" if ":" in end.address else end.address
        return end.alias or f"{end.user}@{host}:{end.port}"

    @property
    def direct(self) -> bool:
        """True if connections go to the machine itself, through no other host and no command."""
        if self.endpoint.alias is None:
            return True
        options = asyncssh.SSHClientConnectionOptions(host=self.endpoint.alias, **self._config())
        return not options.tunnel and not options.proxy_command

    def pinned_to(self, host_key: str) -> "SshHost":
        """The host with another host key."""
        return replace(self, endpoint=replace(self.endpoint, host_key=host_key))

    async def connect(self, within_s: float) -> asyncssh.SSHClientConnection:
        """Connects and logs in; raises the errors of `dial`."""
        watch = _Handshake()
        known: asyncssh.SSHKnownHosts | None = None
        try:
            async with asyncio.timeout(within_s):
                if self.endpoint.alias is None:
                    end = self.endpoint
                    return await asyncssh.connect(
                        end.address, end.port, username=end.user, client_factory=lambda: watch, **self._pinned()
                    )
                known = await asyncio.to_thread(self._known)
                return await asyncssh.connect(
                    self.endpoint.alias,
                    client_factory=lambda: watch,
                    known_hosts=known,
                    ignore_encrypted=True,
                    **self._config(),
                    **_CLOSED,
                )
        except CloudcmpError:
            raise
        except Exception as error:  # a hostile machine's bytes may end anywhere in the library
            raise self._fault(error, watch, known, within_s) from error

    def _pinned(self) -> dict[str, Any]:
        """The options that accept one host key and use one client key; raises if either is missing."""
        end = self.endpoint
        if not end.host_key:
            raise Refused.at(self.name, "its host key is not known", "launch another machine")
        if end.client is None:
            raise NoCredentials.at(self.name, "there is no key to log in with")
        trusted = asyncssh.import_public_key(end.host_key)
        return {
            **_CLOSED,
            **_OWN_KEY,
            "known_hosts": ([trusted], [], []),
            "server_host_key_algs": [name.decode() for name in trusted.sig_algorithms],
            "client_keys": [asyncssh.import_private_key(end.client.private)],
        }

    def _config(self) -> dict[str, Any]:
        return {} if self.config is None else {"config": [self.config]}

    def _known(self) -> asyncssh.SSHKnownHosts:
        """The known hosts in the user's configuration for the alias; raises Refused if it disables them."""
        options = asyncssh.SSHClientConnectionOptions(host=self.endpoint.alias or "", **self._config())
        for hop in [] if not isinstance(options.tunnel, str) else options.tunnel.split(","):
            host = hop.rpartition("@")[2].partition(":")[0]
            self._named(asyncssh.SSHClientConnectionOptions(host=host, **self._config()), host)
        files = self._named(options, self.name) or [Path("~/.ssh/known_hosts"), _SYSTEM_KNOWN_HOSTS]
        existing = [file.expanduser() for file in files if file.expanduser().is_file()]
        return asyncssh.import_known_hosts("\n".join(file.read_text(errors="replace") for file in existing))

    def _named(self, options: asyncssh.SSHClientConnectionOptions, host: str) -> list[Path]:
        """The known hosts files in the options; empty for the usual ones."""
        named = options.known_hosts
        if named is None:
            raise Refused.at(host, "its UserKnownHostsFile is none, so that any machine would do", "name a file there")
        return [Path(file) for file in named if isinstance(file, str)] if isinstance(named, list) else []

    def _fault(
        self, error: Exception, watch: _Handshake, known: asyncssh.SSHKnownHosts | None, within_s: float
    ) -> ProviderFault:
        """The error as a ProviderFault."""
        if isinstance(error, asyncssh.HostKeyNotVerifiable):
            return self._not_trusted(watch, known)
        kind, next = ProviderFault, _when_silent(watch.reached())
        match error:
            case TimeoutError():
                what = f"no answer within {within_s:g} s (SSH {watch.reached()})"
            case ConnectionRefusedError():
                what, next = "its SSH port is closed: not up yet, or no server", "try again in a moment"
            case asyncssh.KeyExchangeFailed() if "host key" in error.reason:
                kind, what, next = WrongHost, "it has no host key of the kind that was given to it", _WHO
            case asyncssh.PermissionDenied():
                kind, what, next = Refused, "it refuses our key", "see that it is among the user's authorized_keys"
            case asyncssh.KeyImportError():
                kind, what, next = Refused, f"a key cannot be read: {one_line(str(error))}", "see the key's file"
            case _:
                what = f"connection lost (SSH {watch.reached()}): {one_line(str(error)) or type(error).__name__}"
        return kind.at(self.name, what, next)

    def _not_trusted(self, watch: _Handshake, known: asyncssh.SSHKnownHosts | None) -> ProviderFault:
        """The error for another host key than the trusted one, or for an unknown host."""
        shown = f" ({watch.shown[3].get_fingerprint()})" if watch.shown else ""
        if known is None:
            return WrongHost.at(self.name, f"it shows another host key than the one that was given to it{shown}", _WHO)
        if watch.shown and not any(asyncssh.match_known_hosts(known, *watch.shown[:3])[:2]):
            what = f"known_hosts does not know its host key{shown}"
            return Refused.at(self.name, what, f"connect once by hand: ssh {self.name}; or compare with ssh-keyscan")
        what = f"it shows another host key than known_hosts has{shown}"
        return WrongHost.at(self.name, what, "nothing was sent; if the machine was made anew: ssh-keygen -R")


def _when_silent(phase: str) -> str:
    return "see its firewall rules and whether it is up" if phase == "connect" else "see whether it is up, and its load"
