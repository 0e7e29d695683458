"""Keys: made from chance, shown once, kept as a hash, looked up by an id that is no secret."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from askbook.book import HARDWARE_TIERS
from askbook.errors import InvalidInput, NotFound
from askbook.storage.keys import ApiKey, KeyStore

RATE = 100
"""Requests in any 60 seconds, unless a key says otherwise."""
MAX_RATE = 1_000_000
ID_LENGTH = 12
_SHAPE = re.compile(r"abp?_[A-Za-z0-9_-]{43}")


def _now() -> datetime:
    return datetime.now(UTC)


class Keys:
    """Makes, checks and ends keys."""

    def __init__(self, store: KeyStore, clock: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._clock = clock

    async def create(
        self,
        name: str,
        *,
        admin: bool = False,
        public: bool = False,
        origins: Sequence[str] = (),
        books: Sequence[str] = (),
        tier: int | None = None,
        rate: int = RATE,
    ) -> tuple[ApiKey, str]:
        """A new key: what is stored of it, and the key itself, which nobody sees again."""
        _check(name, admin, public, origins, tier, rate)
        secret = f"{'abp' if public else 'ab'}_{secrets.token_urlsafe(32)}"
        digest = hash_key(secret)
        key = ApiKey(
            key_id=digest[:ID_LENGTH],
            key_hash=digest,
            name=name.strip(),
            scopes=("read", "chat", "admin") if admin else ("read", "chat"),
            books=tuple(dict.fromkeys(books)) or None,
            tier=tier,
            rate=rate,
            public=public,
            origins=tuple(dict.fromkeys(map(normal_origin, origins))),
            created_at=self._clock(),
        )
        await self._store.add(key)
        return key, secret

    async def authenticate(self, secret: str) -> ApiKey | None:
        """The key that was shown as `secret`, while it holds.

        Every call asks the database, so that a revocation counts from the next request on.
        """
        if not _SHAPE.fullmatch(secret):
            return None
        digest = hash_key(secret)
        # The id finds the row and may be guessed; what proves the key is compared in constant time.
        key = await self._store.find(digest[:ID_LENGTH])
        if key is None or not hmac.compare_digest(key.key_hash, digest):
            return None
        return None if key.revoked_at is not None else key

    async def holding(self, key_id: str) -> ApiKey | None:
        """The key with this id, while it holds."""
        key = await self._store.find(key_id)
        return None if key is None or key.revoked_at is not None else key

    async def any(self) -> bool:
        """Whether a key was ever made; a revoked one does not open the door again."""
        return await self._store.any()

    async def origins(self) -> set[str]:
        """Where publishable keys that still hold may be used."""
        return await self._store.origins()

    async def list(self) -> list[ApiKey]:
        """All keys ever made, the oldest first."""
        return await self._store.keys()

    async def revoke(self, key_id: str) -> ApiKey:
        """End a key for good."""
        if not await self._store.revoke(key_id, self._clock()):
            raise NotFound(
                f"There is no key {key_id!r} that still holds.", "See `askbook keys list`."
            )
        key = await self._store.find(key_id)
        if key is None:
            raise NotFound(f"There is no key {key_id!r}.", "See `askbook keys list`.")
        return key


def hash_key(secret: str) -> str:
    """What is stored of a key. 256 bits of chance need no slow hash: nobody guesses them."""
    return hashlib.sha256(secret.encode()).hexdigest()


def normal_origin(origin: str) -> str:
    """An origin as browsers send it: scheme, host and port, nothing behind."""
    try:
        parts = urlsplit(origin.strip().rstrip("/"))
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if (
        parts.scheme not in ("http", "https")
        or not host
        or "*" in host
        or parts.path
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise InvalidInput(
            f"{origin!r:.200} is no origin.",
            "Give scheme and host, such as https://docs.example.com.",
        )
    usual = {"http": 80, "https": 443}[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port not in (None, usual) else "")


def _check(
    name: str, admin: bool, public: bool, origins: Sequence[str], tier: int | None, rate: int
) -> None:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InvalidInput(
            f"{name!r:.120} is no name for a key.", "Give 1 to 100 printable characters."
        )
    if public and admin:
        raise InvalidInput(
            "A publishable key cannot be an administrator's: everybody can read it.",
            "Leave out --admin or --public.",
        )
    if public and not origins:
        raise InvalidInput(
            "A publishable key needs the origins of the pages that use it.",
            "Add --origin https://docs.example.com, once for each.",
        )
    if origins and not public:
        raise InvalidInput("Only publishable keys are bound to origins.", "Add --public.")
    if tier is not None and tier not in HARDWARE_TIERS:
        raise InvalidInput(f"The tier is {tier}, but must be 1 to 4.")
    if not 1 <= rate <= MAX_RATE:
        raise InvalidInput(f"The rate is {rate}, but must be 1 to {MAX_RATE} requests a minute.")
