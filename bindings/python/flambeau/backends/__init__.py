"""Switches of back ends, as programs set them."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
