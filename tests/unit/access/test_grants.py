"""A caller's rights come from its key; a request can narrow them, never widen them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from askbook.access import LOCAL_GRANT, Grant
from askbook.errors import Forbidden
from askbook.storage.keys import ApiKey

TOKEN = "reader-token-0001"


def grant(reader: str | None = None, **given: Any) -> Grant:
    values: dict[str, Any] = {
        "key_id": "k1",
        "key_hash": "ab" * 32,
        "name": "app",
        "scopes": ("read", "chat"),
        "books": None,
        "tier": None,
        "rate": 100,
        "public": False,
        "origins": (),
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
    }
    return Grant.of(ApiKey(**values | given), reader)


def test_a_key_opens_what_it_was_made_for() -> None:
    grant().require("read")
    grant().require("chat")
    with pytest.raises(Forbidden, match="not admin"):
        grant().require("admin")
    with pytest.raises(Forbidden, match="not chat"):
        grant(scopes=("read",)).require("chat")


def test_an_administrator_and_who_sits_at_the_machine_may_do_everything() -> None:
    for scope in ("read", "chat", "admin"):
        grant(scopes=("admin",)).require(scope)
        LOCAL_GRANT.require(scope)


@pytest.mark.parametrize(
    ("of_key", "asked", "used"),
    [(None, None, None), (None, 3, 3), (2, None, 2), (2, 1, 1), (2, 2, 2), (2, 4, 2)],
)
def test_the_tier_is_never_above_the_keys(of_key: int | None, asked: Any, used: int | None) -> None:
    assert grant(tier=of_key).limit_tier(asked) == used


def test_books_outside_the_key_do_not_exist() -> None:
    assert grant().admits("any")
    assert grant(books=("a",)).admits("a")
    assert not grant(books=("a",)).admits("b")


def test_a_secret_key_is_one_owner_and_each_reader_of_a_publishable_one_another() -> None:
    assert grant().owner == grant(TOKEN).owner == "k1"
    mine, yours = grant(TOKEN, public=True), grant("reader-token-0002", public=True)
    assert mine.owner != yours.owner
    assert mine.owner == grant(TOKEN, public=True).owner
    assert mine.owner is not None
    assert mine.owner.startswith("k1:")
    assert len(mine.owner) <= 200
    assert TOKEN not in mine.owner
    assert LOCAL_GRANT.owner is None


def test_who_follows_a_link_may_only_read() -> None:
    page = Grant.of_page(grant(TOKEN, public=True, scopes=("read", "chat", "admin")))
    assert page.scopes == {"read"}
    with pytest.raises(Forbidden):
        page.require("chat")


def test_what_signs_links_is_not_shown() -> None:
    assert "signing_key" not in repr(grant())
    assert repr(bytes.fromhex("ab" * 32)) not in repr(grant())
