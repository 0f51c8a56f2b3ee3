"""The report as a page: what it says, and that it can neither run nor load anything."""

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from importlib import resources
from xml.etree import ElementTree

import pytest
from tests.report.listed import Listed
from tests.slices import spread

from cloudcmp.model.pairs import Analysis
from cloudcmp.model.trial import Outcome
from cloudcmp.model.view import View
from cloudcmp.report import inline_svg
from cloudcmp.report.figures import Figure
from cloudcmp.report.html import render
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import outcomes

from .payloads import MARKUP, TERMINAL

# An endless text is cut, which makes equal lines of different ones: it has a test of its own.
PAYLOADS = [payload for payload in (*MARKUP, *TERMINAL) if len(payload) < 1000]
ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "scope", "colspan", "aria-label",
    "data-label", "role",
}  # fmt: skip
# Of drawings; HTML names attributes in lower case.
DRAWING = {"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clippath", "circle", "title"}
DRAWN = {name.lower() for name in inline_svg._ATTRIBUTES} | {"role", "aria-label", "class"}


class Page(HTMLParser):
    """The elements of a page in order, its attributes, and its visible text.

    Without `wbr`, a place in a name where a line may break: how many there are depends on the name.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(f"{tag} {name}", value or "") for name, value in attrs if tag == "wbr"]
        if tag == "wbr":
            return
        self.inside = tag
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""
        self.tags.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.text += "" if self.inside == "style" else f"{data}\n"

    def handle_decl(self, decl: str) -> None:
        self.tags.append(f"!{decl.lower()}")

    def unknown_decl(self, data: str) -> None:
        self.tags.append(f"unknown {data}")

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"comment {data}")

    def handle_pi(self, data: str) -> None:
        self.tags.append(f"instruction {data}")


@pytest.fixture(scope="module")
def html(view: View, drawn: tuple[Figure, ...]) -> str:
    return render(view, drawn)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_policy_is_the_first_element_of_the_head(page: Page) -> None:
    head = page.tags[page.tags.index("head") :]
    assert head[1] == "meta"
    policy = next(value for name, value in page.attributes if name == "content")
    style = (resources.files("cloudcmp.report") / "templates" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")


def test_the_style_sheet_is_on_the_page_as_its_digest_says(html: str) -> None:
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    policy = re.search(r"sha256-([^']+)'", html)
    assert style is not None
    assert policy is not None
    assert base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode() == policy[1]
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_nothing_on_the_page_runs_or_loads(page: Page) -> None:
    forbidden = {"script", "iframe", "object", "embed", "link", "base", "form", "img", "image", "use", "foreignobject"}
    assert forbidden.isdisjoint(page.tags)
    for name, value in page.attributes:
        assert name in ATTRIBUTES | DRAWN
        assert name != "href" or value.startswith("#")
        assert "url(" not in value or value.startswith("url(#")


def test_a_drawing_keeps_nothing_but_lines_and_words(drawn: tuple[Figure, ...]) -> None:
    for figure in drawn:
        page = Page(inline_svg.inlined(figure.svg, figure.name))
        assert {tag.removeprefix("/") for tag in page.tags} <= DRAWING
        assert {name for name, _ in page.attributes} <= DRAWN
        assert "title" in page.tags
        words = [one.text for one in ElementTree.fromstring(figure.svg).iter() if one.tag.endswith("}text")]
        assert words
        for text in words:
            assert text is None or text in page.text


def test_what_could_run_in_a_drawing_is_left_out() -> None:
    hostile = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="x()">'
        '<script>x()</script><a xlink:href="http://evil.example"><text>in</text></a><image href="http://evil.example"/>'
        '<foreignObject><body/></foreignObject><g id="c" clip-path="url(#c)"><path d="M0,0" style="x" onclick="x()" '
        'role="graphics-symbol" aria-label="who: &lt;b&gt;; 1.23456789"/></g></svg>'
    )
    assert inline_svg.inlined(hostile, "fig") == (
        '<svg><g id="fig-c" clip-path="url(#fig-c)"><path d="M0,0"><title>who: &lt;b&gt;; 1.235</title></path></g>'
        "</svg>"
    )


def test_links_inside_the_page_lead_somewhere(page: Page) -> None:
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for name, value in page.attributes if name == "href"} <= set(ids)


@pytest.fixture(scope="module")
def harmless(poison: Callable[[str], View]) -> list[str]:
    return Page(render(poison("harmless"), ())).tags


@pytest.mark.parametrize("payload", spread(PAYLOADS, 12))
def test_p39_no_text_changes_the_elements_of_the_page(
    payload: str, poison: Callable[[str], View], harmless: list[str]
) -> None:
    found = Page(render(poison(payload), ()))
    assert found.tags == harmless
    for name, value in found.attributes:
        assert name in ATTRIBUTES | DRAWN
        assert name != "href" or value.startswith("#")
    assert not any(ord(char) < 32 and char != "\n" for char in found.text)
    assert not any(char in found.text for char in "\x7f\x9b\u202e\u2066\u200b\u2028")


def test_endless_texts_are_cut(poison: Callable[[str], View]) -> None:
    assert len(render(poison("<" * 100_000), ())) < 2_000_000


def test_what_is_simulated_says_so_in_every_caption(html: str, page: Page) -> None:
    captions = re.findall(r"<caption>(.*?)</caption>|<figcaption>(.*?)</figcaption>", html)
    assert len(captions) > 10
    assert all("SIMULATED" in "".join(caption) for caption in captions)
    assert "SIMULATED" in page.text.split("Answer")[0]


def test_the_page_says_what_was_asked_found_and_doubted(page: Page) -> None:
    for words in (
        "Which of three clouds serves a web shop best?",
        "beta-2 moves the most blobs for the money.",
        "its launches fall into two groups",
        "its launches fall into two groups",
        "No price: simulated/gamma-2",
        "no answer within 20 s",
        "EPYC 7763",
        "Xeon Platinum",
        "METHODOLOGY.md",
        "11 / 12",
        "4.1 %",
        "2026-09-21T14:13:20Z",
    ):
        assert words in page.text


def test_no_word_of_the_machine_for_unknown_is_shown(page: Page) -> None:
    assert not re.search(r"\b(nan|None|inf|null|undefined)\b", page.text)


def test_only_the_last_block_tells_of_interruptions(view: View) -> None:
    quiet, loud = render(replace(view, interruptions=()), ()), render(replace(view, interruptions=("a", "b")), ())
    cut = '<footer id="interruptions">'
    assert quiet.partition(cut)[0] == loud.partition(cut)[0]
    assert quiet != loud
    assert loud.partition(cut)[2].count("<p>") == 2


def test_interrupted_attempts_are_counted_nowhere_else(view: View) -> None:
    without = replace(view, attempts=tuple(one for one in view.attempts if not one.interrupted))
    assert render(without, ()) == render(view, ())


def test_why_trials_failed_stands_with_the_warnings_the_most_frequent_first(view: View) -> None:
    lost = (replace(one, outcome=Outcome.FAILED, why="no space left") if one.trial < 3 else one
            for one in view.attempts)  # fmt: skip
    said = [
        text for text in outcomes.warnings(StudyView.of(replace(view, attempts=tuple(lost)))) if "why trials" in text
    ]
    names = ["alpha-2", "beta-2", "gamma-2"]
    assert said == [
        f"{names[0]}: why trials failed: no space left",
        f"{names[1]}: why trials failed: no space left",
        f"{names[2]}: why trials failed: no answer within 20 s; no space left",
    ]


def test_a_study_without_anything_has_a_page_all_the_same(view: View) -> None:
    nothing = Analysis((), Listed(), (), Listed())
    empty = replace(view, analysis=nothing, attempts=(), series=(), cdfs=(), hosts=(), provenance=(),
                    interruptions=(), warnings=())  # fmt: skip
    text = Page(render(empty)).text
    assert "Nothing was measured" in text
    assert "Interruptions" not in text  # nothing stands on a page of its own that says so


def test_many_candidates_make_lists_and_not_columns(view_of: Callable[..., View], make_candidate: Callable) -> None:  # type: ignore[type-arg]
    many = tuple(make_candidate(at, "simulated", f"cloud-{at}", "0.1") for at in range(9))
    text = Page(render(view_of(many), ())).text
    for words in ("practically the same", "behind", "undecided", "cloud-8", "n 6, 12/12 ok"):
        assert words in text


def test_a_long_study_stays_a_page_that_opens(view: View) -> None:
    found = view.analysis
    cell = found.estimates[0].cell
    names = [f"fma_flop_per_s precision=f64;threads={at}" for at in range(2, 902)]
    swollen = replace(
        found,
        estimates=tuple(replace(one, cell=name) for name in names for one in found.estimates if one.cell == cell),
        comparisons=Listed(replace(one, cell=name) for name in names for one in found.comparisons.of(cell)),
        winners=(),
    )
    text = render(replace(view, analysis=swollen, series=(), cdfs=()))
    assert len(text) < 4_000_000
    assert "further pairs are only in" in text
    assert "further cells are only in" in text


def test_the_age_of_a_price_is_told(view: View) -> None:
    first = view.plan.candidates[0]
    assert first.offering.price is not None
    told = ((date(2026, 9, 1), "(20 days old when measured)"), (date(2026, 9, 30), "(9 days after measuring)"))
    for day, words in told:
        priced = replace(first, offering=replace(first.offering, price=replace(first.offering.price, as_of=day)))
        plan = replace(view.plan, candidates=(priced, *view.plan.candidates[1:]))
        assert words in Page(render(replace(view, plan=plan), ())).text


def test_a_machine_that_stands_in_and_an_imported_table_are_told(view: View) -> None:
    standing = tuple(replace(one, runner="local", offering=replace(one.offering, provider="aws"))
                     for one in view.plan.candidates)  # fmt: skip
    text = Page(render(replace(view, plan=replace(view.plan, candidates=standing)), ())).text
    assert "local stands in for aws" in text
    assert "[on local, which stands in for aws]" in text
    assert "SIMULATED" not in text
    assert "[SIMULATED; IMPORTED]" in Page(render(replace(view, plan=replace(view.plan, imported=True)), ())).text


def test_what_was_delivered_stands_beside_what_was_advertised(page: Page) -> None:
    words = page.text.split("Machines\n")[-1]
    assert "2\ndelivered: 2\n" in words
    assert "4 GiB\ndelivered: 3.821 GiB\n" in words
    assert "network bytes per s\n1.25 GB/s" in words
    assert "kernel" in words.split("delivered, and the same on all")[1]


def test_a_warning_is_said_once_with_all_that_it_holds_for(view: View) -> None:
    warned = tuple(replace(one, warnings=("two modes",)) for one in view.analysis.estimates)
    text = Page(render(replace(view, analysis=replace(view.analysis, estimates=warned)), ())).text
    names = "alpha-2, beta-2, gamma-2"
    assert f"{names}: two modes (floating point (fma), 1 thread, and 11 more)" in text


NAMES = [payload for payload in MARKUP if not set("=;") & set(payload)]


@pytest.mark.parametrize("payload", spread(NAMES, 5))
def test_p39_an_imported_metric_may_be_called_anything(payload: str, view: View, harmless: list[str]) -> None:
    kept = [one for one in view.analysis.estimates if one.cell.startswith("task_time_s")]
    pairs = [one for one in view.analysis.comparisons if one.cell.startswith("task_time_s")]

    def named(name: str) -> list[str]:
        metric = replace(view.metrics["task_time_s"], name=name, unit=name)
        found = Analysis(
            tuple(replace(one, cell=name) for one in kept),
            Listed(replace(one, cell=name) for one in pairs),
            (),
            Listed(),
        )
        few = replace(view, metrics={name: metric}, analysis=found, series=(), cdfs=())
        return Page(render(few, ())).tags

    assert named("".join(payload.split())) == named("harmless")


def test_the_answer_is_open_and_first_and_everything_else_is_folded(html: str, page: Page) -> None:
    ids = [value for name, value in page.attributes if name == "id"]
    assert ids.index("answer") < ids.index("verdicts") < ids.index("warnings") < ids.index("figures")
    opened = html[html.index("<body>") : html.index("<details")]
    assert 'id="verdicts"' in opened
    assert opened.count('class="forest"') >= 10
    for folded in ("figures", "winners", "asked", "offered", "tables", "pairs", "hosts", "provenance", "reading"):
        before = html[: html.index(f'id="{folded}"')]
        assert before.count("<details") > before.count("</details>"), folded


def _offered(page: str) -> str:
    return page[page.index('id="offered"') : page.index("</section>", page.index('id="offered"'))]


def test_what_each_provider_offers_is_told(view: View) -> None:
    first = view.plan.candidates[0]
    known = replace(first, offering=replace(first.offering, provider="aws", region="eu-central-1"))
    section = _offered(render(replace(view, plan=replace(view.plan, candidates=(known, *view.plan.candidates[1:])))))
    assert re.findall(r"<caption>(.*?)</caption>", section)[0].startswith("Services")
    assert section.count("<caption>") == 3
    for title in ("instance types", "price an hour", "price from", "part of the world"):
        assert f">{title}</th>" in section
    assert "Frankfurt" in section


def test_places_of_which_nothing_is_known_have_no_table(html: str) -> None:
    section = _offered(html)
    assert section.count("<caption>") == 2
    assert "part of the world" not in section
    assert section.count("A dash: unknown") == 1  # the note stands below the last table


def test_each_cache_is_one_fact(view: View) -> None:
    caches = {
        "cpu.caches.0.bytes": "32768", "cpu.caches.0.level": "1", "cpu.caches.0.type": "Data",
        "cpu.caches.0.line_bytes": "64", "cpu.caches.0.shared_cpus": "0",
        "cpu.caches.1.bytes": "33554432", "cpu.caches.1.level": "3", "cpu.caches.1.type": "Unified",
        "cpu.caches.2.bytes": "33554432", "cpu.caches.2.level": "3", "cpu.caches.2.type": "Unified",
        "cpu.caches.3.strange": "yes",
    }  # fmt: skip
    text = Page(render(replace(view, hosts=((0, tuple(caches.items())),)), ())).text
    assert "cpu cache L1 data" in text
    assert "32 KiB, lines of 64 B, shared by CPUs 0" in text
    assert "cpu cache L3 (2)" in text
    assert text.count("32 MiB") == 2
    assert "cpu caches 0" not in text
    assert "cpu caches 3 strange" in text


def test_one_more_line_is_shown_and_not_folded(view: View) -> None:
    for count, folded in ((5, 0), (6, 1)):
        page = render(replace(view, warnings=tuple(f"warning {at}" for at in range(count)), hosts=(), attempts=(),
                              analysis=replace(view.analysis, estimates=())), ())  # fmt: skip
        assert page.count(" more warnings</summary>") == folded
        assert "1 more warning" not in page


def test_an_imported_table_tells_nothing_of_what_is_offered(view: View) -> None:
    shown = render(replace(view, plan=replace(view.plan, imported=True)), ())
    assert 'id="offered"' not in shown
