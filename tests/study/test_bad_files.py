"""P40: a bad study file gets one line a fault, with its place, cause and remedy, at once."""

import re
import subprocess
import sys
import time

import pytest
from tests.slices import long, spread
from tests.study.corpus import BILLED, GOOD, PROVIDERS, bad_files

from cloudcmp.errors import UserMistake
from cloudcmp.study import read_text

LINE = re.compile(r"study\.yaml:[1-9]\d*:[1-9]\d*: [^\n\r]+; [^\n\r]+")
FILES = dict(bad_files())


def faults_of(content: bytes) -> list[str]:
    with pytest.raises(UserMistake) as caught:
        read_text(content, "study.yaml", providers=PROVIDERS, billed=BILLED)
    assert caught.value.exit_code == 2
    return str(caught.value).split("\n")


def test_the_good_file_is_good() -> None:
    study = read_text(GOOD, "study.yaml", providers=PROVIDERS, billed=BILLED)
    assert [one.provider for one in study.candidates] == ["aws", "gcp", "simulated"]


def test_the_corpus_is_large_enough() -> None:
    assert len(FILES) >= 150


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The parser is imported once a process; the limit below is for a file."""
    read_text(GOOD, "study.yaml", providers=PROVIDERS, billed=BILLED)


@pytest.mark.parametrize("name", FILES)
def test_p40_every_bad_file_gets_a_line_with_place_cause_and_remedy(name: str) -> None:
    started = time.process_time()
    lines = faults_of(FILES[name])
    took = time.process_time() - started
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert len(lines) == len(set(lines))
    assert took < 0.2


def many(candidates: int) -> bytes:
    """A study as a program writes it: a line for each thing that it says of a candidate."""
    lines = ["schema: 1", "question: which?", "probes: [{probe: fma}]", "candidates:"]
    for at in range(candidates):
        lines += [f"  - provider: simulated\n    region: r{at}", "    offering: medium", "    # generated",
                  "    volume:\n      type: block\n      size: 10 GiB\n      price: 0.002 USD/h",
                  f"    price: 1.{at:04}1 USD/h"]  # fmt: skip
    return "\n".join(lines).encode()


def test_a_thousand_candidates_with_volumes_and_prices_are_a_study() -> None:
    study = read_text(many(1000), "study.yaml", providers=PROVIDERS, billed=BILLED)
    assert len(study.candidates) == 1000


BOMBS = {
    "numbers": b"candidates:\n" + (b"- [" + b"1," * 1500 + b"]\n") * 300,
    "words": b"candidates:\n" + b"- a\n" * 19_000 + (b"- [" + b"a," * 1500 + b"]\n") * 100,
    "mappings": b"candidates:\n" + (b"- {" + b", ".join(b"a%d: {b: {}}" % at for at in range(250)) + b"}\n") * 250,
    "lists": b"candidates:\n" + (b"- " + b"[" * 15 + b"]" * 15 + b"\n") * 19_000,
}


@pytest.mark.parametrize("name", spread([*BOMBS], 2))
def test_a_file_of_as_many_values_as_may_be_takes_little_time(name: str) -> None:
    started = time.process_time()
    (line,) = faults_of(BOMBS[name])
    assert time.process_time() - started < 2.0  # a quarter of it where nothing else runs
    assert "more than 25000 values in candidates; split the study" in line


@long
def test_files_of_as_many_values_as_may_be_take_little_memory() -> None:
    script = (
        "import resource, sys\nfrom cloudcmp.errors import UserMistake\nfrom cloudcmp.study import read_text\n"
        "def read(content):\n    try:\n        read_text(content, 'x', providers=['simulated'])\n"
        "    except UserMistake as error:\n        return str(error)\n"
        "def peak():\n    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "read(b'schema: 2')\nbefore = peak()\n"
        "assert 'more than 25000 values' in read(sys.stdin.buffer.read())\nprint(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], input=BOMBS["lists"], capture_output=True, check=True)
    assert int(done.stdout) < 50_000  # kB


@pytest.mark.parametrize("key", ["price", "volume price", "resize_price"])
@pytest.mark.parametrize("budget", ["budget: 5 USD", ""])
def test_all_prices_of_a_study_are_in_one_currency(key: str, budget: str) -> None:
    said = {"price": "0.10 USD/h", "volume price": "0.02 USD/h", "resize_price": "0.20 USD/h"}
    said[key] = said[key].replace("USD", "EUR")
    text = (
        f"schema: 1\nquestion: x\n{budget}\nprobes: [{{probe: fma}}]\ncandidates: [{{provider: simulated, "
        f"region: nimbus, offering: small, price: 0.1 USD/h}}, {{provider: simulated, region: nimbus, offering: small, "
        f"price: {said['price']}, resize_price: {said['resize_price']}, "
        f"volume: {{type: ssd, size: 1 GiB, price: {said['volume price']}}}}}]\n"
    )
    (line,) = faults_of(text.encode())
    assert f"{key}: EUR, but others are in USD; write all prices and the budget in one currency" in line


def line_and_column(old: str) -> tuple[int, int]:
    """Where a text of the good file begins."""
    before = GOOD[: GOOD.index(old)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize(
    ("old", "new", "at", "what", "advice"),
    [
        ("budget: 5 USD", "budget: 5", "5 USD", "budget: 5 needs a currency", "write e.g. 5 USD"),
        ("budget: 5 USD", "budget: 5 XYZ", "5 USD", "budget: XYZ is no currency (ISO 4217)", "write e.g. USD or EUR"),
        ("0.10 USD/h", "0.10 XXX/h", "0.10 USD/h", "price: XXX is no currency (ISO 4217)", "write e.g. USD or EUR"),
        ("region: us-east-1", "regoin: us-east-1", "region: us-east-1", "unknown key 'regoin'", "nearest: region"),
        (
            "provider: aws",
            "provider: asw",
            "aws",
            "unknown provider 'asw'",
            "nearest: aws; see 'cloudcmp list providers'",
        ),
        (
            "probe: stream",
            "probe: sream",
            "stream",
            "unknown probe 'sream'",
            "nearest: stream; see 'cloudcmp list probes'",
        ),
        ("0.10 USD/h", "0.0000001 USD/h", "0.10 USD/h", "price: '0.0000001 USD/h' is no price of a machine", "an hour"),
        ("0.10 USD/h", "0 USD/h", "0.10 USD/h", "price: a price of zero is an unknown price", "leave it out"),
        (
            "Europe/Stockholm",
            "Europe/Stokholm",
            "Europe/Stockholm",
            "unknown time zone 'Europe/Stokholm'",
            "nearest: Europe/Stockholm",
        ),
        (
            "fma_flop_per_s threads=all",
            "fma_flop_per_s threads=4",
            "fma_flop_per_s threads=all",
            "no probe of this study gives",
            "nearest: fma_flop_per_s precision=f64;threads=",
        ),
        (
            "  - suite: cpu",
            "  - {command: ls}",
            "suite: cpu",
            "command: ",
            "write - command: {name: mine",
        ),
    ],
)
def test_a_fault_says_where_it_is_and_what_to_do(old: str, new: str, at: str, what: str, advice: str) -> None:
    line, column = line_and_column(at)
    found = [one for one in faults_of(GOOD.replace(old, new, 1).encode()) if what in one]
    assert len(found) == 1
    assert found[0].startswith(f"study.yaml:{line}:")
    assert advice in found[0].partition("; ")[2]
    if "command" not in new:
        assert found[0].startswith(f"study.yaml:{line}:{column}:")


def test_all_faults_are_told_at_once_and_in_order() -> None:
    swaps = {
        "schema: 1": "schema: 9",
        "vcpus: 2": "vcpu: 2",
        "seed: 7": "seed: x",
        "probe: stream": "probe: x",
        "6\n": "0\n",
    }
    text = GOOD
    for old, new in swaps.items():
        text = text.replace(old, new, 1)
    lines = faults_of(text.encode())
    assert len(lines) == len(swaps)
    places = [tuple(map(int, line.split(":")[1:3])) for line in lines]
    assert places == sorted(places)


def test_hostile_words_do_not_reach_the_terminal() -> None:
    text = GOOD.replace("provider: aws", 'provider: "a\\x1b[31m\\u202e\\n0:0: b; c"', 1)
    for line in faults_of(text.encode()):
        assert line.isprintable()


def test_long_words_are_cut() -> None:
    lines = faults_of(GOOD.replace("provider: aws", f"provider: {'a' * 150}", 1).encode())
    assert max(map(len, lines)) < 250
