"""torch's own namespace as far as the packages (`nn`, `optim`, `distributions`, ...) stand on it:
tensors, types, and the functions of tensors. `flambeau` shows all of it beside the packages."""

from math import e, inf, nan, pi

from . import (
    _errors,
    _functions,
    _indexing,
    _memory_format,
    _operators,
    _signatures,
    _types,
    _words,
)
from ._default_device import get_default_device, set_default_device
from ._deprecated import functions as _deprecated_functions
from ._deprecated import tensor_types as _tensor_types
from ._factory import arange, as_tensor, from_numpy, frombuffer, tensor
from ._gen import members as _members
from ._gen import ops as _ops
from ._on_demand import loader as _loader
from ._on_demand import own as _own
from ._on_demand import shown as _shown
from ._printing import set_printoptions
from ._tensor import Tensor
from .autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)

newaxis = None
_TYPES = (
    "Size channels_last channels_last_3d contiguous_format device dtype finfo iinfo layout "
    "memory_format preserve_format strided"
).split()
_ERRORS = (
    "DeviceError DeviceMismatchError DtypeError Error FileError HostMemoryError "
    "InvalidArgumentError LibraryError OutOfMemoryError OutOfRangeError ShapeError UnsupportedError"
).split()

globals().update(
    {
        **_ops.TORCH,
        **_own(_functions),
        **_own(_types, only=_TYPES),
        **{name: getattr(_errors, name) for name in _ERRORS},
        **_types.NAMES,
        **_tensor_types.CPU,
        **_words.FUNCTIONS,
        **_signatures.FUNCTIONS,
        **_deprecated_functions.FUNCTIONS,
        "clone": _memory_format.clone,
        **{"sym_float": float, "sym_int": int},  # of numbers, which are never symbols here
    }
)
_LAZY = {
    "_complex": "conj imag is_conj is_neg isreal real resolve_conj resolve_neg",
    "_contract": "einsum tensordot",
    "_copies": "alias_copy as_strided_copy detach_copy diagonal_copy empty_permuted expand_copy "
    "fill narrow_copy nonzero_static permute_copy put resize_as_ select_copy slice_copy split_copy "
    "split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsafe_chunk "
    "unsafe_split unsafe_split_with_sizes unsqueeze_copy view_copy",
    "_debug_switches": "get_deterministic_debug_mode is_anomaly_check_nan_enabled "
    "is_anomaly_enabled set_anomaly_enabled set_deterministic_debug_mode "
    "use_deterministic_algorithms",
    "_deprecated.linalg": "eig lstsq lu lu_solve matrix_rank pinverse qr solve svd symeig "
    "triangular_solve",
    "_dlpack": "asarray from_dlpack",
    "_storage": "BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage "
    "ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage "
    "ShortStorage Storage TypedStorage UntypedStorage from_file",
    "_unique": "unique unique_consecutive",
    "random": "Generator default_generator get_rng_state initial_seed manual_seed normal randint "
    "randint_like seed set_rng_state",
}
globals().update(
    {n: _shown(v, __package__, n) for n, v in list(globals().items()) if not n.startswith("_")}
)
for _name, _text in _members.TEXTS.items():
    if not getattr(_member := getattr(Tensor, _name, _name), "__doc__", _text):
        _member.__doc__ = _text
__getattr__ = _loader(globals(), _LAZY, "linalg random special", "torch")
