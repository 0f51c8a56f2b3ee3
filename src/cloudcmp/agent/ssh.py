"""Opens connections to machines; the SSH library is only loaded when the first one is opened."""

import os
from collections.abc import Mapping

from cloudcmp.model.remote import Endpoint, Shell

CONFIG_VARIABLE = "CLOUDCMP_SSH_CONFIG"


async def dial(endpoint: Endpoint, within_s: float, *, environ: Mapping[str, str] | None = None) -> Shell:
    """A Shell on a machine, within so many seconds.

    Only the endpoint's host key is accepted. With an alias, the user's OpenSSH configuration (`$CLOUDCMP_SSH_CONFIG`
    or the usual file) and known hosts decide instead. Raises WrongHost for another host key, Refused for a refused
    login or a host that is not known, ProviderFault for a machine that is not up or stops answering. A machine that
    still boots may show any of these for a moment; none of them lets it in.
    """
    from cloudcmp.agent.connection import Line
    from cloudcmp.agent.shell import SshShell

    variables = os.environ if environ is None else environ
    line = Line(endpoint, variables.get(CONFIG_VARIABLE) or None)
    return SshShell(line, await line.connect(within_s))
