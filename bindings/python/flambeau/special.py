"""torch.special: functions of the library under the names that they have there."""

from ._gen.ops import SPECIAL as _FUNCTIONS
from ._on_demand import shown as _shown

__all__ = sorted(name for name in _FUNCTIONS if not name.endswith("_"))
globals().update({name: _shown(_FUNCTIONS[name], __name__, name) for name in __all__})
