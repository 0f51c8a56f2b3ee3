"""moto as a process of its own: one account with one key, which may do everything, and checks of all signatures.

It writes its port and its key into the file that is named on its command line.
"""

import json
import signal
import sys
from pathlib import Path

from tests.emulated.ec2_moto import Account


def main() -> None:
    """Serve until the process is ended."""
    account, card = Account(), Path(sys.argv[1])
    part = card.with_suffix(".part")
    part.write_text(json.dumps({"port": account.port, "access": account.key_id, "secret": account.secret}))
    part.rename(card)
    signal.pause()


if __name__ == "__main__":
    main()
