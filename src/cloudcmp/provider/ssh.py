"""Machines that the user already has, named in their OpenSSH configuration.

A lease is a folder on the machine, `~/.cloudcmp/<token>`, with its tags in it. Its deletion also kills the processes in
it. A machine whose host key is not in the user's known hosts is refused.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import INCOMPLETE, CreateRequest, Handle, Listing, TaggedResource
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import do_nothing
from cloudcmp.model.remote import CommandOutput, Dial, Endpoint, Shell
from cloudcmp.model.safety import Finding, MachineStatus, Safeguard
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.common.unbilled import Unbilled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

REGION = "ssh"
CONFIG_VARIABLE = "CLOUDCMP_SSH_CONFIG"
_FOLDER = ".cloudcmp"
_DIAL_S = 30.0
_TOKEN = re.compile(r"[A-Za-z0-9-]{1,64}")
_CARD_BYTES = 8192
_FOLDERS_MAX = 1000

_MAKE = """if [ -L "${1%/*}" ] || [ -L "$1" ]; then echo "it is a symbolic link" >&2; exit 1; fi
umask 077 && mkdir -p "$1" && cat > "$1/card.new" || exit 1
# A lost connection truncates the card, so it gets its name only when it is complete.
grep -qF "\\"token\\": \\"$2\\"" "$1/card.new" && [ -z "$(tail -c 1 "$1/card.new")" ] || exit 1
mv -f "$1/card.new" "$1/card.json"
"""
_LIST = """[ -L "$1" ] && { echo "it is a symbolic link" >&2; exit 1; }
cd "$1" 2>/dev/null || exit 0
for d in */; do
  [ -L "${d%/}" ] && continue
  printf "%s " "${d%/}"
  { [ ! -L "${d}card.json" ] && cat "${d}card.json" 2>/dev/null; } || echo
done
"""
# A card names the lease; a folder with only an incomplete card is removed too.
_END = """base=${1%/*}
if [ -L "$base" ] || [ -L "$1" ]; then echo "it is a symbolic link: it is kept" >&2; exit 1; fi
[ -d "$1" ] || exit 0
if [ ! -e "$1/card.json" ] && [ ! -L "$1/card.json" ]; then
  [ -L "$1/card.new" ] || rm -f -- "$1/card.new"
  rmdir -- "$1" 2>/dev/null && exit 0
  echo "it holds files and no card: it is kept" >&2; exit 1
fi
if [ -L "$1/card.json" ] || ! head -c 8192 "$1/card.json" | grep -qF "\\"token\\": \\"$2\\""; then
  echo "its card names another lease: it is kept" >&2; exit 1
fi
here=$(cd -P "$1" && pwd -P) || exit 1
for process in /proc/[0-9]*; do
  case "$(readlink "$process/exe" 2>/dev/null)" in "$here"/*) kill -KILL "${process#/proc/}" 2>/dev/null ;; esac
  case "$(readlink "$process/cwd" 2>/dev/null)/" in "$here"/*) kill -KILL "${process#/proc/}" 2>/dev/null ;; esac
done
rm -rf -- "$here"
"""

SAFEGUARDS = (
    Safeguard("teardown", True, "a launch's folder on the machine goes with all that runs in it"),
    Safeguard("cleanup", True, "by the study's folder, which names the machines"),
    Safeguard("death", True, "an agent ends with its lease; the machine is the user's own and stays on"),
    Safeguard("sweep", False, "machines are only contacted when a study names them; a folder costs nothing but disk"),
)


class SshProvider(Unbilled):
    """The user's own machines. Creates nothing except folders; the study gives their cost.

    `candidates` are the plan's: no other machine is contacted. `dial` opens connections; without it only names can be
    listed. `config` is the OpenSSH configuration that names the machines.
    """

    name = "ssh"
    safeguards: tuple[Safeguard, ...] = SAFEGUARDS

    def __init__(
        self, candidates: Sequence[Candidate] = (), dial: Dial | None = None, config: Path | None = None
    ) -> None:
        self._aliases = tuple(dict.fromkeys(one.offering.name for one in candidates if one.runner == self.name))
        self._dial = dial
        self._config = config or configuration(os.environ)

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machines in the configuration; their properties are unknown until a launch."""
        if region not in {None, REGION}:
            return ()
        return tuple(Offering(self.name, REGION, alias) for alias in aliases(self._config))

    def host(self, candidate: Candidate) -> str:
        """The alias: two candidates on one machine never run at once."""
        return f"ssh {candidate.offering.name}"

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Checks that each machine admits us, has a known host key, disk space and the necessary commands."""
        findings = []
        for alias in dict.fromkeys(one.offering.name for one in candidates):
            try:
                output = await self._run(alias, "uname -sm && df -Pk . | tail -1 && command -v sha256sum >/dev/null")
            except ProviderFault as fault:
                findings.append(Finding("host", False, str(fault)))
                continue
            text = output.out.decode("utf-8", errors="replace").split("\n")[0]
            ok = output.exit_code == 0
            findings.append(Finding("host", ok, f"{alias}: {text if ok else 'sha256sum or df is missing there'}"))
        return tuple(findings)

    async def create(self, request: CreateRequest) -> str:
        """Creates a folder named after the token, with the tags in it; idempotent."""
        alias, folder = self._check_alias(request.offering), self._path(request.token)
        tags = dict(request.tags)
        card = json.dumps({"name": request.name, "token": request.token, "tags": tags}, sort_keys=True)
        output = await self._run(alias, _MAKE, folder, request.token, input=card.encode() + b"\n")
        if output.exit_code != 0:
            raise Refused.at(alias, f"no folder can be made there: {_error(output)}", "see the disk and permissions")
        return f"{alias}/{request.token}"

    async def find(
        self,
        study: str,
        token: str | None = None,
        *,
        region: str | None = None,  # noqa: ARG002
    ) -> tuple[TaggedResource, ...]:
        """The folders on the plan's machines with the study's tag or the token; ignores `region`."""
        folders = [item for alias in self._aliases for item in await self._list_folders(alias)]
        return tuple(
            item for item in folders if ("cloudcmp:study", study) in item.tags or (token and item.token == token)
        )

    async def leftovers(self) -> Listing:
        """The folders on the plan's machines with our tags; without a plan, contacts no machine."""
        folders: list[TaggedResource] = []
        unlisted: list[str] = []
        for alias in self._aliases:
            try:
                folders.extend(item for item in await self._list_folders(alias) if "cloudcmp:schema" in dict(item.tags))
            except ProviderFault as fault:
                unlisted.append(str(fault))
        return Listing(tuple(folders), tuple(unlisted))

    async def destroy(self, handle: Handle) -> None:
        """Kills the processes in the folder and removes it, if it holds this lease's card and is no link."""
        alias, token = self._split_id(handle)
        output = await self._run(alias, _END, self._path(token), token)
        if output.exit_code != 0:
            raise ProviderFault.at(handle.cloud_id, f"it cannot be removed: {_error(output)}", "remove it by hand")

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that the folder does not exist."""
        alias, token = self._split_id(handle)
        output = await self._run(
            alias, '{ test -e "$1" || test -L "$1"; } && echo there || echo absent', self._path(token)
        )
        return f"folder {handle.cloud_id} is not there" if output.out.strip() == b"absent" else None

    async def look(self, handle: Handle) -> MachineStatus:
        """Always running; the alias is resolved when it is dialled."""
        alias, token = self._split_id(handle)
        return MachineStatus("running", alias=alias, folder=self._path(token))

    async def resize(
        self,
        handle: Handle,
        offering: str,  # noqa: ARG002
        stopped: Callable[[], None] = do_nothing,  # noqa: ARG002
    ) -> None:
        """Raises Refused: the machine is the user's own."""
        raise Refused.at(handle.cloud_id, "the user's own machine has no other size", "leave resize out")

    async def _list_folders(self, alias: str) -> list[TaggedResource]:
        try:
            output = await self._run(alias, _LIST, _FOLDER, most_bytes=_FOLDERS_MAX * _CARD_BYTES)
        except ProviderFault as fault:
            raise IncompleteListing(*fault.faults) from fault
        if output.exit_code != 0:
            raise IncompleteListing.at(
                alias, f"its folders cannot be listed: {_error(output)}", "see ~/.cloudcmp there"
            )
        lines = output.out.decode("utf-8", errors="replace").splitlines()
        return [item for line in lines if (item := _parse_folder(alias, line)) is not None]

    async def _run(
        self, alias: str, script: str, *words: str, input: bytes = b"", most_bytes: int = 65536
    ) -> CommandOutput:
        async with self._shell(alias) as shell:
            return await shell.run(["sh", "-c", script, "sh", *words], input=input, most_bytes=most_bytes)

    @asynccontextmanager
    async def _shell(self, alias: str) -> "AsyncIterator[Shell]":
        if self._dial is None:
            raise Refused.at(alias, "no SSH connector was given", "make the provider with one")
        shell = await self._dial(Endpoint(alias=alias), _DIAL_S)
        try:
            yield shell
        finally:
            await shell.close()

    def _split_id(self, handle: Handle) -> tuple[str, str]:
        alias, _, token = handle.cloud_id.rpartition("/")
        return self._check_alias(alias), token

    def _check_alias(self, alias: str) -> str:
        """The alias, if the study names it; no other machine is ever contacted."""
        if alias not in self._aliases:
            raise Refused.at(alias, "this machine is not one of the study's", "name it in the study")
        return alias

    def _path(self, token: str) -> str:
        if not _TOKEN.fullmatch(token):
            raise Refused.at("ssh", f"{token!r} cannot name a folder", "use letters, digits and -")
        return f"{_FOLDER}/{token}"


def configuration(environ: Mapping[str, str]) -> Path:
    """The OpenSSH configuration that names machines: `$CLOUDCMP_SSH_CONFIG`, else the user's own."""
    return Path(environ.get(CONFIG_VARIABLE) or Path.home() / ".ssh" / "config")


def aliases(config: Path) -> tuple[str, ...]:
    """The names after `Host` in a configuration, without patterns, each once; none if it cannot be read."""
    return tuple(dict.fromkeys(_names(config)))


def _names(config: Path) -> Iterator[str]:
    try:
        lines = config.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            words = shlex.split(line.replace("=", " ", 1), comments=True)
        except ValueError:
            continue
        if words and words[0].lower() == "host":
            yield from (word for word in words[1:] if not re.search(r"[*?!]", word))


def _parse_folder(alias: str, line: str) -> TaggedResource | None:
    """The resource in a listing line: folder name, and card if it has one; None for a foreign folder."""
    token, _, card = line.partition(" ")
    if not _TOKEN.fullmatch(token):
        return None
    cloud_id = f"{alias}/{token}"
    try:
        content = json.loads(card)
        tags = tuple(sorted((str(key), str(value)) for key, value in content["tags"].items()))
        return TaggedResource(
            cloud_id, str(content["name"]), str(content["token"]), tags, "there", region=REGION, offering=alias
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return TaggedResource(cloud_id, token, token, (), INCOMPLETE, region=REGION, offering=alias)


def _error(output: CommandOutput) -> str:
    return one_line(output.err.decode("utf-8", errors="replace"), 120) or f"exit {output.exit_code}"
