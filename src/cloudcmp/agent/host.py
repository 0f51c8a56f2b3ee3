"""The script `cloudcmp-host`: the few actions of root on a machine that cloudcmp launched."""

from collections.abc import Sequence
from importlib import resources

from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import Shell
from cloudcmp.model.untrusted_text import one_line

SCRIPT = "/usr/local/sbin/cloudcmp-host"

# Without sudo, the user is root or the script does not need it.
_CALL = f'if command -v sudo >/dev/null 2>&1; then exec sudo -n {SCRIPT} "$@"; else exec cloudcmp-host "$@"; fi'


def script() -> str:
    """The text of `cloudcmp-host`, a POSIX shell script."""
    return resources.files("cloudcmp.agent").joinpath("cloudcmp-host.sh").read_text(encoding="utf-8")


def host_command(*words: str) -> Sequence[str]:
    """The command that runs `cloudcmp-host` with these words as root."""
    return ("sh", "-c", _CALL, "cloudcmp", *words)


async def run_host_script(shell: Shell, *words: str, deadline_s: float = 60.0) -> str:
    """Run `cloudcmp-host` with these words; returns its output, stripped and untrusted; raises ProviderFault.

    The words are `rotate`, `disk DEVICE` (prints the mount point) and `ttl SECONDS`. `die` never answers: run it with
    `shell.run(host_command("die"))` and expect the connection to be lost.
    """
    output = await shell.run(host_command(*words), deadline_s=deadline_s, most_bytes=4096)
    if output.exit_code != 0:
        why = one_line(output.err.decode("utf-8", errors="replace")) or f"exit {output.exit_code}"
        raise ProviderFault.at(f"cloudcmp-host {words[0]}", why, "see the machine's console, or launch another one")
    return output.out.decode("utf-8", errors="replace").strip()
