"""How moments are written over HTTP."""

from datetime import UTC, datetime


def iso_now() -> str:
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """A time as ISO 8601 with milliseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
