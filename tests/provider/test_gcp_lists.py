"""Lists of Compute Engine: complete, or told not to be; and what is ours in them."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.emulated.gce import Faults
from tests.emulated.gce_requests import REGION, firewall, instance, launched, provider, request, tags
from tests.slices import some

from cloudcmp.errors import IncompleteListing
from cloudcmp.model.lease import FIREWALL, INSTANCE, VOLUME
from cloudcmp.provider.gcp import tags as gcp_tags
from cloudcmp.provider.gcp.launch import derived_name

WORDS = st.text(min_size=0, max_size=80)


def test_tags_come_back_exactly_where_labels_could_not_hold_them(gce_cloud):
    study = "Étude du 1er mai: A/B"
    exact = tags(study)

    async def walk():
        driver = provider()
        group = await driver.create(request(FIREWALL, "f", study=study, name="cloudcmp-s-f"))
        id = await driver.create(request(study=study, name="cloudcmp-s-1", options={"firewall": group}))
        found = await driver.find(study)
        assert {(one.kind, one.cloud_id) for one in found} == {(FIREWALL, group), (INSTANCE, id)}
        assert all(one.tags == tuple(sorted(exact)) for one in found)
        assert await driver.find(study.lower()) == ()
        listing = await driver.leftovers()
        assert {one.cloud_id for one in listing.found} == {group, id}
        assert listing.unlisted == ()

    asyncio.run(walk())


def test_whoever_changed_the_text_is_still_found_by_labels(gce_cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver)
        gce_cloud.state.lives[id].body["metadata"]["items"] = []
        found = {one.cloud_id: one for one in await driver.find("study-a", "token-1")}
        assert dict(found[id].tags)["cloudcmp:schema"] == "1"
        assert found[id].token == "token-1"

    asyncio.run(walk())


LISTS = ["instances.aggregatedList", "disks.aggregatedList", "firewalls.list"]
LOSSES = ["lost", "reset", "5xx", "truncated", "part", "empty", "drop", "error:backendError"]


@pytest.mark.parametrize(
    ("action", "what"), [(action, what) for at, what in enumerate(LOSSES) for action in some(LISTS, 1, at)]
)
def test_a_list_that_does_not_come_whole_is_unlisted(gce_cloud, action, what):
    asyncio.run(launched(provider()))
    gce_cloud.inject(action, what)
    with pytest.raises(IncompleteListing):
        asyncio.run(provider().find("study-a"))
    gce_cloud.inject(action, what)
    listing = asyncio.run(provider().leftovers())
    assert len(listing.unlisted) == 1
    assert listing.found


def test_pages_are_read_to_the_end_and_a_cut_token_is_told(gce_cloud):
    gce_cloud.faults = Faults(page=1)
    driver = provider()
    ids = [asyncio.run(driver.create(request(token=f"t{n}", name=f"cloudcmp-{n}"))) for n in range(3)]
    assert {one.cloud_id for one in asyncio.run(driver.find("study-a"))} == set(ids)
    gce_cloud.inject("instances.aggregatedList", "cut")
    with pytest.raises(Exception, match="pageToken"):
        asyncio.run(driver.find("study-a"))


@pytest.mark.parametrize("partial", [True, False])
def test_a_zone_that_cannot_be_asked_is_named_and_nothing_is_concluded(gce_cloud, partial):
    group, _ = asyncio.run(launched(provider()))
    gce_cloud.faults = Faults(unreachable=frozenset({"europe-west4-b"}), partial=partial)
    driver = provider()
    with pytest.raises(IncompleteListing, match="europe-west4-b"):
        asyncio.run(driver.find("study-a"))
    listing = asyncio.run(driver.leftovers())
    assert all("europe-west4-b" in line for line in listing.unlisted)
    assert len(listing.unlisted) == 2
    if partial:
        assert len(asyncio.run(driver.find("study-a", region=REGION))) == 2, "another region's zone is no matter"
    else:
        assert [one.cloud_id for one in listing.found] == [group]


def test_what_bears_no_tag_of_ours_is_nobodys_of_ours(gce_cloud):
    for kind in ("instance", "firewall", "volume"):
        gce_cloud.plant(kind, REGION, f"their-{kind}", {})
        gce_cloud.plant(kind, REGION, f"others-{kind}", dict(tags("another")))
    driver = provider()
    assert asyncio.run(driver.find("study-a", "token-1")) == ()
    left = {(one.kind, dict(one.tags)["cloudcmp:study"]) for one in asyncio.run(driver.leftovers()).found}
    assert left == {(kind, "another") for kind in (INSTANCE, FIREWALL, VOLUME)}


def test_disks_that_end_with_a_machine_are_not_listed_and_those_that_would_stay_are(gce_cloud):
    driver = provider()
    id = asyncio.run(driver.create(request()))
    assert [one.kind for one in asyncio.run(driver.find("study-a"))] == [INSTANCE]
    (disk,) = gce_cloud.state.disks.values()
    disk.auto_delete = False
    assert {one.kind for one in asyncio.run(driver.find("study-a"))} == {INSTANCE, VOLUME}
    asyncio.run(driver.destroy(instance(id)))
    (left,) = asyncio.run(driver.leftovers()).found
    assert (left.kind, left.tags) == (VOLUME, tuple(sorted(tags())))


def test_rules_half_of_which_are_there_are_one_thing_still(gce_cloud):
    driver = provider()
    group = asyncio.run(driver.create(request(FIREWALL)))
    gce_cloud.state.firewalls.pop(group)
    (found,) = asyncio.run(driver.find("study-a"))
    assert found.cloud_id == group
    asyncio.run(driver.destroy(firewall(group)))
    assert asyncio.run(driver.gone(firewall(group)))
    assert gce_cloud.alive() == []


@given(WORDS)
def test_a_label_takes_any_text_and_stays_one(text):
    made = gcp_tags.label(text)
    assert gcp_tags._LABEL.fullmatch(made)
    assert gcp_tags.label(made) == made


@given(st.lists(WORDS, min_size=2, max_size=6, unique=True))
def test_labels_of_unlike_texts_are_unlike(texts):
    changed = [gcp_tags.label(text) for text in texts if not gcp_tags._LABEL.fullmatch(text)]
    assert len(set(changed)) == len(changed)


@given(st.dictionaries(WORDS, WORDS, max_size=5), WORDS)
def test_what_is_written_is_read_again(pairs, token):
    text = gcp_tags.to_text(request(token=token, tags=tuple(sorted(pairs.items()))))
    assert "\n" not in text
    assert gcp_tags.tags_and_token(text, {}) == (tuple(sorted(pairs.items())), token or None)


@given(WORDS.filter(lambda text: not text.startswith("cloudcmp {")))
def test_other_texts_are_not_ours(text):
    assert gcp_tags.parse_text(text) is None
    assert gcp_tags.parse_text("cloudcmp " + json.dumps(text)) is None


@given(st.from_regex(r"[a-z][a-z0-9-]{0,62}", fullmatch=True), st.sampled_from(["inside", "nobody", "data"]))
def test_names_beside_a_name_are_names_and_keep_its_end(name, suffix):
    made = derived_name(name, suffix)
    assert len(made) <= 63
    assert made[0].isalpha()
    assert made.endswith(f"-{suffix}")
    assert name[-40:] in made
