"""`cloudcmp recommend --fleet`: what would save money in a fleet, and what to measure first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from cloudcmp.cli.options import option
from cloudcmp.cli.output import EXIT_DONE, console, emit, ignore, say, warn
from cloudcmp.errors import UserMistake

if TYPE_CHECKING:
    from cloudcmp.app.fleet import FleetRequest
    from cloudcmp.model.price import Purchase


class Stays(StrEnum):
    """Whether a property of each machine stays as it is."""

    SAME = "same"
    ANY = "any"


Fleet = Annotated[
    list[Path] | None, option("--fleet", "Machines that you pay for: say which to move. Give it for each file.", "FILE")
]
Utilisation = Annotated[Path | None, option("--utilisation", "How much of each machine of --fleet is in use.", "FILE")]
Metric = Annotated[
    str | None, option("--metric", "With --fleet: the work of a machine. Default: stressng_best_n.", "COLUMN")
]
Headroom = Annotated[
    str | None, option("--headroom", "With --fleet: added to what is in use. Default: 30 %.", "'30 %'")
]
StudyFile = Annotated[Path | None, option("--study", "With --fleet: write the study of what to measure first.", "FILE")]
Architecture = Annotated[Stays, option("--architecture", "With --fleet: whether it may change.")]
Provider = Annotated[Stays, option("--provider", "With --fleet: whether it may change.")]
Region = Annotated[Stays, option("--region", "With --fleet: whether it may change.")]


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """What was typed that only a fleet has."""

    files: list[Path] | None
    utilisation: Path | None
    metric: str | None
    headroom: str | None
    architecture: Stays
    provider: Stays
    region: Stays
    study: Path | None

    def request(
        self, require: Sequence[str], on: Sequence[str], *, near: str | None, within_km: float, confidence: float,
        spread: str | None, allow_burstable: bool,
    ) -> "FleetRequest":  # fmt: skip
        """The request with the options that a fleet shares with other questions."""
        from cloudcmp.app.fleet import HEADROOM, FleetRequest

        return FleetRequest(
            files=tuple(self.files or ()),
            utilisation=self.utilisation,
            metric=self.metric,
            on=tuple(on),
            headroom=self.headroom or HEADROOM,
            architecture=self.architecture is Stays.ANY,
            provider=self.provider is Stays.ANY,
            region=self.region is Stays.ANY,
            require=tuple(require),
            near=near,
            within_km=within_km,
            confidence=confidence,
            spread=spread,
            allow_burstable=allow_burstable,
        )

    def check_unused(self) -> None:
        """Raise UserMistake if something of a fleet is asked without one."""
        given = {"--study": self.study, "--utilisation": self.utilisation,
                 "--metric": self.metric, "--headroom": self.headroom,
                 "--architecture": self.architecture is Stays.ANY, "--provider": self.provider is Stays.ANY,
                 "--region": self.region is Stays.ANY}  # fmt: skip
        for name, value in given.items():
            if value:
                raise UserMistake.at(name, "it is about a fleet, and none is given", "add --fleet FILE")


def refuse(given: Mapping[str, object]) -> None:
    """Raise UserMistake for an option that is given and that a question about a fleet does not have."""
    for name, value in given.items():
        if value:
            raise UserMistake.at(name, "a question about a fleet does not have it", "leave out one of the two")


def answer(
    sources: list[str], asked: "FleetRequest", purchase: "Purchase", *, study: Path | None, page: Path | None,
    every: bool, json: bool,
) -> int:  # fmt: skip
    """Answer, and print the answer."""
    from cloudcmp.app.fleet import fleet
    from cloudcmp.report.fleet import fleet_document, show_fleet

    found = fleet(sources, asked, purchase=purchase, study=study, progress=ignore if json else warn)
    if page is not None:
        from cloudcmp.app.report import write_page

        write_page(found, page)
    if json:
        emit("recommend", {"fleet": fleet_document(found)}, (*found.cautions, *found.notes))
    else:
        show_fleet(console(), found, every=every)
        if page is not None:
            say(str(page))
        if study is not None:
            say(f"cloudcmp plan {quote(str(study))}")
    return EXIT_DONE
