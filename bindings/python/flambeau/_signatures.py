"""Functions and methods whose arguments in torch are more than those of the C function: flags
before dimensions, rules of scatter, `as_tuple`, NumPy's results as tensors.

Each stands in front of the generated function of its name, which does the work."""

from math import prod

from . import _indexing
from ._call import ffi, fill
from ._deprecated import warn_once
from ._errors import DtypeError, UnsupportedError
from ._factory import arange, from_numpy, of_storage
from ._factory import tensor as tensor_of
from ._gen import api, ops
from ._on_demand import called
from ._tensor import Tensor
from ._types import channels_last, memory_format


def _by_flag(plain):
    def moment(input, *args, **named):
        if args and args[0].__class__ is bool:  # torch's older order: the flag first
            args, named["unbiased"] = args[1:], args[0]
        if named.get("correction", 1) is None:
            del named["correction"]
        for name, value in zip(("unbiased", "keepdim"), args[1:]):
            named[name] = value
        if "unbiased" in named:
            named["correction"] = int(named.pop("unbiased"))
        made = plain(input, *args[:1], **named)
        return tuple(made) if isinstance(made, tuple) else made  # these have no names in torch

    return called(moment, plain.__name__, plain.__doc__)


_MOMENTS = {name: _by_flag(ops.TORCH[name]) for name in ("std", "var", "std_mean", "var_mean")}


def put_(self, index, source, accumulate=False):
    """Writes values at places of the tensor seen as one row."""
    row = self.contiguous().view(-1)
    row.index_put_((index.reshape(-1),), source.reshape(-1), accumulate)
    return self if self.is_contiguous() else self.copy_(row.view(self.shape))


def _reducing(plain, reduce_into):
    rules = {"add": "sum", "multiply": "prod"}

    def scatter(input, dim, index, *values, reduce=None, **named):
        if "value" in named and "src" not in named and not values:
            values = (named.pop("value"),)  # what torch calls a number that is scattered
            if getattr(values[0], "shape", ()):
                raise TypeError("scatter(): argument 'value' must be Number; a tensor is the 'src'")
        if reduce is None:
            return plain(input, dim, index, *values, **named)
        if reduce not in rules:
            raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}")
        src = values[0] if values else named.get("src")
        if not isinstance(src, Tensor):
            src = input.new_full(index.shape, src)
        return reduce_into(input, dim, index, src, rules[reduce], include_self=True)

    return called(scatter, plain.__name__, plain.__doc__)


scatter = _reducing(Tensor.scatter, Tensor.scatter_reduce)
scatter_ = _reducing(Tensor.scatter_, Tensor.scatter_reduce_)


def polygamma(self, n):
    """The derivative number `n` of the digamma function."""
    return ops.TORCH["polygamma"](n, self)


def polygamma_(self, n):
    """`polygamma` in place."""
    if not self.is_floating_point():
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {self.dtype}"
        )
    return self.copy_(polygamma(self, n))


def bernoulli_(self, p=0.5, *, generator=None):
    """Ones with probability `p`, a number or a tensor that broadcasts, and zeros, in place."""
    if not isinstance(p, Tensor):
        return ops.TENSOR["bernoulli_"](self, p, generator=generator)
    drawn = ops.TORCH["bernoulli"](p.expand(self.shape), generator=generator)
    return self.copy_(drawn)


def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones and zeros of the input's shape: with the probabilities that it holds, or `p` for all."""
    if p is None:
        return ops.TORCH["bernoulli"](input, generator=generator, out=out)
    drawn = bernoulli_(ops._empty_like(input), p, generator=generator)
    return drawn if out is None else fill(out, drawn, "bernoulli")


def _splitting(plain):
    def tensor_split(input, indices_or_sections=None, dim=0, **named):
        for name in ("indices", "sections", "tensor_indices_or_sections"):
            if name in named:
                indices_or_sections = named.pop(name)
        if isinstance(indices_or_sections, Tensor):
            indices_or_sections = indices_or_sections.tolist()
        return plain(input, indices_or_sections, dim, **named)

    return called(tensor_split, "tensor_split", plain.__doc__)


tensor_split = _splitting(ops.TORCH["tensor_split"])


def split(tensor, split_size_or_sections, dim=0):
    """Views of parts along `dim`: of one size, where the last may be smaller, or of these sizes."""
    several = isinstance(split_size_or_sections, (tuple, list))
    return (ops._split_with_sizes if several else ops._split)(tensor, split_size_or_sections, dim)


def _split(self, split_size, dim=0):
    return split(self, split_size, dim)


_split.__name__, _split.__doc__ = "split", split.__doc__


def is_set_to(self, tensor):
    """Whether both are the same elements of the same memory."""
    return (
        self.data_ptr() == tensor.data_ptr() != 0
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def _handle(self):
    """The number by which packages tell tensors apart."""
    return int(ffi.cast("uintptr_t", self._h))


def _conjugated(t):
    return ops.TORCH["conj_physical"](t) if t.is_complex() else t


def _conjugate_transpose(self):
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
        )
    return _conjugated(_of_matrices("H")(self))


def _of_matrices(name):
    def transposed(self):
        if self.dim() == 1:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D "
                "tensor."
            )
        if self.dim():
            return self.transpose(-2, -1)
        warn_once(f"Tensor.{name} is deprecated on 0-D tensors, of which it is the tensor itself.")
        return self

    return transposed


def adjoint(input):
    """The transpose of the last two dimensions, conjugated."""
    if input.dim() == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return _conjugated(input.mT if input.dim() else input)


def dim_order(self, *, ambiguity_check=False):
    """The dimensions from the one with the greatest steps in memory to the one with the least.
    `ambiguity_check`: whether another order that fits too is an error, or the memory formats of
    which just one must fit then."""
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.stride()
    equal = any(a == b for a, b in zip(strides, strides[1:]))
    if ambiguity_check is not False and (equal or 1 in self.shape):
        if sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
    if self.is_contiguous():
        return tuple(range(self.dim()))
    if self.dim() == 4 and self.is_contiguous(memory_format=channels_last):
        return (0, 2, 3, 1)
    order, unique = _by_steps(self.shape, strides)
    if ambiguity_check and not unique:
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(order)


def _by_steps(shape, strides):
    """torch's order of dimensions by falling steps, and whether steps decide it everywhere: of
    equal ones the longer dimension is further out, a step of 0 leaves a dimension in its place."""

    def further_in(a, b):
        if not strides[a] or not strides[b] or (strides[a] == strides[b] and shape[a] <= shape[b]):
            return None
        return strides[a] < strides[b]

    order, unique = [], True
    for d in reversed(range(len(shape))):
        at = len(order)
        for i in reversed(range(len(order))):
            known = further_in(order[i], d)
            if known:
                break
            unique = unique and known is not None
            at = at if known is None else i
        order.insert(at, d)
    return order[::-1], unique


def repeat_interleave(input=None, repeats=None, dim=None, *, output_size=None, axis=None):
    """Every element, or every slice along `dim`, `repeats` times; of one tensor alone the number of
    each element, as often as the element says. `axis` is another name of `dim`."""
    dim = dim if axis is None else axis
    if isinstance(repeats, int):
        made = _repeat_interleave(input, repeats, dim)
        if output_size is not None and output_size != made.size(dim or 0):
            raise RuntimeError(f"expected output_size {made.size(dim or 0)}, got {output_size}")
        return made
    size = {} if output_size is None else {"output_size": output_size}
    if input is None:
        input, repeats = repeats, None
    if repeats is not None:
        return _repeat_interleave(input, repeats, dim, **size)
    if not isinstance(input, Tensor) or input.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    places = arange(input.numel(), device=input.device)
    return _repeat_interleave(places, input, 0, **size).to(input.dtype)


def gather(input, dim, index, *, sparse_grad=False, out=None):
    """The elements of `input` that `index` names along a dimension."""
    if sparse_grad:
        raise UnsupportedError("gather: sparse_grad is unsupported; gradients are dense")
    return ops._gather(input, dim, index, out=out)


def swapaxes(input, axis0, axis1):
    """`transpose`, with NumPy's names."""
    return ops._transpose(input, axis0, axis1)


def swapaxes_(self, axis0, axis1):
    """`transpose_`, with NumPy's names."""
    return ops._transpose_(self, axis0, axis1)


_repeat_interleave = ops.TORCH["repeat_interleave"]


def __array_wrap__(self, array, context=None, return_scalar=False):
    """Results of NumPy's functions of tensors are tensors."""
    return from_numpy(array)


def nonzero(input, *, as_tuple=False, out=None):
    """Where the elements are not zero: one row of indices for each, or one tensor per dimension."""
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple:
        return ops._nonzero_tuple(input)
    found = ops._nonzero(input)
    return found if out is None else fill(out, found, "nonzero")


def _of_any_number(name):
    function = ops.TORCH[name]

    def at_least(*tensors):
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return function(tensors[0])
        return tuple(map(function, tensors[0] if len(tensors) == 1 else tensors))

    return called(at_least, name, function.__doc__)


def norm(input, *args, out=None, **named):
    """The norm of all elements, or along dimensions; `linalg.norm` is its newer form."""
    found = ops.TORCH["norm"](input, *args, **named)
    return found if out is None else fill(out, found, "norm")


def is_nonzero(input):
    """Whether the only element differs from zero."""
    return bool(input)


def is_same_size(input, other):
    """Whether two tensors have one shape."""
    return input.shape == other.shape


def index_put_(input, indices, values, accumulate=False):
    """`input[indices] = values`, or with `accumulate` an addition to what is there, in place."""
    if not len(indices):
        raise RuntimeError("index_put_: expected at least one tensor of indices, but got none")
    _indexing.put(input, tuple(_slice_of(i) for i in indices), values, accumulate)
    return input


def _slice_of(index):
    return slice(None) if index is None else index


def index_put(input, indices, values, accumulate=False):
    """A copy with `values` at `indices`."""
    return index_put_(input.clone(), indices, values, accumulate)


def sum_to_size(self, *size):
    """Summed over the dimensions that broadcasting from `size` would repeat."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if not size:
        return self.sum()
    more = self.dim() - len(size)
    fits = more >= 0 and all(n in (1, m) for n, m in zip(size, self.shape[more:]))
    if not fits:
        raise RuntimeError(
            f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}."
        )
    extra = list(range(more))
    ones = [more + d for d, n in enumerate(size) if n == 1 and self.shape[more + d] != 1]
    found = self.sum(extra + ones, keepdim=True) if extra + ones else self
    return found if found.shape == size else found.reshape(size)


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Takes over memory: that and the shape of a tensor; or of a storage, or of a tensor's, from
    an offset on with a shape, for which it grows; or nothing at all."""
    if source is None:
        source = ops._empty((0,), dtype=self.dtype, device=self.device)
    elif not isinstance(source, Tensor):
        source = of_storage(source, self.dtype)
        size = (source.numel() - storage_offset,) if size is None else size
    elif source.dtype is not self.dtype:
        raise DtypeError(f"set_: expected a tensor of {self.dtype}, but got {source.dtype}")
    if size is not None:
        size = tuple(size) if hasattr(size, "__iter__") else (size,)
        steps = [prod(size[d + 1 :]) for d in range(len(size))] if stride is None else stride
        row = source.detach().as_strided(
            (source.untyped_storage().nbytes() // source.itemsize,), (1,), 0
        )
        reach = sum((n - 1) * step for n, step in zip(size, steps)) + storage_offset + 1
        if reach > row.numel() and all(size) and storage_offset >= 0:
            if size == self.shape:
                raise RuntimeError(
                    f"set_: sizes {list(size)}, strides {list(steps)} and a storage offset of "
                    f"{storage_offset} need {reach} elements, which are out of bounds for storage "
                    f"of size {row.nbytes}; another shape makes the storage grow"
                )
            row.resize_(reach)
        source = row.as_strided(size, steps, storage_offset)
    self.data = source
    return self


def _made_of_elements(name, self, others, callable):
    """Replaces every element of `self` by `callable` of it and of the others' beside it."""
    tensors = (self, *others)
    for at, other in enumerate(others, 1):
        if not isinstance(other, Tensor):
            kind = type(other).__name__
            raise TypeError(f"{name}(): argument (position {at}) must be Tensor, not {kind}")
        if other.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.dtype} for argument {at} (got {other.dtype})")
    if not all(t.is_cpu for t in tensors):
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if any(t.requires_grad for t in tensors):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    columns = [t.expand(self.shape).reshape(-1).tolist() for t in tensors]
    made = tensor_of([callable(*row) for row in zip(*columns)], dtype=self.dtype)
    return self.copy_(made.reshape(self.shape))


def apply_(self, callable):
    """Replaces every element of a cpu tensor by `callable` of it; slow, as in torch."""
    return _made_of_elements("apply_", self, (), callable)


def map_(self, other, callable):
    """Replaces every element of a cpu tensor by `callable` of it and of `other`'s; slow."""
    return _made_of_elements("map_", self, (other,), callable)


def map2_(self, x, y, callable):
    """Replaces every element of a cpu tensor by `callable` of it and of those of `x` and `y`."""
    return _made_of_elements("map2_", self, (x, y), callable)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A number as a 0-d tensor, of the default dtype where none is named."""
    return ops._full((), s, dtype=dtype or api.get_default_dtype(), device=device).requires_grad_(
        requires_grad
    )


def is_inference(input):
    """Whether it was made in inference mode."""
    return input.is_inference()


def segment_reduce(data, reduce, *, indices=None, **named):
    """Sums, means, extremes or products of runs of rows; torch has no use of `indices` either."""
    if indices is not None:
        raise UnsupportedError("segment_reduce: indices is unsupported; give lengths or offsets")
    return ops.TORCH["segment_reduce"](data, reduce, **named)


def histogramdd(input, bins, range=None, weight=None, density=False):
    """Counts of points in the cells of a grid; torch has no use of `range` beside edges either."""
    options = {"range": range, "weight": weight, "density": density}
    if isinstance(bins, (list, tuple)) and any(isinstance(b, Tensor) for b in bins):
        del options["range"]
    return ops.TORCH["histogramdd"](input, bins, **options)


def detach_(input):
    """Takes the tensor out of its graph, in place."""
    return input.detach_()


FUNCTIONS = {
    f.__name__: f
    for f in (
        *(
            adjoint,
            bernoulli,
            detach_,
            gather,
            histogramdd,
            index_put,
            index_put_,
            is_inference,
            is_nonzero,
            is_same_size,
        ),
        *(nonzero, norm, repeat_interleave, scalar_tensor, scatter, segment_reduce, swapaxes),
        *(split, tensor_split, *map(_of_any_number, ("atleast_1d", "atleast_2d", "atleast_3d"))),
        *_MOMENTS.values(),
    )
}
_METHODS = (
    *(adjoint, apply_, bernoulli, bernoulli_, dim_order, gather, index_put, index_put_, is_nonzero),
    *(is_same_size, is_set_to, map_, map2_, nonzero, polygamma, polygamma_, put_),
    *(repeat_interleave, scatter, scatter_, set_, sum_to_size, swapaxes, swapaxes_, tensor_split),
    *(_MOMENTS["std"], _MOMENTS["var"], __array_wrap__),
)
for _method in _METHODS:
    setattr(Tensor, _method.__name__, _method)
Tensor.split = _split
Tensor.H = property(_conjugate_transpose)
Tensor.mT = property(_of_matrices("mT"))
Tensor.mH = property(lambda self: _conjugated(_of_matrices("mH")(self)))
Tensor._cdata = property(_handle)
