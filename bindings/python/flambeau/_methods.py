"""Methods of tensors, and functions, that stand on generated ones: torch's spellings with arguments
that are Python's alone: flags before dimensions, rules of scatter, NumPy's results as tensors."""

from ._gen import ops
from ._tensor import Tensor


def _by_flag(plain):
    def moment(input, *args, **named):
        if args and args[0].__class__ is bool:  # torch's older order: the flag first
            args, named["unbiased"] = args[1:], args[0]
        if named.get("correction", 1) is None:
            del named["correction"]
        if "unbiased" in named and len(args) < 2:
            named["correction"] = int(named.pop("unbiased"))
        made = plain(input, *args, **named)
        return tuple(made) if isinstance(made, tuple) else made  # these have no names in torch

    moment.__name__ = moment.__qualname__ = plain.__name__
    moment.__doc__ = plain.__doc__
    return moment


_MOMENTS = {name: _by_flag(ops.TORCH[name]) for name in ("std", "var", "std_mean", "var_mean")}


def put_(self, index, source, accumulate=False):
    """Writes values at places of the tensor seen as one row."""
    row = self.contiguous().view(-1)
    row.index_put_((index.reshape(-1),), source.reshape(-1), accumulate)
    return self if self.is_contiguous() else self.copy_(row.view(self.shape))


def _reducing(plain, reduce_into):
    rules = {"add": "sum", "multiply": "prod"}

    def scatter(input, dim, index, *values, reduce=None, **named):
        if reduce is None:
            return plain(input, dim, index, *values, **named)
        if reduce not in rules:
            raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}")
        src = values[0] if values else named.get("src", named.get("value"))
        if not isinstance(src, Tensor):
            src = input.new_full(index.shape, src)
        return reduce_into(input, dim, index, src, rules[reduce], include_self=True)

    scatter.__name__ = scatter.__qualname__ = plain.__name__
    scatter.__doc__ = plain.__doc__
    return scatter


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


def _splitting(plain):
    def tensor_split(input, indices_or_sections=None, dim=0, **named):
        for name in ("indices", "sections", "tensor_indices_or_sections"):
            if name in named:
                indices_or_sections = named.pop(name)
        if isinstance(indices_or_sections, Tensor):
            indices_or_sections = indices_or_sections.tolist()
        return plain(input, indices_or_sections, dim, **named)

    tensor_split.__doc__ = plain.__doc__
    return tensor_split


tensor_split = _splitting(ops.TORCH["tensor_split"])


def is_set_to(self, tensor):
    """Whether both are the same elements of the same memory."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def _conjugate_transpose(self):
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
        )
    return self.t()


def __array_wrap__(self, array, context=None, return_scalar=False):
    """Results of NumPy's functions of tensors are tensors."""
    from ._factory import from_numpy

    return from_numpy(array)


METHODS = {
    **{"is_set_to": is_set_to, "put_": put_, "scatter": scatter, "scatter_": scatter_},
    **{"polygamma": polygamma, "polygamma_": polygamma_, "tensor_split": tensor_split},
    **{name: _MOMENTS[name] for name in ("std", "var")},
    "__array_wrap__": __array_wrap__,
}
FUNCTIONS = {"scatter": scatter, "tensor_split": tensor_split, **_MOMENTS}
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Tensor.H = property(_conjugate_transpose)
