"""`torch._C`: the few names of torch's private extension module that public packages use, with
their meaning here; everything else of it is absent."""

import contextlib

from ._errors import LinAlgError as _LinAlgError  # noqa: F401
from .overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from .random import Generator

__all__ = (
    "DisableTorchFunction DisableTorchFunctionSubclass DispatchKey DispatchKeySet Generator"
).split()


def _get_tracing_state():
    """What a trace has recorded: None, for nothing is traced."""


def _log_api_usage_once(event):
    """Tells a log of uses, of which there is none."""


class DispatchKey:
    """Names of layers of torch's dispatcher; those of autocast mean something here."""

    AutocastCPU, AutocastCUDA, AutocastXPU = "AutocastCPU", "AutocastCUDA", "AutocastXPU"


class DispatchKeySet(frozenset):
    """A set of such names."""

    def __new__(cls, keys=()):
        return super().__new__(cls, [keys] if isinstance(keys, str) else keys)

    def __or__(self, other):
        return DispatchKeySet(frozenset.__or__(self, other))

    def has(self, key):
        return key in self


@contextlib.contextmanager
def _ExcludeDispatchKeyGuard(keys):  # noqa: N802, torch's name
    """No autocast inside the block, for the devices whose key is in the set."""
    from .amp import autocast

    with contextlib.ExitStack() as stack:
        for key, kind in ((DispatchKey.AutocastCPU, "cpu"), (DispatchKey.AutocastCUDA, "cuda")):
            if key in keys:
                stack.enter_context(autocast(kind, enabled=False))
        yield
