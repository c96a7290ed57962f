"""`torch._inductor`: settings of torch's compiler, which programs set; they are kept, and nothing
is compiled."""

import contextlib as _contextlib
import sys as _sys
import types as _types


@_contextlib.contextmanager
def patch(changes=None, value=None, **named):
    """Sets settings for a `with` block or a function: by name, or in a dictionary."""
    given = {changes: value} if isinstance(changes, str) else changes or {}
    here, given = vars(config), {**given, **named}
    before = {name: here[name] for name in given.keys() & here.keys()}
    here.update(given)
    try:
        yield
    finally:
        for name in given:
            del here[name]
        here.update(before)


config = _types.ModuleType(f"{__name__}.config", "Settings, whatever their names.")
config.patch = patch
_sys.modules[config.__name__] = config
__path__ = []
