"""The closed sets of the domain."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

ProficiencyLevel: TypeAlias = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
TeachingLayer: TypeAlias = Literal["L1", "L2", "L3", "L4"]
HardwareTier: TypeAlias = Literal[1, 2, 3, 4]
IngestionMode: TypeAlias = Literal["incremental", "full", "recreate"]
JobStatus: TypeAlias = Literal["queued", "running", "completed", "failed"]
Vector: TypeAlias = NDArray[np.float32]

PROFICIENCY_LEVELS: tuple[ProficiencyLevel, ...] = get_args(ProficiencyLevel)
TEACHING_LAYERS: tuple[TeachingLayer, ...] = get_args(TeachingLayer)
HARDWARE_TIERS: tuple[HardwareTier, ...] = get_args(HardwareTier)
INGESTION_MODES: tuple[IngestionMode, ...] = get_args(IngestionMode)
JOB_STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
