"""Links that open a lesson: a browser that follows one cannot send a key, so the link says whose it is.

A ticket names a key and a moment, and is signed for one page. The key decides, when the page is
opened, whether it still holds and what it may read: a revoked key's links end with it.
"""

import hashlib
import hmac
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from askbook.access.grants import Grant

LIFETIME = 12 * 3600
"""Seconds: a reader's day with an open page of answers."""
_SHAPE = re.compile(r"([0-9a-f]{1,16})\.(\d{1,12})\.([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a link claims; nothing of it is true before `holds` says so."""

    key_id: str
    expires: int
    signature: str

    @classmethod
    def parse(cls, text: str) -> "Ticket | None":
        match = _SHAPE.fullmatch(text)
        return cls(match[1], int(match[2]), match[3]) if match else None

    def holds(self, grant: Grant, path: str, now: float | None = None) -> bool:
        """Whether the grant's key signed this ticket for the path, not too long ago."""
        expected = _sign(grant.signing_key, path, self.expires)
        fresh = (time.time() if now is None else now) < self.expires
        return hmac.compare_digest(expected, self.signature) and fresh


def issue(grant: Grant, path: str, clock: Callable[[], float] = time.time) -> str | None:
    """A ticket for one page; a caller without a key needs none."""
    if grant.key_id is None:
        return None
    # Whole hours: the same answer asked for twice has the same links.
    expires = int(clock() // 3600 + 1) * 3600 + LIFETIME
    return f"{grant.key_id}.{expires}.{_sign(grant.signing_key, path, expires)}"


def _sign(key: bytes, path: str, expires: int) -> str:
    return hmac.new(key, f"read\n{expires}\n{path}".encode(), hashlib.sha256).hexdigest()
