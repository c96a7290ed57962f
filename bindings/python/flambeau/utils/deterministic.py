"""What deterministic algorithms do beside choosing their order of work."""

import sys
import types

from .._gen import api


class _Switches(types.ModuleType):
    fill_uninitialized_memory = property(
        lambda _: api.deterministic_fill_enabled(),
        lambda _, value: api.set_deterministic_fill_enabled(bool(value)),
        doc="Whether elements that nobody sets, as of `torch.empty`, get one value.",
    )


sys.modules[__name__].__class__ = _Switches
