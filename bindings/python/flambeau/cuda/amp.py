"""`torch.cuda.amp`: the names of `torch.amp`, for cuda."""

from ..amp import GradScaler, autocast

__all__ = ["GradScaler", "autocast"]
