"""The cloud-config text of a new machine, for its first boot."""

import json
import math
from importlib import resources

from cloudcmp.agent.host import ED25519, SCRIPT, script
from cloudcmp.model.remote import KeyPair

USER = "cloudcmp"
TTL_S_MAX = 9_999_999  # 115 days, the limit of the machine's own `ttl` too
BYTES_MAX = 16 * 1024
"""The largest user data that EC2 accepts.

Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html
"""

# Runs at every boot, before anything that could hang: the time to live counts from the first boot, and ends at the end
# of the lease at the latest. An end before the request comes from a wrong clock: it holds until the clock is right.
_BOOT = """{arm}
end=$(cat /var/lib/cloudcmp/end 2>/dev/null) || end=
now=$(date +%s)
case "$end" in '' | *[!0-9]*) end=$((now + {ttl_s})) ;; esac
if [ "$now" -ge {asked_at} ] && [ "$end" -le {asked_at} ]; then end={ends_at}; fi
[ "$end" -le {ends_at} ] || end={ends_at}
arm "$end" {ttl_s}
"""
_NEVER = 9_999_999_999  # the last Unix second of ten digits


def cloud_config(host: KeyPair, client_public: str, ttl_s: float, asked_at: float | None = None) -> str:
    """The user data of a machine: its host key, our login, the script for root, and its timer.

    The machine powers itself off `ttl_s` seconds after its first boot, or after the request (`asked_at`, Unix s) if
    that is sooner by its own clock; the provider may bill a machine that is powered off.
    The text contains the injected host key, so `rotate` must replace it at the first login. Written as JSON, which
    every reader of cloud-config accepts. Raises ValueError for a time to live out of range.
    Keys of cloud-config: https://docs.cloud-init.io/en/latest/reference/modules.html
    """
    seconds = math.ceil(ttl_s)
    if not 1 <= seconds <= TTL_S_MAX:
        raise ValueError(f"a time to live of {ttl_s:g} s is not between 1 and {TTL_S_MAX} s")
    config = {
        "bootcmd": [["sh", "-c", _boot(seconds, asked_at)]],
        "ssh_deletekeys": True,
        "ssh_genkeytypes": ["ed25519"],
        "ssh_keys": {"ed25519_private": host.private, "ed25519_public": host.public},
        "ssh_quiet_keygen": True,
        "ssh_pwauth": False,
        "disable_root": True,
        "allow_public_ssh_keys": False,
        "users": [_user(client_public)],
        "write_files": [{"path": SCRIPT, "owner": "root:root", "permissions": "0755", "content": host_script()}],
        # A measured machine should not update itself during a trial.
        "package_update": False,
        "package_upgrade": False,
    }
    return "#cloud-config\n" + json.dumps(config, indent=0) + "\n"


def host_script() -> str:
    """The text of `cloudcmp-host` as installed, including the timer."""
    return script().replace("# @arm@\n", _arm())


def _boot(ttl_s: int, asked_at: float | None) -> str:
    requested_at = 0 if asked_at is None else math.ceil(asked_at)
    ends_at = _NEVER if asked_at is None else requested_at + ttl_s
    return _BOOT.format(arm=_arm(), ttl_s=ttl_s, asked_at=requested_at, ends_at=ends_at)


def _arm() -> str:
    return resources.files("cloudcmp.agent").joinpath("guest-timer.sh").read_text(encoding="utf-8")


def _user(client_public: str) -> dict[str, object]:
    if not client_public.startswith(f"{ED25519} ") or "\n" in client_public.strip():
        raise ValueError(f"the key to log in with is not one line of {ED25519}")
    return {
        "name": USER,
        "lock_passwd": True,
        "shell": "/bin/sh",
        "ssh_authorized_keys": [client_public.strip()],
        "sudo": f"ALL=(root) NOPASSWD: {SCRIPT}",
    }
