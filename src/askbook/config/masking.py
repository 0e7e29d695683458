"""Addresses as they may be shown: without their passwords."""

import re

MASK = "***"
_PASSWORD = re.compile(r"(^|://)([^:@/?#\s]*):(?!//).*@", re.DOTALL)
"""Up to the last @: a password that should have been escaped must not be shown in part either."""
_PARAMETER = re.compile(r"((?:password|passwd|secret|token|api[-_]?key)=)[^&#\s]*", re.IGNORECASE)


def masked_address(address: str) -> str:
    """An address with stars in the place of its password, whether it is well formed or not."""
    hidden = _PASSWORD.sub(rf"\1\2:{MASK}@", address)
    return _PARAMETER.sub(rf"\1{MASK}", hidden)
