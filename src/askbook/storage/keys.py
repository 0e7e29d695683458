"""Keys as rows. The key itself is not among them: only its hash, and an id to speak of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.rows import utc
from askbook.storage.tables import api_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it is stored: what it allows, and whether it still does."""

    key_id: str
    key_hash: str
    name: str
    scopes: tuple[str, ...]
    books: tuple[str, ...] | None
    """The books it is bound to; None is all of them."""
    tier: int | None
    rate: int
    public: bool
    origins: tuple[str, ...]
    created_at: datetime
    revoked_at: datetime | None = None


class KeyStore:
    """Keys on SQLite or PostgreSQL. A revoked key stays on record."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def add(self, key: ApiKey) -> None:
        async with self._engine.begin() as connection:
            row = {name: getattr(key, name) for name in ApiKey.__slots__}
            await connection.execute(insert(api_keys).values(row))

    async def find(self, key_id: str) -> ApiKey | None:
        async with self._engine.connect() as connection:
            found = await connection.execute(select(api_keys).where(api_keys.c.key_id == key_id))
            row = found.first()
            return None if row is None else _key(row)

    async def keys(self) -> list[ApiKey]:
        """All keys ever made, the oldest first."""
        query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        async with self._engine.connect() as connection:
            return [_key(row) for row in await connection.execute(query)]

    async def any(self) -> bool:
        """Whether a key was ever made."""
        async with self._engine.connect() as connection:
            return (
                await connection.execute(select(api_keys.c.key_id).limit(1))
            ).first() is not None

    async def origins(self) -> set[str]:
        """Where publishable keys that still hold may be used."""
        query = select(api_keys.c.origins).where(
            api_keys.c.public.is_(True), api_keys.c.revoked_at.is_(None)
        )
        async with self._engine.connect() as connection:
            found = (await connection.execute(query)).scalars()
            return {origin for origins in found for origin in origins}

    async def revoke(self, key_id: str, now: datetime) -> bool:
        """End a key; false if there is none that still holds."""
        statement = (
            update(api_keys)
            .where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
            .values(revoked_at=now)
        )
        async with self._engine.begin() as connection:
            return (await connection.execute(statement)).rowcount == 1


def _key(row: Any) -> ApiKey:
    values = {name: row._mapping[name] for name in ApiKey.__slots__}
    for name in ("scopes", "books", "origins"):
        values[name] = None if values[name] is None else tuple(values[name])
    for name in ("created_at", "revoked_at"):
        values[name] = utc(values[name])
    return ApiKey(**values)
