"""Learning-rate schedules over an optimizer's parameter groups."""

from ._schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from ._schedule_composite import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from ._schedule_cycles import CyclicLR, OneCycleLR
from ._schedule_forms import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = (
    "EPOCH_DEPRECATION_WARNING ChainedScheduler ConstantLR CosineAnnealingLR "
    "CosineAnnealingWarmRestarts CyclicLR ExponentialLR LRScheduler LambdaLR LinearLR MultiStepLR "
    "MultiplicativeLR OneCycleLR PolynomialLR ReduceLROnPlateau SequentialLR StepLR _LRScheduler"
).split()
