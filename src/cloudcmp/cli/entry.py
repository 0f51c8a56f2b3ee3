"""The way in: whoever interrupts it is heeded before all the rest is imported, which takes longer than a short verb."""

from cloudcmp.cli.interruption import Interruption


def main() -> None:
    """Entry point of the `cloudcmp` command."""
    interruption = Interruption()
    interruption.heed()
    try:
        from cloudcmp.cli import main
    except KeyboardInterrupt:
        interruption.leave()
    main.main(interruption)
