"""Gives memory back that this process no longer needs but its C library keeps for later."""

import ctypes
import sys
from functools import cache
from typing import Any


def give_back() -> None:
    """Return freed memory to the system; where the C library cannot, nothing happens."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    """glibc's `malloc_trim`. Other C libraries give memory back by themselves."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
