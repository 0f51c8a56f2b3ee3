"""`cloudcmp gaps`: where a provider is behind the others."""

from typing import Annotated

from cloudcmp.cli.options import All, Anonymise, Folder, Json, option
from cloudcmp.cli.output import console, emit


def gaps(
    folder: Folder,
    provider: Annotated[str, option("--provider", "The provider, or a region of simulated ones.", "NAME")],
    every: All = False,
    anonymise: Anonymise = False,
    json: Json = False,
) -> None:
    """Show where a provider is behind the best of the others, worst first.

    Each measurement comes with the ratio to the best, its interval and its verdict, and with the parts of the lost time
    where the study measured them: provisioning and booting, the first byte and the rest.

    Example: cloudcmp gaps cloudcmp-studies/demo-20260105T000000Z --provider nimbus
    """
    from cloudcmp.app.gaps import gaps as gaps_in

    result = gaps_in(folder, provider, anonymise=anonymise)
    if json:
        from cloudcmp.report import documents

        emit("gaps", documents.gaps(result.found, result.view), result.view.warnings)
        return
    from cloudcmp.report.gaps import show_gaps

    show_gaps(console(), result.found, result.view, every=every)
