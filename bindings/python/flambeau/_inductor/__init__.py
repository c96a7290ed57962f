"""`torch._inductor`: settings of torch's compiler, which programs set; they are kept, and nothing
is compiled."""

import sys as _sys
import types as _types

config = _types.ModuleType(f"{__name__}.config", "Settings, whatever their names.")
_sys.modules[config.__name__] = config
__path__ = []
