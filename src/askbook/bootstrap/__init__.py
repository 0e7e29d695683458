"""The composition root: the only place where concrete parts meet. `Askbook` is the library's front door."""

from askbook.bootstrap.askbook import Askbook
from askbook.bootstrap.diagnosis import Check, check_models, check_stores, diagnose
from askbook.bootstrap.reading import (
    open_keys,
    open_library,
    read_calibrations,
    read_feedback,
    read_gaps,
    read_states,
)
from askbook.bootstrap.scope import Scope

__all__ = [
    "Askbook",
    "Check",
    "Scope",
    "check_models",
    "check_stores",
    "diagnose",
    "open_keys",
    "open_library",
    "read_calibrations",
    "read_feedback",
    "read_gaps",
    "read_states",
]
