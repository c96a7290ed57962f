"""The process that starts the ranks of one node, watches them and starts them again."""

from ._agent import Agent

__all__ = ["Agent"]
