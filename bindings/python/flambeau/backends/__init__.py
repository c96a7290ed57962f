"""Switches of back ends, as programs set them."""

from . import cuda, cudnn

__all__ = ["cuda", "cudnn"]
