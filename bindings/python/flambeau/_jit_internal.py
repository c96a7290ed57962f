"""Marks that packages put on functions for TorchScript, which flambeau does not have: each returns
its argument."""

from typing import Final

from .jit import export, ignore, is_scripting, unused

__all__ = ["Final", "_copy_to_script_wrapper", "export", "ignore", "is_scripting", "unused"]


def _copy_to_script_wrapper(fn):
    return fn
