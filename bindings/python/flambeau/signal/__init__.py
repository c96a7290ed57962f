"""torch.signal: the windows of signal processing."""

from . import windows

__all__ = ["windows"]
