"""Opens SSH connections to machines; the first one loads the SSH library."""

import os
from collections.abc import Mapping

from cloudcmp.model.remote import Endpoint, Shell

CONFIG_VARIABLE = "CLOUDCMP_SSH_CONFIG"


async def dial(endpoint: Endpoint, within_s: float, *, environ: Mapping[str, str] | None = None) -> Shell:
    """Opens a Shell on a machine, within this many seconds.

    Only the endpoint's host key is accepted. With an alias, the user's OpenSSH configuration (`$CLOUDCMP_SSH_CONFIG` or
    the usual file) and known hosts decide instead. Raises WrongHost for another host key, Refused for a refused login
    or an unknown host, ProviderFault for a machine that is not up or stops answering. A machine that still boots may
    cause any of these for a moment; it is never accepted in spite of them.
    """
    from cloudcmp.agent.connection import SshHost
    from cloudcmp.agent.shell import SshShell

    variables = os.environ if environ is None else environ
    host = SshHost(endpoint, variables.get(CONFIG_VARIABLE) or None)
    return SshShell(host, await host.connect(within_s))
