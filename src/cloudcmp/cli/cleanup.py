"""`cloudcmp cleanup`: destroys everything that a study still owns."""

from typing import TYPE_CHECKING

from cloudcmp.cli.interruption import leaving
from cloudcmp.cli.options import Adopt, Ca, Folder, Json, Quiet, trust_also
from cloudcmp.cli.output import EXIT_DONE, EXIT_FAULT, emit, ignore, say, warn

if TYPE_CHECKING:
    from cloudcmp.execute.teardown import RunEnd


def cleanup(folder: Folder, adopt: Adopt = False, ca: Ca = None, quiet: Quiet = False, json: Json = False) -> int:
    """Destroy everything that a study still owns, and report what is left.

    Refuses a study from another user or computer, with a list of what it would do, unless --adopt is given.

    Example: cloudcmp cleanup cloudcmp-studies/demo-20260105T000000Z
    """
    from cloudcmp.app.cleanup import cleanup as clean_up

    def show_interrupted(ending: "RunEnd") -> None:
        for line in ending.left:
            warn(f"left: {line}")
        if json:
            emit("cleanup", {"destroyed": (), "left": ending.left})
        else:
            say(f"{ending.reason}; run again: cloudcmp cleanup {ending.folder}")

    trust_also(ca)
    result = clean_up(folder, leaving(show_interrupted), warn, adopt=adopt, step=ignore if quiet else warn)
    if not json:
        for line in (*(f"left: {one}" for one in result.left), *result.unsure):
            warn(line)
        say(f"{len(result.destroyed)} destroyed, {len(result.left)} left")
    else:
        emit("cleanup", {"destroyed": result.destroyed, "left": result.left}, result.unsure)
    return EXIT_FAULT if result.left or result.unsure else EXIT_DONE
