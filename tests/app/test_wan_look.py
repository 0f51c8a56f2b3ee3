"""`wan --to`: a look at URLs from this machine, and what it leaves behind."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudcmp.app.wan_look import LookRequest, look, save
from cloudcmp.app.wide_area import wide_area
from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Phase, Site
from tests.cli.command import cloudcmp

CLOSED = "http://127.0.0.1:9/x"


@pytest.fixture(scope="module")
def served(agent: Path) -> Iterator[str]:
    command = [str(agent), "serve", "--listen", "127.0.0.1:0", "--for", "120"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield str(json.loads(server.stdout.readline())["addr"])
        server.kill()


def test_a_look_has_the_median_and_interval_of_each_url_and_is_read_back(served: str, tmp_path: Path) -> None:
    urls = (f"near/one=http://{served}/pixel", f"http://{served}/2mb", CLOSED)
    found = look(LookRequest(urls, "lab", 8))
    pixel, large, gone = found.looks
    assert (pixel.site, str(large.site), str(gone.site)) == (Site("near", "one"), f"{served}/2mb", "127.0.0.1:9/x")
    for one in (pixel, large):
        assert (one.pages, one.started, one.why) == (8, 8, "")
        for phase in (Phase.RTT, Phase.CONNECT, Phase.FIRST_BYTE, Phase.PAGE):
            time = one.time(phase)
            assert time is not None
            assert time.bounds is not None
            assert time.bounds.low <= time.median_s <= time.bounds.high
            assert (time.n >= 8, 0 < time.least_s <= time.median_s) == (True, True)
    assert (gone.pages, gone.times, gone.why.split(";")[0]) == (0, (), "no page came: connect: refused")
    table = tmp_path / "look.csv"
    assert save(found, table) == len(found.area.paths)
    read = wide_area([str(table)])
    assert [(one.name, read.sites) for one in read.vantages] == [("lab", tuple(one.site for one in found.looks))]
    assert [one.n for one in read.paths] == [one.n for one in found.area.paths]
    assert [one.median_s or 0 for one in read.paths] == pytest.approx(
        [one.median_s or 0 for one in found.area.paths], rel=1e-8
    )
    assert save(found, table) == len(found.area.paths), "a table of times may be replaced"


def test_fewer_pages_than_six_have_no_interval(served: str) -> None:
    (one,) = look(LookRequest((f"http://{served}/pixel",), pages=5)).looks
    time = one.time(Phase.PAGE)
    assert time is not None
    assert (time.n, time.bounds) == (5, None)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (LookRequest(("ftp://a.example.org",)), "it is no URL of HTTP"),
        (LookRequest(("one=here",)), "it is no URL of HTTP"),
        (LookRequest(("http://a:b@example.org",)), "it has more than a host and a path"),
        (LookRequest((CLOSED, CLOSED)), "it is named twice"),
        (LookRequest((CLOSED,), "a b"), "--from: 'a b' is no plain word"),
        (LookRequest((CLOSED,), pages=0), "--count: 0 is not between 1 and 100"),
        (LookRequest(tuple(f"http://127.0.0.1:{9 + at}" for at in range(33))), "33 URLs are too many"),
    ],
)
def test_a_request_that_is_none_is_one_line_before_anything_is_sent(asked: LookRequest, says: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        look(asked)
    (fault,) = mistake.value.faults
    assert says.removeprefix("--from: ").removeprefix("--count: ") in fault.what
    assert "\n" not in fault.line()


def test_the_command_says_which_is_nearest_or_that_nothing_answered(served: str, tmp_path: Path) -> None:
    said = cloudcmp("wan", "--to", f"http://{served}/pixel", "--to", CLOSED, "--out", "a.csv", cwd=tmp_path)
    assert said.code == 0, said.err
    assert f"{served}/pixel is nearest to here" in " ".join(said.out.split())
    assert "no page came: connect: refused" in " ".join(said.out.split())
    assert (tmp_path / "a.csv").read_text().startswith("vantage,provider,region,phase,ms,n,started,least,size_bytes\n")
    nothing = cloudcmp("wan", "--to", CLOSED, "--json", cwd=tmp_path)
    assert nothing.code == 0
    assert nothing.json["data"]["answer"] == "Nothing answered that was asked from here"
    assert nothing.json["data"]["looks"][0]["pages"] == 0


def test_a_url_that_answers_from_elsewhere_is_no_time_of_its_region(served: str, tmp_path: Path) -> None:
    far = f"aws/ap-northeast-1=http://{served}/pixel"
    said = cloudcmp(
        "wan", "--to", far, "--to", f"http://{served}/2mb", "--from", "stockholm", "--out", "a.csv", cwd=tmp_path
    )
    told = " ".join(said.out.split())
    assert f"{served}/2mb is nearest to stockholm" in told
    assert "1 answered from elsewhere" in told
    assert (tmp_path / "a.csv").read_text().count("ap-northeast-1,rtt,") == 1
    alone = cloudcmp("wan", "--to", far, "--from", "stockholm", "--json", cwd=tmp_path)
    assert alone.json["data"]["answer"] == "What answered is nearer to stockholm than the stated regions are"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--to", "x"), "x: it is no URL of HTTP"),
        ((), "cloudcmp wan: no source is given"),
        (("a.csv", "--to", CLOSED), "--to looks from this machine, and a.csv is read"),
        (("a.csv", "--out", "b.csv"), "--out: only a look with --to is written as a table"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    said = cloudcmp("wan", *words, cwd=tmp_path)
    assert (said.code, says in said.err, len(said.err.splitlines())) == (2, True, 1), said.err
