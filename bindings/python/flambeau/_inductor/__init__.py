"""`torch._inductor`: settings of torch's compiler, which programs set; they are kept, and nothing
is compiled."""

import sys as _sys
import types as _types

from .._on_demand import during as _during


def patch(changes=None, value=None, **named):
    """Sets settings for a `with` block or a function: by name, or in a dictionary."""
    given = {changes: value} if isinstance(changes, str) else changes or {}
    return _during(vars(config), **given, **named)


config = _types.ModuleType(f"{__name__}.config", "Settings, whatever their names.")
config.patch = patch
_sys.modules[config.__name__] = config
__path__ = []
