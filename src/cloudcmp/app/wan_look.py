"""A quick look at URLs from this machine: round trips and pages, by the agent."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cloudcmp.agent import locate
from cloudcmp.analysis.wide_area.looks import area_of, look_of
from cloudcmp.analysis.wide_area.places import located
from cloudcmp.answer.reach.answer import reach
from cloudcmp.catalog import canonical
from cloudcmp.catalog.lookup import probe_of
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.execute.interruption import run_interruptible
from cloudcmp.execute.page_look import look_at
from cloudcmp.execute.platforms.connection import target_of
from cloudcmp.model.reach import Look, WideAreaAnswer
from cloudcmp.model.wide_area import Site
from cloudcmp.store.wide_area import read_vantages, with_vantages, write_latency_table

MOST_URLS, MOST_PAGES = 32, 100
_LONGEST = 60
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,39})/([A-Za-z0-9][A-Za-z0-9._-]{0,39})=(.+)")
_ODD = re.compile(r"[^A-Za-z0-9._/:-]+")


@dataclass(frozen=True, slots=True)
class LookRequest:
    """What is looked at: texts `URL` or `PROVIDER/REGION=URL`, from a place of this name, so many pages of each."""

    urls: tuple[str, ...]
    vantage: str = "here"
    pages: int = 10
    vantages: Path | None = None


def look(asked: LookRequest, *, progress: Callable[[str], None] = lambda _: None) -> WideAreaAnswer:
    """Look at each URL in turn; one at which nothing answers is a result with its reason.

    Raises UserMistake for a text that is no URL, two that are one, a name that is none, or a number out of its bounds.
    """
    targets = _targets(asked.urls)
    if not 1 <= asked.pages <= MOST_PAGES:
        raise UserMistake.at("--count", f"{asked.pages} is not between 1 and {MOST_PAGES}", "choose a number in it")
    name, known = _name(asked.vantage), {} if asked.vantages is None else read_vantages(asked.vantages)
    agent = locate()
    looks: list[Look] = []
    for site, url in targets:
        progress(f"{site}: {asked.pages} pages of {url}")
        try:
            result = run_interruptible(look_at(url, name, asked.pages, agent))
        except OSError as error:
            raise OutsideFault.at(str(agent), f"it cannot be started: {error.strerror}", "build it again") from error
        looks.append(look_of(url, site, result, asked.pages))
    area = located(with_vantages(area_of(looks, name, f"{len(looks)} URL{'s'[: len(looks) > 1]}"), known))
    return reach(area, looks=looks)


def save(found: WideAreaAnswer, path: Path) -> int:
    """Write all times, impossible ones too, as a table that `cloudcmp wan` reads; returns the number of rows."""
    return write_latency_table(path, area_of(found.looks, found.area.vantages[0].name, found.area.source))


def _name(text: str) -> str:
    """The name of a vantage point; raises UserMistake if it is no plain word."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text):
        raise UserMistake.at("--from", f"{text[:80]!r} is no plain word", "use letters, digits, - and _")
    return canonical(probe_of("page"), "vantage", text)


def _targets(texts: Sequence[str]) -> list[tuple[Site, str]]:
    found = [_target(text) for text in texts]
    sites = [site for site, _ in found]
    twice = next((site for site in sites if sites.count(site) > 1), None)
    if twice:
        raise UserMistake.at(f"--to {twice}", "it is named twice", "name it once, or each PROVIDER/REGION=URL")
    if len(found) > MOST_URLS:
        raise UserMistake.at("--to", f"{len(found)} URLs are too many", f"give at most {MOST_URLS}")
    return found


def _target(text: str) -> tuple[Site, str]:
    """The site and the URL in a text; a URL alone is a site by its host and path."""
    named = _NAMED.fullmatch(text)
    url = named[3] if named else text
    target_of(url)
    if named:
        return Site(named[1].lower(), named[2]), url
    parts = urlsplit(url)
    path = _ODD.sub("-", parts.path.strip("/")) or "page"
    return Site(parts.netloc.lower()[:_LONGEST], path[:_LONGEST]), url
