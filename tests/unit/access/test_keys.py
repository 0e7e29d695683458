"""What a key is made of, what is kept of it, and which wishes are refused."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from askbook.access import keys as keys_module
from askbook.access.keys import Keys, hash_key, normal_origin
from askbook.errors import InvalidInput, NotFound
from askbook.storage.keys import ApiKey

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Shelf:
    """Keys in a dictionary; the database has tests of its own."""

    def __init__(self) -> None:
        self.rows: dict[str, ApiKey] = {}

    async def add(self, key: ApiKey) -> None:
        self.rows[key.key_id] = key

    async def find(self, key_id: str) -> ApiKey | None:
        return self.rows.get(key_id)

    async def revoke(self, key_id: str, now: datetime) -> bool:
        return False


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def keys(shelf: Shelf) -> Keys:
    return Keys(shelf, lambda: NOW)  # pyright: ignore[reportArgumentType]  # has what is called


async def test_a_key_is_256_bits_of_chance_and_only_its_hash_is_kept(
    keys: Keys, shelf: Shelf
) -> None:
    made = [await keys.create("app") for _ in range(20)]
    assert len({secret for _, secret in made}) == 20
    for stored, secret in made:
        assert secret.startswith("ab_")
        assert len(secret) == len("ab_") + 43
        assert stored.key_hash == hashlib.sha256(secret.encode()).hexdigest()
        assert stored.key_hash.startswith(stored.key_id)
        assert secret not in repr(shelf.rows)
        assert secret[3:15] not in repr(shelf.rows)


async def test_a_publishable_key_looks_like_one(keys: Keys) -> None:
    stored, secret = await keys.create("docs", public=True, origins=["https://Docs.Example/"])
    assert secret.startswith("abp_")
    assert (stored.public, stored.origins) == (True, ("https://docs.example",))
    assert stored.scopes == ("read", "chat")


async def test_only_the_very_key_is_recognised(keys: Keys) -> None:
    stored, secret = await keys.create("app", admin=True)
    assert await keys.authenticate(secret) == stored
    other = "A" if secret[-1] != "A" else "B"
    for wrong in (
        secret[:-1] + other,
        secret[:-1],
        secret + "A",
        "",
        "ab_",
        stored.key_hash,
        "ü" * 46,
    ):
        assert await keys.authenticate(wrong) is None


async def test_what_proves_a_key_is_compared_in_constant_time(
    keys: Keys, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, secret = await keys.create("app")
    compared: list[tuple[Any, Any]] = []
    really = hmac.compare_digest

    def compare(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return really(one, other)

    monkeypatch.setattr(keys_module.hmac, "compare_digest", compare)
    assert await keys.authenticate(secret) == stored
    assert compared == [(stored.key_hash, hash_key(secret))]
    # A row that only shares the id is not enough.
    forged = stored.key_id + "0" * (64 - len(stored.key_id))
    shelf.rows[stored.key_id] = replace(stored, key_hash=forged)
    assert await keys.authenticate(secret) is None


@pytest.mark.parametrize(
    ("wish", "complaint"),
    [
        ({"name": " "}, "no name"),
        ({"name": "x" * 101}, "no name"),
        ({"name": "a\nb"}, "no name"),
        ({"public": True}, "needs the origins"),
        ({"origins": ["https://a.example"]}, "Only publishable"),
        ({"public": True, "admin": True, "origins": ["https://a.example"]}, "cannot be"),
        ({"tier": 0}, "1 to 4"),
        ({"tier": 5}, "1 to 4"),
        ({"rate": 0}, "rate is 0"),
        ({"rate": -1}, "rate is -1"),
        ({"public": True, "origins": ["*"]}, "no origin"),
    ],
)
async def test_wishes_that_make_no_sense_are_refused(
    keys: Keys, shelf: Shelf, wish: dict[str, Any], complaint: str
) -> None:
    wanted: dict[str, Any] = {"name": "app"} | wish
    with pytest.raises(InvalidInput, match=complaint):
        await keys.create(**wanted)
    assert shelf.rows == {}


async def test_revoking_what_does_not_hold_is_told(keys: Keys) -> None:
    with pytest.raises(NotFound, match="no key 'nope'"):
        await keys.revoke("nope")


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("https://docs.example.com", "https://docs.example.com"),
        ("https://Docs.Example.com/", "https://docs.example.com"),
        ("https://docs.example.com:443", "https://docs.example.com"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
def test_an_origin_is_written_as_browsers_send_it(given: str, normal: str) -> None:
    assert normal_origin(given) == normal


@pytest.mark.parametrize(
    "given",
    [
        *("", "null", "*", "docs.example.com", "ftp://a.example", "https://*.example.com"),
        *("https://a.example/path", "https://a.example?x", "https://u:p@a.example", "https://"),
        *("https://a.example:port", "javascript:alert(1)"),
    ],
)
def test_what_is_no_origin_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="no origin"):
        normal_origin(given)
