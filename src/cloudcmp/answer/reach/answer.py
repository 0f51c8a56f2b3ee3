"""Answers which provider reaches the vantage points of an area best, where each is slow, and how surely."""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.analysis.wide_area.best import best_times, curves, missing, reached
from cloudcmp.analysis.wide_area.given_addresses import mappings
from cloudcmp.analysis.wide_area.light import without_impossible
from cloudcmp.analysis.wide_area.page_time import PageModel, page_figures
from cloudcmp.answer.reach.sentences import cautions
from cloudcmp.compare.wide_area import best_providers, reach_pairs
from cloudcmp.errors import UserMistake
from cloudcmp.model.reach import Look, WideAreaAnswer
from cloudcmp.model.wide_area import Phase, WideArea

LIMIT_S = 0.1
"""Above this round trip a vantage point counts as far, unless another limit is asked for."""


def reach(
    area: WideArea, limit_s: float = LIMIT_S, model: PageModel | None = None, looks: Sequence[Look] = ()
) -> WideAreaAnswer:
    """Answer from the times of an area; what is impossible is left out first.

    `looks` are those that the area is made of: a look that found nothing is an answer too. Raises UserMistake if no
    round trip came back otherwise.
    """
    sound, impossible = without_impossible(area)
    told = looks or area.names
    if not told and not any(one.phase is Phase.RTT and one.median_s is not None for one in sound.paths):
        raise UserMistake.at(area.source, "no round trip came back from any region", "see that they answer pings")
    times = best_times(sound)
    pairs = reach_pairs(sound, times)
    best, decided = best_providers(times.providers, pairs)
    names, name_curves = mappings(sound)
    pages, page_curves = page_figures(sound, times, model or PageModel())
    found = WideAreaAnswer(
        area=sound,
        best_times=times,
        limit_s=limit_s,
        best=best,
        decided=decided,
        reached=reached(sound, times, limit_s),
        pairs=pairs,
        missing=missing(sound, times, limit_s),
        names=names,
        pages=pages,
        impossible=impossible,
        curves=(*curves(sound, times), *name_curves),
        page_curves=page_curves,
        cautions=(),
        looks=tuple(looks),
    )
    if looks:  # one place: there is no distribution over places, and its pages are measured
        found = replace(found, pages=(), curves=(), page_curves=())
    return replace(found, cautions=tuple(cautions(found)))
