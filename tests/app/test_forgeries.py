"""A slice of the promise that a stranger's folder is harmless: one folder of each kind."""

import random
from collections.abc import Iterator

import pytest

from tests.app.forgeries import KINDS, Forge, Ground
from tests.slices import spread


@pytest.fixture(scope="module")
def ground(agent: object) -> Iterator[Ground]:
    """What is forged, and what must not be touched."""
    with Ground() as made:
        yield made


@pytest.mark.parametrize("kind", spread(KINDS, 5), ids=lambda kind: str(kind.__name__))
def test_p41_nothing_of_the_users_is_touched_on_the_word_of_a_folder(kind: Forge, ground: Ground) -> None:
    assert ground.wrong_of(kind, random.Random(kind.__name__)) == []
