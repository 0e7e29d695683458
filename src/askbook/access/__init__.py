"""Who may ask what, and how often: keys, what they grant, links that read for them, limits."""

from askbook.access.grants import LOCAL_GRANT, Grant, KeyScope
from askbook.access.keys import Keys

__all__ = ["LOCAL_GRANT", "Grant", "KeyScope", "Keys"]
