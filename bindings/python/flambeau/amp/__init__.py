"""Automatic mixed precision: `autocast` chooses the dtype of every operation, `GradScaler` keeps
small gradients above the least float16 number."""

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "GradScaler"]
