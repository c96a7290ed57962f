"""Names for annotations, as programs import them."""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int

from ._tensor import Tensor
from ._types import Size, device, dtype, layout

Number = _int | _float | _bool
Device = device | str | _int | None
_TensorOrTensors = Tensor | tuple[Tensor, ...]
_size = Size | list[_int] | tuple[_int, ...]
_dtype, _device, _layout = dtype, device, layout

__all__ = ["Device", "Number"]
