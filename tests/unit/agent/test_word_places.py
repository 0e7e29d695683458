"""Where a word stands in a passage: among the same words, or in another's place."""

import pytest

from askbook.agent.evidence import read_evidence
from askbook.agent.facts import read_tokens
from askbook.agent.places import Place, places, same_root

PASSAGE = (
    "Robots carry heavy loads over rough ground. Small drones map the rough ground from above."
)


def place_of(word: str, sentence: str) -> Place:
    found = places(read_tokens(sentence), read_evidence(PASSAGE))
    return next(place for place in found if place.token.raw == word)


def test_a_word_among_its_own_has_company() -> None:
    place = place_of("loads", "Robots carry heavy loads.")
    assert place.is_known
    assert place.company == 2
    assert place.instead == ()


def test_a_word_in_another_place_is_known_but_replaces() -> None:
    place = place_of("drones", "Robots carry heavy drones over rough ground.")
    assert place.is_known
    assert place.instead == ("loads",)


def test_a_foreign_word_is_not_known() -> None:
    place = place_of("violins", "Robots carry heavy violins over rough ground.")
    assert not place.is_known
    assert place.instead == ("loads",)


def test_another_form_is_the_same_word() -> None:
    assert place_of("roughness", "Drones map the roughness of the ground.").is_known


def test_a_word_alone_has_no_company_to_be_known_by() -> None:
    assert place_of("Drones", "Drones are above.").alone


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("calibrat", "calibration", True),
        ("robot", "robotic", True),
        ("map", "mapping", False),
        ("gear", "gravel", False),
    ],
)
def test_forms_of_one_word_begin_alike(one: str, other: str, same: bool) -> None:
    assert same_root(one, other) is same
