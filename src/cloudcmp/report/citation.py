"""The words of a published study: a paragraph of methods, CITATION.cff, BibTeX, and its package's description."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cloudcmp.compare import ALPHA, SAME_RATIO
from cloudcmp.model.plan import steps_of
from cloudcmp.model.trial import Outcome
from cloudcmp.model.view import View

ANONYMOUS = "anonymous"
_BIBTEX = str.maketrans({one: f"\\{one}" for one in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": " ", "^": " "})


@dataclass(frozen=True, slots=True)
class Citation:
    """How a study is cited. `made_at` is its Unix time (s); None for a virtual one. `version` is that of cloudcmp."""

    title: str
    authors: tuple[str, ...]
    made_at: float | None
    version: str
    simulated: bool

    @property
    def day(self) -> str:
        """The day on which the study began, in UTC; empty if it is virtual."""
        return "" if self.made_at is None else datetime.fromtimestamp(self.made_at, UTC).strftime("%Y-%m-%d")

    def cff(self) -> str:
        """A CITATION.cff of version 1.2.0 (https://citation-file-format.github.io); texts are quoted as in JSON."""
        lines = ["cff-version: 1.2.0", "message: If you use these measurements, please cite them.", "type: dataset",
                 f"title: {_quoted(self.title)}", "authors:"]  # fmt: skip
        for author in self.authors or (ANONYMOUS,):
            family, comma, given = (part.strip() for part in author.partition(","))
            lines += [f"  - family-names: {_quoted(family)}", f"    given-names: {_quoted(given)}"] if comma else [
                f"  - name: {_quoted(author)}"]  # fmt: skip
        lines += [f"date-released: {_quoted(self.day)}"] if self.day else []
        lines += [f"abstract: {_quoted(self.abstract)}"]
        return "\n".join(lines) + "\n"

    @property
    def abstract(self) -> str:
        """One sentence on the kind of the numbers, and on what measured them."""
        kind = "Simulated values, planted and not measured, made" if self.simulated else "Measurements of clouds, made"
        return f"{kind} with cloudcmp {self.version}."

    def bibtex(self) -> str:
        """A BibTeX entry of type misc."""
        authors = " and ".join(self.authors or (ANONYMOUS,)).translate(_BIBTEX)
        key = "".join(letter for letter in self.title.casefold() if letter.isascii() and letter.isalnum())[:40]
        fields = {"title": f"{{{self.title.translate(_BIBTEX)}}}", "author": authors, "year": self.day[:4],
                  "note": self.abstract.translate(_BIBTEX)}  # fmt: skip
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        return f"@misc{{{key or 'study'},\n{body}\n}}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def methods(view: View, citation: Citation, values: int) -> str:
    """Return a page with what the study did, in the words of a paper, and what its reader must know.

    `values` is the number of rows of its table. Every number is counted from the study.
    """
    paragraph = " ".join([*_design(view, citation, values), *_tests(view)])
    lines = [f"# {citation.title}", "", "## Methods", "", paragraph]
    if view.warnings:
        lines += ["", "## Mind", "", *(f"- {line}" for line in view.warnings)]
    return "\n".join(lines) + "\n"


def _design(view: View, citation: Citation, values: int) -> Iterable[str]:
    plan = view.plan
    candidates, cells = len(plan.candidates), len({one.cell for one in view.analysis.estimates})
    if citation.simulated:
        yield "All values are simulated: they were planted and not measured."
    if plan.imported:
        yield (f"A table of {_count(values, 'value')} of {_count(candidates, 'candidate')} in "
               f"{_count(cells, 'measurement')} was analysed with cloudcmp {citation.version}.")  # fmt: skip
        yield f"It names {_count(len(plan.launches), 'launch', 'launches')}."
        return
    begun = {plan.trials[one.trial].launch for one in view.attempts}
    rounds = {(plan.launches[at].session, plan.launches[at].round) for at in begun}
    probes = list(dict.fromkeys(one.probe for one in plan.trials))
    ok = sum(one.outcome is Outcome.OK for one in view.attempts)
    yield (f"{_count(candidates, 'candidate')} {'was' if candidates == 1 else 'were'} measured with cloudcmp "
           f"{citation.version} in {_count(len(rounds), 'round')}, in random order (seed {plan.seed}).")  # fmt: skip
    yield (f"In each round each candidate is launched anew; {_count(len(begun), 'launch', 'launches')} began, of "
           f"{len(plan.launches)} planned.")  # fmt: skip
    yield (f"On each launch {_count(len(probes), 'probe')} ({', '.join(probes)}) ran "
           f"{_count(plan.runs, 'time')} for each setting: {ok:,} of {len(view.attempts):,} trials gave "
           f"{_count(values, 'value')} in {_count(cells, 'measurement')}.")  # fmt: skip
    runs, launch, _ = steps_of(plan)
    yield (f"The value of a launch is the {runs} of its runs, and that of a candidate the {launch} of its launches; "
           "the launch is the unit of replication.")  # fmt: skip
    agent = dict(view.provenance).get("agent sha256")
    if agent:
        yield f"The measuring agent has the SHA-256 {agent}."


def _tests(view: View) -> Iterable[str]:
    pairs = view.analysis.comparisons
    if not pairs.family:
        yield "No verdicts were given."
        return
    yield (f"Candidates were compared in pairs by t-tests on launch values (logarithms, unless a metric can be 0), "
           "paired by round where both have rounds in common and else Welch's, Holm-corrected over "
           f"{_count(pairs.family, 'question')} at a two-sided level of {pairs.alpha:g}.")  # fmt: skip
    if view.plan.looks or view.plan.until is not None:
        yield "The number of rounds was not fixed beforehand; the tests spend their error over the looks."
    yield (f"Two candidates are practically the same if two one-sided tests put their ratio within "
           f"{(SAME_RATIO - 1) * 100:.0f} % of 1 (level {ALPHA:g}, corrected alike).")  # fmt: skip


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def package(
    name: str, citation: Citation, resources: Sequence[Mapping[str, Any]], fields: Sequence[Mapping[str, str]],
    table: str,
) -> str:  # fmt: skip
    """Return the text of a `datapackage.json` (Data Package 2.0).

    `resources` have `path`, `bytes` and `hash`; the one whose path is `table` gets the schema `fields`.
    """
    described = []
    for one in resources:
        suffix = str(one["path"]).rpartition(".")[2].lower()
        kind = {"name": str(one["path"]).lower().replace(".", "-"), "format": suffix,
                "mediatype": _MEDIA.get(suffix, "text/plain")}  # fmt: skip
        described.append({**kind, **one, **({"schema": {"fields": list(fields)}} if one["path"] == table else {})})
    made = {} if citation.made_at is None else {"created": f"{citation.day}T00:00:00Z"}
    found = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": name,
        "title": citation.title,
        "description": citation.abstract,
        **made,
        "contributors": [{"title": one, "roles": ["author"]} for one in citation.authors or (ANONYMOUS,)],
        "resources": described,
    }
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


_MEDIA = {
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "yaml": "application/yaml",
    "csv": "text/csv",
    "md": "text/markdown",
    "bib": "application/x-bibtex",
}
