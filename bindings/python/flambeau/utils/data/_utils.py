"""torch's private modules of data loading, by the names under which packages import from them."""

import sys as _sys

from . import _collate as collate
from . import _workers as worker

__path__ = []  # imports below it look in `sys.modules`
for _module, _name in (collate, "collate"), (worker, "worker"):
    _sys.modules[f"{__name__}.{_name}"] = _module
