"""What root does for us on a machine that we launched: the few words of `cloudcmp-host`, and nothing else."""

from collections.abc import Sequence
from importlib import resources

from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import Shell
from cloudcmp.model.untrusted_text import one_line

SCRIPT = "/usr/local/sbin/cloudcmp-host"

# Where there is no sudo we are root, or the script needs none.
_CALL = f'if command -v sudo >/dev/null 2>&1; then exec sudo -n {SCRIPT} "$@"; else exec cloudcmp-host "$@"; fi'


def script() -> str:
    """The text of `cloudcmp-host`, a POSIX shell script."""
    return resources.files("cloudcmp.agent").joinpath("cloudcmp-host.sh").read_text(encoding="utf-8")


def host_command(*words: str) -> Sequence[str]:
    """The command that runs `cloudcmp-host` with these words as root."""
    return ("sh", "-c", _CALL, "cloudcmp", *words)


async def on_host(shell: Shell, *words: str, deadline_s: float = 60.0) -> str:
    """What `cloudcmp-host` prints for these words, stripped and untrusted; raises ProviderFault where it fails.

    The words are `rotate`, `disk DEVICE` (prints the mount point) and `ttl SECONDS`. `die` never answers: run it with
    `shell.run(host_command("die"))` and expect the connection to be lost.
    """
    said = await shell.run(host_command(*words), deadline_s=deadline_s, most_bytes=4096)
    if said.exit_code != 0:
        why = one_line(said.err.decode("utf-8", errors="replace")) or f"exit {said.exit_code}"
        raise ProviderFault.at(f"cloudcmp-host {words[0]}", why, "see the machine's console, or launch another one")
    return said.out.decode("utf-8", errors="replace").strip()
