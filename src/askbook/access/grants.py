"""What a caller may do: decided by the server from the caller's key, never widened by a request."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from askbook.book import HardwareTier
from askbook.errors import Forbidden
from askbook.storage.keys import ApiKey

KeyScope: TypeAlias = Literal["read", "chat", "admin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One caller's rights."""

    key_id: str | None
    """None for who sits at this machine while no key exists."""
    scopes: frozenset[str]
    books: frozenset[str] | None = None
    """The books that exist for this caller; None is all of them."""
    tier: HardwareTier | None = None
    """The highest tier it may read; None leaves it to the book."""
    rate: int | None = None
    """Requests in any 60 seconds; None is no limit."""
    public: bool = False
    origins: frozenset[str] = frozenset()
    reader: str | None = None
    """The token of one reader among all who share a publishable key."""
    signing_key: bytes = field(default=b"", repr=False)
    """Signs the links that open lessons in this caller's name."""

    @classmethod
    def of(cls, key: ApiKey, reader: str | None = None) -> "Grant":
        tier: Any = key.tier
        return cls(
            key_id=key.key_id,
            scopes=frozenset(key.scopes),
            books=None if key.books is None else frozenset(key.books),
            tier=tier,
            rate=key.rate,
            public=key.public,
            origins=frozenset(key.origins),
            # A secret key is one owner, whatever its requests say.
            reader=reader if key.public else None,
            signing_key=bytes.fromhex(key.key_hash),
        )

    @classmethod
    def of_page(cls, grant: "Grant") -> "Grant":
        """What is left of a grant for who follows one of its links: reading."""
        return replace(grant, scopes=grant.scopes & {"read"}, reader=None)

    @property
    def owner(self) -> str | None:
        """Whose conversations this caller sees: the key's, or those of one reader who shares it."""
        if self.key_id is None or self.reader is None:
            return self.key_id
        return f"{self.key_id}:{hashlib.sha256(self.reader.encode()).hexdigest()}"

    def require(self, scope: KeyScope) -> None:
        """Refuse a caller whose key was not made for this."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(
                f"This key may not do that: it has {', '.join(sorted(self.scopes))}, not {scope}.",
                "Use a key made for it; `askbook keys create --help` shows how.",
            )

    def admits(self, book_id: str) -> bool:
        """Whether a book exists for this caller."""
        return self.books is None or book_id in self.books

    def limit_tier(self, asked: HardwareTier | None) -> HardwareTier | None:
        """The tier a request reads with: what it asks for, never above the key's."""
        if self.tier is None or asked is None:
            return self.tier or asked
        return asked if asked <= self.tier else self.tier


LOCAL_GRANT = Grant(key_id=None, scopes=frozenset({"read", "chat", "admin"}))
"""Who sits at this machine, before any key exists, may do everything."""
