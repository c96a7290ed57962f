"""`torch.cpu.amp`: the deprecated spellings of `torch.amp` for the cpu."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["autocast", "GradScaler"]
