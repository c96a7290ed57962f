"""`torch.optim.adamw`: where torch keeps AdamW; here it is beside Adam."""

from .adam import AdamW

__all__ = ["AdamW"]
