"""Functions of the top-level module that are Python's own: questions about values, and defaults."""

from ._call import _number
from ._deprecated import warn_once
from ._deprecated.tensor_types import dtype_of
from ._gen import api, ops
from ._tensor import Tensor
from ._types import Size


def is_tensor(obj):
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether `obj` is a storage."""
    from ._storage import UntypedStorage

    return isinstance(obj, UntypedStorage)


def method(name, text):
    """A method of tensors that takes nothing more, as a function."""

    def function(input):
        return getattr(input, name)()

    function.__name__, function.__qualname__, function.__doc__ = name, name, text
    return function


is_floating_point = method("is_floating_point", "Whether the dtype is floating point.")
is_complex = method("is_complex", "Whether the dtype is complex.")
is_signed = method("is_signed", "Whether the dtype has negative numbers.")
numel = method("numel", "How many elements there are.")
get_device = method("get_device", "The number of a tensor's GPU; -1 on the cpu.")


def typename(obj):
    """The name of a tensor's type, or of any object's class."""
    if isinstance(obj, Tensor):
        return obj.type()
    name = getattr(obj, "__qualname__", None) or type(obj).__qualname__
    module = getattr(obj, "__module__", None)
    return name if module in (None, "builtins") else f"{module}.{name}"


def get_default_dtype():
    """The dtype of floating-point numbers where none is named."""
    return api.get_default_dtype()


def set_default_dtype(d):
    """Sets the dtype of floating-point numbers where none is named."""
    api.set_default_dtype(d)


def set_default_tensor_type(t):
    """torch's old form of `set_default_dtype`: takes a type such as `torch.DoubleTensor`, or its
    name."""
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )
    device, dtype = dtype_of(t, None)
    api.set_default_dtype(dtype)
    api.set_default_device(device or "cpu")


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together."""
    found = []
    for i, shape in enumerate(shapes):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        found = [1] * (len(shape) - len(found)) + found
        for at in range(-1, -len(shape) - 1, -1):
            if shape[at] < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension ({shape[at]}): ({shape[at]})"
                )
            if found[at] == 1:
                found[at] = shape[at]
            elif shape[at] not in (1, found[at]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[at]} at {at}! "
                    f"Mismatching argument at index {i} had {shape}; but expected shape should be "
                    f"broadcastable to {found}"
                )
    return Size(found)


_PRECISIONS = ["highest", "high", "medium"]


def set_float32_matmul_precision(precision):
    """How much float32 products of matrices may lose for speed on CUDA devices: "highest" is
    nothing; "high" and "medium" allow operands rounded to TF32."""
    if precision not in _PRECISIONS:
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    api.set_float32_matmul_precision(precision)


def get_float32_matmul_precision():
    """What `set_float32_matmul_precision` set last; "highest" at the start."""
    return _PRECISIONS[api.get_float32_matmul_precision() - 1]


def promote_types(type1, type2):
    """The dtype that results from operands of two dtypes."""
    zeros = ops.TORCH["zeros"]
    return (zeros(0, dtype=type1) + zeros(0, dtype=type2)).dtype


def result_type(tensor1, tensor2):
    """The dtype of an operation on two tensors or numbers."""

    def stand_in(value):
        if not isinstance(value, Tensor):
            return _number(value)
        return ops.TORCH["zeros"]((0,) if value.dim() else (), dtype=value.dtype)

    return (stand_in(tensor1) + stand_in(tensor2)).dtype


def can_cast(from_, to):
    """Whether torch's rules of conversion allow it: no complex numbers to reals, no fractions to
    integers, no numbers to bool."""
    if to.is_complex or from_.is_complex:
        return to.is_complex
    boolean = to is not from_ and str(to) == "torch.bool"
    return not boolean and (to.is_floating_point or not from_.is_floating_point)


def get_num_interop_threads():
    """How many operations run at once: one."""
    return 1


def set_num_interop_threads(num_threads):
    """Accepted; operations of one program run one after the other."""
    if not 0 < num_threads < 2**31:
        raise RuntimeError(f"Expected a positive number of threads, an int of C, got {num_threads}")


def set_flush_denormal(mode):
    """Whether denormal numbers become zero: not supported, which the result says."""
    return False


def _assert(condition, message):
    """Python's assert as a function, which models use."""
    assert condition, message


def _assert_async(condition, message="Expected Tensor with single nonzero value, but got zero"):
    """Raises where a tensor of one element is zero. Waits for the device."""
    if not bool(condition):
        raise RuntimeError(message)


def _check_with(error_type, cond, message=None):
    """Raises an error of this type where the condition does not hold; `message` may be a
    function."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        text = "Expected cond to be True, but got False." if message is None else message
        raise error_type(str(text() if callable(text) else text))


def _raising(name, error, check=_check_with):
    """The check that raises this error."""

    def function(cond, message=None):
        check(error, cond, message)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = check.__doc__.replace("an error of this type", error.__name__)
    return function


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises an error of this type where an element of a bool tensor does not hold."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


CHECKS = {
    "_assert": _assert,
    "_assert_async": _assert_async,
    "_check_with": _check_with,
    "_check_tensor_all_with": _check_tensor_all_with,
    "_check": _raising("_check", RuntimeError),
    "_check_index": _raising("_check_index", IndexError),
    "_check_value": _raising("_check_value", ValueError),
    "_check_type": _raising("_check_type", TypeError),
    "_check_not_implemented": _raising("_check_not_implemented", NotImplementedError),
    "_check_tensor_all": _raising("_check_tensor_all", RuntimeError, _check_tensor_all_with),
}
