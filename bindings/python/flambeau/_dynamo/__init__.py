"""`torch._dynamo`: what programs say to torch's compiler. Nothing is compiled here, so settings are
kept and markers have no effect."""

import types

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from ..nn.modules.module import Module

__all__ = (
    "OptimizedModule allow_in_graph assume_constant_result config disable graph_break "
    "is_compiling list_backends mark_dynamic mark_static maybe_mark_dynamic optimize reset"
).split()

config = types.SimpleNamespace(
    cache_size_limit=8, suppress_errors=False, verbose=False, capture_scalar_outputs=False
)


class OptimizedModule(Module):
    """What `torch.compile` makes of a module in torch; there are none here."""


def graph_break(msg=""):
    """Where a compiler would stop."""


def mark_dynamic(t, index=None, *, min=None, max=None):
    """Says that a size varies; every size may."""


maybe_mark_dynamic = mark_static = mark_static_address = mark_dynamic


def optimize(backend="inductor", *, nopython=False, **settings):
    """A decorator that returns its argument, as `torch.compile` does."""
    return compile(backend=backend, fullgraph=nopython)
