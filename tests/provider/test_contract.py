"""What every provider must do; a real cloud's driver is added to `PROVIDERS` and must pass as it is."""

import asyncio
from dataclasses import replace

import pytest

from cloudcmp.errors import ProviderFault
from cloudcmp.model.offering import CellTruth
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider

PROVIDERS = ("local", "simulated")


@pytest.fixture(params=PROVIDERS)
def again(request, tmp_path, plans):
    """Makes the provider, as a fresh process would."""
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\necho hello\n")
    agent.chmod(0o755)

    def make():
        if request.param == "local":
            return LocalProvider(OwnedPath(tmp_path / "work"), agent, "study-a")
        return plans.simulated(plans.candidate({"fma_flop_per_s": CellTruth(1e9)}), OwnedPath(tmp_path, ("clouds",)))

    return make


def offering_of(provider):
    return provider.offerings()[0]


def test_offerings_are_named_once_and_have_no_price_of_zero(again):
    provider = again()
    offerings = provider.offerings()
    assert offerings
    assert len({(offering.region, offering.name) for offering in offerings}) == len(offerings)
    for offering in offerings:
        assert offering.provider == provider.name
        assert offering.vcpus
        assert offering in provider.offerings(offering.region)
        if offering.price is not None:
            assert offering.price.amount_per_hour > 0
            assert offering.price.source
            assert offering.price.as_of
    assert provider.offerings("no-such-region") == ()


def test_hosts_are_named(again, plans):
    provider = again()
    candidate = plans.candidate()
    assert provider.host(candidate)
    assert provider.host(candidate) == provider.host(replace(candidate, index=7))


def test_nothing_is_found_where_nothing_was_made(again):
    assert asyncio.run(again().find("study-a", "token-1")) == ()


def test_a_resource_is_found_by_token_and_by_tag_also_by_a_successor(again, plans):
    provider = again()
    request = plans.request(offering=offering_of(provider).name)
    cloud_id = asyncio.run(provider.create(request))
    for other in (provider, again()):
        for study, token in (("study-a", None), ("another-study", request.token), ("study-a", "another-token")):
            (found,) = asyncio.run(other.find(study, token))
            assert (found.cloud_id, found.name, found.token) == (cloud_id, request.name, request.token)
            assert found.tags == request.tags
        assert asyncio.run(other.find("another-study")) == ()
        assert asyncio.run(other.find("another-study", "another-token")) == ()


def test_the_same_token_never_makes_two(again, plans):
    request = plans.request()
    first = asyncio.run(again().create(request))
    assert asyncio.run(again().create(request)) == first
    assert len(asyncio.run(again().find("study-a"))) == 1


def test_other_tokens_make_others(again, plans):
    provider = again()
    ids = {asyncio.run(provider.create(plans.request(f"token-{n}"))) for n in range(3)}
    assert len(ids) == 3
    assert {found.cloud_id for found in asyncio.run(provider.find("study-a"))} == ids


def test_destroyed_is_gone_with_evidence_and_only_that(again, plans):
    provider = again()
    kept, ended = (asyncio.run(provider.create(plans.request(token))) for token in ("token-1", "token-2"))
    assert asyncio.run(provider.gone(plans.handle(ended))) is None
    asyncio.run(provider.destroy(plans.handle(ended)))
    evidence = asyncio.run(provider.gone(plans.handle(ended)))
    assert evidence
    assert ended in evidence
    assert asyncio.run(again().gone(plans.handle(ended)))
    assert asyncio.run(again().gone(plans.handle(kept))) is None
    assert [found.cloud_id for found in asyncio.run(again().find("study-a"))] == [kept]


def test_destroying_what_is_gone_or_never_was_is_no_error(again, plans):
    provider = again()
    cloud_id = asyncio.run(provider.create(plans.request()))
    for target in (cloud_id, cloud_id, "never-was"):
        asyncio.run(provider.destroy(plans.handle(target)))
        assert asyncio.run(provider.gone(plans.handle(target)))


def test_connect_gives_a_machine_that_answers_a_job(again, plans):
    provider = again()
    request = plans.request()
    cloud_id = asyncio.run(provider.create(request))
    candidate = replace(plans.candidate(), offering=offering_of(provider))

    async def use():
        instance = await provider.connect(plans.lease(request, cloud_id, provider.name), candidate, plans.launch())
        assert instance.cpus
        assert instance.address
        async with instance.start(b'{"role":"solo"}\n', plans.trial("fma"), 0) as channel:
            data = b"".join([piece async for piece in channel.stdout()])
            await channel.hang_up()
            assert isinstance(await channel.last_words(), str)
        return data

    assert b"hello" in asyncio.run(use())


def test_connecting_to_what_is_gone_is_a_clear_error(again, plans):
    provider = again()
    request = plans.request()
    cloud_id = asyncio.run(provider.create(request))
    asyncio.run(provider.destroy(plans.handle(cloud_id)))
    lease = plans.lease(request, cloud_id, provider.name)
    with pytest.raises(ProviderFault, match="is gone; run the study again with --resume"):
        asyncio.run(provider.connect(lease, replace(plans.candidate(), offering=offering_of(provider)), plans.launch()))
