"""Logs that TensorBoard shows: `SummaryWriter` writes its event files without TensorBoard or
protobuf being there."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
