"""The entry point; handles signals before importing the rest, which takes longer than a short verb."""

from cloudcmp.cli.interruption import Interruption


def main() -> None:
    """Entry point of the `cloudcmp` command."""
    interruption = Interruption()
    interruption.heed()
    try:
        from cloudcmp.cli import main
    except BaseException:
        # Until Python 3.12, an exception within `__set_name__` becomes a RuntimeError.
        if interruption.came:
            interruption.leave()
        raise
    main.main(interruption)
