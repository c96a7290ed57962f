"""The Tensor class: what Python itself asks of it. Operations come from the generated table.

Invariant: `_h` owns one count of a `flam_tensor`. Beside it an object keeps only the object of its
gradient, once that was shown or assigned, and the program's own attributes."""

import sys

from . import _call, _deprecated, _printing
from ._call import _NULL, _blocking, _fast, _own, _raise, ffi, owner, wrap
from ._gen import api, ops
from ._memory_format import clone, contiguous, formatted, is_contiguous, laid_out, resize_
from ._on_demand import method
from ._thread_state import ThreadState
from ._types import (
    BY_CODE,
    NAMES,
    Size,
    channels_last,
    channels_last_3d,
    device_of_code,
    dtype_of,
    preserve_format,
    strided,
)
from ._types import device as device_type
from ._types import dtype as dtype_type

_c_dim, _c_sizes = _fast.flam_tensor_dim, _fast.flam_tensor_sizes
_c_dtype, _c_device = _fast.flam_tensor_dtype, _fast.flam_tensor_device
_unpack = ffi.unpack
_size = tuple.__new__  # of C's integers, which need no look


# (backward pass, function) that `queue_callback` was given; the pass whose functions are called;
# whether graphs stay for passes to come.
PASSES = ThreadState(calls=(), ending=0, keeps=False)


before_backward = []  # called first, such as by who says where in the program a pass is


def run_at_end(failed):
    """After a backward pass of this thread: calls what it was asked to, unless it failed."""
    around, before = api.backward_pass(), PASSES.ending
    PASSES.ending = around + 1
    try:
        while mine := [call for number, call in PASSES.calls if number > around]:
            PASSES.calls = tuple(entry for entry in PASSES.calls if entry[0] <= around)
            for call in () if failed else mine:
                call()
    finally:
        PASSES.ending = before


def warn_of_cycle():
    """Says once that gradients with a graph keep their leaves."""
    _deprecated.warn_once(
        "Using backward() with create_graph=True lets a leaf and its gradient keep each other, "
        "until the gradient is set to None. Prefer torch.autograd.grad, which has no such cycle."
    )


_OVERRIDES = f"{__package__}.overrides"  # which imports this module


def _for_a_call(frame):
    """Whether a function of torch's asks: who called `frame`, past those who ask subclasses first;
    nobody did where C began the thread with it."""
    frame = frame.f_back
    while frame and frame.f_globals.get("__name__") == _OVERRIDES:
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame else ""
    return name == _call.__name__ or name.startswith(ops.__name__)


def _real(number, kind):
    """A number that is to be a real one: a complex one without an imaginary part is."""
    if number.__class__ is not complex:
        return number
    if number.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return number.real


def _number(tensor, loses, warns=False):
    """A tensor's number. C asks for it as Python does: for the number of a call, a TypeError where
    it `loses` a fraction or a gradient."""
    if loses and _for_a_call(sys._getframe(1)):
        raise TypeError("the tensor is no number for an argument")
    if loses and warns and _fast.flam_grad_enabled():
        _deprecated.warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior. Call detach() first."
        )
    return tensor.item()


def listed(ends):
    if isinstance(ends, dict):
        return list(ends.values())
    return [ends] if hasattr(ends, "_h") or hasattr(ends, "_place") else list(ends)


def places(ends):
    """Tensors where a pass begins or ends; an edge of the graph gives a stand-in for its own."""
    ends = listed(ends)
    for t in ends:
        if not hasattr(t, "_h") and not hasattr(t, "_place"):
            what = "a backward pass begins and ends at Tensors or GradientEdges"
            raise TypeError(f"{what}, but got {type(t).__name__}")
    return [t if hasattr(t, "_h") else t._place() for t in ends]


def run_backward(tensors, grads, n_grads, retain_graph, create_graph, inputs):
    """One backward pass, with handles of start gradients; into all leaves without `inputs`."""
    keep = (create_graph if retain_graph is None else retain_graph) or PASSES.keeps
    ends = None if inputs is None else places(inputs)
    if ends == []:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    only, m = (_NULL, 0) if ends is None else ([t._h for t in ends], len(ends))
    if create_graph:
        warn_of_cycle()
    for call in before_backward:
        call()
    given = [t._h for t in tensors], len(tensors), grads, n_grads, keep, create_graph, only, m
    failed = _blocking.flam_autograd_backward(*given)
    if PASSES.calls:
        run_at_end(failed)
    if failed:
        _raise()


class _TensorMeta(type):
    """Shows torch's name of the class, which programs print."""

    def __repr__(cls):
        shown = _SHOWN.get((cls.__module__, cls.__qualname__))
        return f"<class '{shown}'>" if shown else type.__repr__(cls)


_SHOWN = {
    ("flambeau._tensor", "Tensor"): "torch.Tensor",
    ("flambeau.nn.parameter", "Parameter"): "torch.nn.parameter.Parameter",
    ("flambeau.nn.parameter", "Buffer"): "torch.nn.parameter.Buffer",
}


def disabled_torch_function(func, types, args=(), kwargs=None):
    """The `__torch_function__` of a class whose instances are never asked, such as Parameter."""
    return NotImplemented


def goal_of(args, device, dtype, non_blocking, copy):
    """Device, dtype and flags that `to` is given, by name and by position: there a device and a
    dtype, a dtype, or a tensor; then non_blocking and copy."""
    first, flags = args[0], args[1:]
    if isinstance(first, Tensor):
        at, kind, named = first.device, first.dtype, (device, dtype)
    elif isinstance(first, dtype_type) or first.__class__ is type:
        at, kind, named = device, dtype_of(first), (dtype,)
    elif (
        first is None or isinstance(first, (device_type, str, int)) and first.__class__ is not bool
    ):
        at, kind, named = first, dtype, (device, dtype) if flags else (device,)
        if flags:
            kind, flags = flags[0], flags[1:]
    else:
        raise _no_form_of_to(args)
    fits = kind is None or isinstance(kind, dtype_type) or kind.__class__ is type
    known = fits and len(flags) <= 2 and all(flag.__class__ is bool for flag in flags)
    if not known or any(value is not None for value in named):
        raise _no_form_of_to(args)
    return at, kind, *(*flags, *(non_blocking, copy)[len(flags) :])


def _no_form_of_to(args):
    got = ", ".join(map(_call._kind_name, args))
    return TypeError(
        f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        " * (device device, dtype dtype, bool non_blocking, bool copy)\n"
        " * (dtype dtype, bool non_blocking, bool copy)\n"
        " * (Tensor tensor, bool non_blocking, bool copy)"
    )


class Tensor(owner.TensorOwner, metaclass=_TensorMeta):
    """A multi-dimensional array with a gradient."""

    __slots__ = ("_grad_object", "__dict__", "__weakref__")
    _release_handle = _fast.flam_tensor_release
    __array_priority__ = 1000  # NumPy's operators leave `array + tensor` to us
    is_sparse = is_quantized = is_mkldnn = is_nested = is_sparse_csr = False
    is_mps = is_xpu = is_xla = is_ipu = is_hpu = is_mtia = is_maia = is_vulkan = False
    layout = strided
    names = property(lambda self: (None,) * self.dim())
    clone, contiguous, is_contiguous = clone, contiguous, is_contiguous
    resize_, _laid_out = resize_, laid_out

    @staticmethod
    def _make_subclass(cls, data, require_grad=False, **_):
        return data.detach().as_subclass(cls).requires_grad_(require_grad)

    # ---- what it is

    @property
    def shape(self):
        h = self._h
        return _size(Size, _unpack(_c_sizes(h), _c_dim(h)))

    def size(self, dim=None):
        """The shape, or the size of one dimension."""
        if dim is None:
            return self.shape
        found = _fast.flam_tensor_size(self._h, dim)
        if found < 0:
            n = self.dim()
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(n, 1)}, "
                f"{max(n, 1) - 1}], but got {dim})"
            )
        return found

    def stride(self, dim=None):
        """Distance between neighbours, in elements, along all dimensions or one."""
        found = tuple(_unpack(_fast.flam_tensor_strides(self._h), _c_dim(self._h)))
        return found if dim is None else found[dim]

    def dim(self):
        return _c_dim(self._h)

    ndimension = dim
    ndim = property(dim)

    def numel(self):
        return _fast.flam_tensor_numel(self._h)

    nelement = numel

    def element_size(self):
        return _fast.flam_tensor_element_size(self._h)

    itemsize = property(element_size)
    nbytes = property(lambda self: _fast.flam_tensor_nbytes(self._h))

    def storage_offset(self):
        return _fast.flam_tensor_storage_offset(self._h)

    def data_ptr(self):
        return int(ffi.cast("intptr_t", _fast.flam_tensor_data_ptr(self._h)))

    @property
    def dtype(self):
        return BY_CODE[_c_dtype(self._h)]

    @property
    def device(self):
        return device_of_code(_c_device(self._h))

    is_cuda = property(lambda self: _c_device(self._h) >> 16 == 2)
    is_cpu = property(lambda self: _c_device(self._h) >> 16 == 1)
    is_meta = property(lambda self: _c_device(self._h) >> 16 == 64)

    def get_device(self):
        found = self.device
        return -1 if found.index is None else found.index

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_signed(self):
        return self.dtype.is_signed

    def is_pinned(self, device=None):
        return bool(_fast.flam_tensor_is_pinned(self._h))

    def pin_memory(self, device=None):
        """A copy in page-locked host memory."""
        return api.tensor_pin_memory(self)

    # ---- autograd

    @property
    def requires_grad(self):
        return bool(_fast.flam_tensor_requires_grad(self._h))

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self):
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad=True):
        """Says whether operations on it are recorded."""
        if _fast.flam_tensor_set_requires_grad(self._h, requires_grad):
            _raise()
        if requires_grad:
            _call.remember(self)
        return self

    is_leaf = property(lambda self: bool(_fast.flam_tensor_is_leaf(self._h)))
    retains_grad = property(lambda self: bool(_fast.flam_tensor_retains_grad(self._h)))
    _version = property(lambda self: _fast.flam_tensor_version(self._h))
    output_nr = property(lambda self: _fast.flam_tensor_output_nr(self._h))

    def is_inference(self):
        return bool(_fast.flam_tensor_is_inference(self._h))

    def _is_view(self):
        return bool(_fast.flam_tensor_is_view(self._h))

    @property
    def _base(self):
        """Of a view, the tensor whose memory it shows."""
        found = api.tensor_base(self)
        return None if found is None else _call.object_of(found)

    @property
    def grad(self):
        found = _own(Tensor, _fast.flam_tensor_grad, self._h)
        if found is None:
            if not (self.is_leaf or self.retains_grad):
                _deprecated.warn(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                    "Its .grad attribute won't be populated during autograd.backward(). If you "
                    "indeed want the .grad field to be populated for a non-leaf Tensor, use "
                    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
                    "mistake, make sure you access the leaf Tensor instead. See "
                    "github.com/pytorch/pytorch/pull/30531 for more informations."
                )
            return None
        known = getattr(self, "_grad_object", None)  # the object that was assigned or shown
        if known is None or known._h != found._h:
            known = self._grad_object = found
        return known

    @grad.setter
    def grad(self, value):
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if _fast.flam_tensor_set_grad(self._h, _NULL if value is None else value._h):
            _raise()
        self._grad_object = value

    @grad.deleter
    def grad(self):
        self.grad = None

    _grad = grad

    @property
    def data(self):
        return wrap(_fast.flam_tensor_detach_data, self._h)

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if _fast.flam_tensor_set_data(self._h, value._h):
            _raise()

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Adds the gradients of this tensor to those of the leaves it was computed from."""
        grads, n = (_NULL, 0) if gradient is None else ([gradient._h], 1)
        run_backward([self], grads, n, retain_graph, create_graph, inputs)

    retain_grad, record_stream = api.tensor_retain_grad, api.tensor_record_stream
    detach_ = api.tensor_detach_

    # ---- values

    def item(self):
        """The only element as a Python number."""
        dtype = BY_CODE[_c_dtype(self._h)]
        if dtype.is_floating_point:
            cell = ffi.new("double *")
            failed = _blocking.flam_tensor_item_f64(self._h, cell)
        elif dtype.is_complex:
            cell = ffi.new("double[2]")
            failed = _blocking.flam_tensor_item_c128(self._h, cell, cell + 1)
        else:
            cell = ffi.new("int64_t *")
            failed = _blocking.flam_tensor_item_i64(self._h, cell)
        if failed:
            _raise()
        if dtype.is_complex:
            return complex(*cell)
        return bool(cell[0]) if dtype._code == 10 else cell[0]

    def __array__(self, dtype=None, copy=None):
        found = self.numpy()
        if dtype is not None and found.dtype != dtype:
            return found.astype(dtype)
        return found.copy() if copy else found

    def __dlpack_device__(self):
        if self.is_meta:
            raise ValueError("Unknown device type meta for Dlpack")
        return _c_device(self._h) >> 16, max(self.get_device(), 0)

    def __bool__(self):
        n = self.numel()
        if n != 1:
            if n == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __int__(self):
        return int(_real(_number(self, self.dtype.is_floating_point), "int64_t"))

    def __float__(self):
        return float(_real(_number(self, self.requires_grad, warns=True), "double"))

    def __index__(self):
        dtype = self.dtype
        if dtype.is_floating_point or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __complex__(self):
        return complex(_number(self, self.requires_grad, warns=True))

    def __len__(self):
        if self.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.size(0)

    def __iter__(self):
        if self.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, value):
        if not isinstance(value, (Tensor, int, float, complex)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(value)}."
            )
        return bool((self == value).any())

    __hash__ = object.__hash__

    def __repr__(self):
        return _printing.text(self)

    def __str__(self):
        return _printing.text(self)

    def __format__(self, spec):
        if self.dim() == 0:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __dir__(self):
        return sorted(set(object.__dir__(self)))

    # ---- moves and conversions

    def to(
        self, *args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None
    ):
        """On another device or in another dtype: `to(device)`, `to(dtype)`, `to(device, dtype)`,
        `to(tensor)`."""
        if args:
            named = device, dtype, non_blocking, copy
            device, dtype, non_blocking, copy = goal_of(args, *named)
        found = self._moved(device, dtype, non_blocking, copy)
        return found if memory_format is None else formatted(found, memory_format)

    def _moved(self, device, dtype, non_blocking=False, copy=False):
        code = 0 if device is None else device_type(device)._code
        kind = 0 if dtype is None else dtype_of(dtype)._code
        found = wrap(_blocking.flam_to, self._h, code, kind, non_blocking, copy)
        return self if found._h == self._h else found  # nothing changed: the same, as in torch

    def cpu(self, memory_format=None):
        return formatted(self._moved("cpu", None), memory_format)

    def cuda(self, device=None, non_blocking=False, memory_format=None):
        device = "cuda" if device is None else device_type(device)
        return formatted(self._moved(device, None, non_blocking), memory_format)

    def type_as(self, other):
        return self.to(other)

    def _new_like(self, make, sizes, dtype, device, requires_grad, *, size=(), layout=None,
                  pin_memory=False, names=None):  # fmt: skip
        if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
            sizes = sizes[0]
        like = {"dtype": dtype or self.dtype, "device": device or self.device}
        return make(sizes or size, **like, requires_grad=requires_grad, pin_memory=pin_memory)

    def new_empty(self, *size, dtype=None, device=None, requires_grad=False, **named):
        return self._new_like(ops.TORCH["empty"], size, dtype, device, requires_grad, **named)

    def new_zeros(self, *size, dtype=None, device=None, requires_grad=False, **named):
        return self._new_like(ops.TORCH["zeros"], size, dtype, device, requires_grad, **named)

    def new_ones(self, *size, dtype=None, device=None, requires_grad=False, **named):
        return self._new_like(ops.TORCH["ones"], size, dtype, device, requires_grad, **named)

    def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, **named):
        like = {"dtype": dtype or self.dtype, "device": device or self.device}
        return ops.TORCH["full"](size, fill_value, **like, requires_grad=requires_grad, **named)

    def view_as(self, other):
        return self.view(other.shape)

    def expand_as(self, other):
        return self.expand(other.shape)

    def reshape_as(self, other):
        return self.reshape(other.shape)

    def resize_as_(self, other, *, memory_format=None):
        if memory_format is preserve_format:
            last = {4: channels_last, 5: channels_last_3d}.get(other.dim())
            keeps = last and not other.is_contiguous()
            memory_format = last if keeps and other.is_contiguous(memory_format=last) else None
        return self.resize_(other.shape, memory_format=memory_format)

    @property
    def T(self):
        n = self.dim()
        if n not in (0, 2):
            _deprecated.warn_once(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release. Consider `x.mT` to "
                "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` "
                "to reverse the dimensions of a tensor."
            )
        return self.permute(tuple(reversed(range(n))))

    @property
    def volatile(self):
        _deprecated.warn("volatile was removed (Variable.volatile is always False)")
        return False

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __reversed__(self):
        return self.flip(0) if self.dim() else self

    def __setstate__(self, state):
        self.__dict__.update(state)


def _cast(dtype):
    def cast(self, memory_format=None):
        found = self._moved(None, dtype)
        return found if memory_format is None else formatted(found, memory_format)

    cast.__doc__ = f"The elements as {dtype}."
    return cast


for _name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool"):
    setattr(Tensor, _name, _cast(NAMES[_name]))
Tensor.cfloat, Tensor.cdouble = _cast(NAMES["complex64"]), _cast(NAMES["complex128"])
Tensor.char, Tensor.byte = _cast(NAMES["int8"]), _cast(NAMES["uint8"])
for _name, _method in ops.TENSOR.items():
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, method(Tensor, _name, _method))
_printing.PLAIN.add(Tensor)
owner.call_with(Tensor, _raise)
for _part in (_call, ops, api, *ops.PARTS):
    _part.Tensor = Tensor
