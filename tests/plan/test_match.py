"""The offering that is most like what is asked for, and how it differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.clouds import SOLD, planned

from cloudcmp.errors import UserMistake
from cloudcmp.model.offering import Match, Offering
from cloudcmp.plan.candidates import differences, distance, nearest_offering
from cloudcmp.plan.published_offerings import published_offerings

SIZES = st.floats(0.5, 512)
OFFERINGS = st.builds(
    Offering,
    st.just("p"),
    st.just("r"),
    st.text("abc", min_size=1, max_size=3),
    st.none() | SIZES,
    st.none() | SIZES,
    st.sampled_from([None, "general", "memory", "compute", "storage"]),
)

# Deval 2017, section 4.2.1: "the number of vCPUs and RAM are matched"; tables 5, 6 and 7 print what came of it.
DEVAL = {
    (1, 1, "general"): {"aws": "t2.micro", "gcp": "customized-1-1", "azure": "Standard-A1", "rackspace": "General1-1"},
    (4, 30, "memory"): {
        "aws": "r3.xlarge",
        "gcp": "n1-highmem4",
        "azure": "Standard-D12-v2",
        "rackspace": "Memory1-30",
    },
    (8, 15, "compute"): {
        "aws": "c4.2xlarge",
        "gcp": "customized-8-15",
        "azure": "Standard-F8",
        "rackspace": "Compute1-15",
    },
}


@pytest.mark.parametrize("asked", DEVAL)
def test_deval_tables_5_to_7_are_found_again(asked: tuple[float, float, str]) -> None:
    for provider, name in DEVAL[asked].items():
        found = nearest_offering(Match(*asked), published_offerings(provider, "us"))
        assert found is not None
        assert found.name == name


def test_deval_table_5_says_what_differs() -> None:
    azure = nearest_offering(Match(1, 1, "general"), published_offerings("azure"))
    assert azure is not None
    assert differences(Match(1, 1, "general"), azure) == ("1.75 GiB of memory instead of 1",)


@pytest.mark.parametrize(
    ("asked", "name", "words"),
    [
        (Match(4, 16, "general"), "large", ()),
        (Match(4, 30, "memory"), "large-memory", ("32 GiB of memory instead of 30",)),
        (Match(4, 16, "memory"), "large", ("category general instead of memory",)),
        (Match(4, 16, "compute"), "large", ("category general instead of compute",)),
        (Match(2, None, None), "small", ("1 vCPUs instead of 2",)),
        (Match(None, 20, None), "large", ("16 GiB of memory instead of 20",)),
    ],
)
def test_the_nearest(asked: Match, name: str, words: tuple[str, ...]) -> None:
    found = nearest_offering(asked, [one for one in SOLD if (one.provider, one.region) == ("aws", "eu")])
    assert found is not None
    assert found.name == name
    assert differences(asked, found) == words


def test_a_category_that_is_not_adjacent_is_never_taken() -> None:
    memory = [one for one in SOLD if one.category == "memory"]
    assert nearest_offering(Match(4, 32, "compute"), memory) is None
    assert nearest_offering(Match(4, 32, "gpu"), SOLD) is None


def test_equally_near_the_cheaper_is_taken() -> None:
    both = [one for one in SOLD if one.name == "large"]
    asked = Match(vcpus=4)
    found = nearest_offering(asked, both)
    assert found is not None
    assert found.region == "us"


@given(
    st.builds(Match, st.none() | SIZES, st.none() | SIZES, st.none() | st.sampled_from(["general", "memory"])),
    OFFERINGS,
)
def test_no_distance_means_no_difference(asked: Match, one: Offering) -> None:
    found = distance(asked, one)
    assert found is None or found >= 0
    assert (found == 0) == (found is not None and not differences(asked, one))


@given(st.lists(OFFERINGS, max_size=6), st.builds(Match, SIZES, SIZES))
def test_the_order_of_the_list_does_not_matter(some: list[Offering], asked: Match) -> None:
    assert nearest_offering(asked, some) == nearest_offering(asked, some[::-1])


def test_a_plan_says_what_differs() -> None:
    plan = planned("[{provider: aws, region: eu, match: {vcpus: 4, memory_gib: 14, category: general}}]")
    assert plan.candidates[0].id == "aws/eu/large"
    assert plan.candidates[0].asked == Match(4, 14, "general")
    assert plan.candidates[0].differs == ("16 GiB of memory instead of 14",)


def test_without_a_region_all_are_looked_at() -> None:
    assert planned("[{provider: aws, match: {vcpus: 4, memory_gib: 15}}]").candidates[0].id == "aws/us/large"


def test_nothing_alike_is_one_line() -> None:
    with pytest.raises(UserMistake, match=r"test\.yaml:3:\d+: no offering of azure/eu is known .*; name one"):
        planned("[{provider: azure, region: eu, match: {vcpus: 4}}]")
