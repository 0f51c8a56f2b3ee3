"""The way in: whoever interrupts it is heeded before all the rest is imported, which takes longer than a short verb."""

from cloudcmp.cli.interruption import Interruption


def main() -> None:
    """Entry point of the `cloudcmp` command."""
    interruption = Interruption()
    interruption.heed()
    try:
        from cloudcmp.cli import main
    except BaseException:
        # Until Python 3.12 what is raised while a class is made, within `__set_name__`, comes out as a RuntimeError.
        if interruption.came:
            interruption.leave()
        raise
    main.main(interruption)
