"""`torch.fx.node`, where packages import `Node` from."""

from . import Node

__all__ = ["Node"]
