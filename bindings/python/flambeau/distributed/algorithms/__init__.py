"""What is built of collectives: joins of uneven inputs, and hooks that reduce gradients."""

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
