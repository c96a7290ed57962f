"""Which functions of tensors act on parts as on the whole, and how.

On tensors that every rank has whole, all but random ones. On parts: what computes each element from
those at its place, where the operands lie alike; reductions of everything, which the ranks reduce
once more. Whatever is not here is refused, by its name."""

from ..._gen import ops
from ..._tensor import Tensor
from ..._torch import float32, float64, is_grad_enabled, ones_like, tensor
from ..._types import bool_, iinfo
from .. import _collectives as c
from .._ops import ReduceOp
from ._dtensor import DTensor, made, refused
from ._layout import Replicate

_UNARY = (
    "abs neg exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square sin cos tan asin acos atan sinh "
    "cosh tanh sigmoid relu gelu silu mish softplus elu selu leaky_relu hardtanh relu6 logsigmoid "
    "softsign reciprocal sign floor ceil round trunc frac erf erfc isnan isinf isfinite "
    "logical_not bitwise_not nan_to_num clamp clamp_min clamp_max clip clone detach zero fill "
    "positive float double half bfloat16 int long short bool to type_as cast"
).split()
_BINARY = (
    "add sub mul div true_divide floor_divide fmod remainder pow maximum minimum fmax fmin atan2 "
    "eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor where "
    "lerp addcmul addcdiv copy subtract multiply divide rsub operator xlogy masked_fill copysign"
).split()
_LIKE = "zeros_like ones_like empty_like full_like".split()
_ELEMENTWISE = {*_UNARY, *_BINARY, *_LIKE} | {f"{name}_" for name in (*_UNARY, *_BINARY)}
# What a sum of terms is: that of what is done to each; these take no other term.
_LINEAR = frozenset("mul mul_ div div_ neg neg_".split())
_SUMS = frozenset("add add_ sub sub_".split())
# The same of terms of which the ranks take the largest or least.
_ANY_TERM, _ANY_TERMS = frozenset("clone detach zero_ zeros_like empty_like".split()), {"copy_"}
_RANDOM = ("rand", "dropout", "bernoulli", "multinomial", "normal", "uniform", "exponential")
_TOTALS = {
    "sum": "SUM",
    "max": "MAX",
    "amax": "MAX",
    "min": "MIN",
    "amin": "MIN",
    "prod": "PRODUCT",
}


def answer(func, types, args=(), kwargs=None):
    """The result of a function that was given a DTensor."""
    kwargs = kwargs or {}
    name = func.__name__
    given = list(_found((args, kwargs)))
    first = next(value for value in given if isinstance(value, DTensor))
    for value in given:
        if isinstance(value, DTensor) and value.device_mesh != first.device_mesh:
            raise refused(f"{name} of operands on several meshes")
        if not isinstance(value, DTensor) and value.ndim:
            raise TypeError(
                f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                "DTensor before calling distributed operators\n  distribute_tensor(tensor, "
                "device_mesh, placements), or to_local() and full_tensor() of the other"
            )
    whole = all(value._layout.whole for value in given if isinstance(value, DTensor))
    if whole and not any(word in name for word in _RANDOM):
        return _of_whole(func, first, args, kwargs)
    if name in _ELEMENTWISE:
        return _elementwise(func, name, given, args, kwargs)
    rule = _RULES.get(name)
    if rule is None:
        raise refused(name)
    return rule(func, *args, **kwargs)


def _found(value):
    """All tensors in arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _found(part)
    elif isinstance(value, dict):
        yield from _found(list(value.values()))


def _parts(value):
    """Arguments with parts in the place of DTensors."""
    if isinstance(value, DTensor):
        return value._local_tensor
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(map(_parts, value))
    if isinstance(value, dict):
        return {k: _parts(v) for k, v in value.items()}
    return value


def _of_whole(func, first, args, kwargs):
    """Every rank computes it all."""
    known = {id(v._local_tensor): v for v in _found((args, kwargs)) if isinstance(v, DTensor)}
    return _as_whole(func(*_parts(args), **_parts(kwargs)), first, known)


def _as_whole(value, first, known):
    """Tensors in a result as DTensors; operands as the objects that they were given as."""
    if isinstance(value, Tensor):
        layout = first._layout.placed((Replicate(),) * first.device_mesh.ndim, value.shape)
        found = known.get(id(value))
        return made(value, layout) if found is None else found
    if isinstance(value, (tuple, list)):
        parts = [_as_whole(part, first, known) for part in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    return value


def _elementwise(func, name, given, args, kwargs):
    """Each rank computes its part; scalars are whole everywhere."""
    large = [v for v in given if isinstance(v, DTensor) and not (v._layout.whole and not v.ndim)]
    first = large[0]
    if name == "where" and len(args) + len(kwargs) < 3:
        raise refused("where, as a list of places,")
    for value in large[1:]:
        if value._layout != first._layout:
            raise refused(
                f"{name} of operands that lie as {first.placements} of {list(first.shape)} and as "
                f"{value.placements} of {list(value.shape)}"
            )
    if first._layout.partial:
        _check_terms(name, first, large, given, args, kwargs)
    if name.endswith("_") and given[0] is not first:
        raise refused(f"{name}, which would change the shape,")
    found = func(*_parts(args), **_parts(kwargs))
    if found is first._local_tensor or found is _parts(args)[0]:
        return args[0]
    return first._with_local(found)


def _check_terms(name, first, large, given, args, kwargs):
    """Refuses what is not done to the total where it is done to its terms."""
    sums = all(p.reduce_op in ("sum", "avg") for p in first.placements if p.is_partial())
    linear, alike = (_LINEAR, _SUMS) if sums else ((), ())
    if name.startswith("div"):
        divided = args[0] if args else kwargs.get("input")
        if divided is not first or kwargs.get("rounding_mode") is not None:
            linear = ()
    both = len(large) == len(given) == 2 and (name in alike or name in _ANY_TERMS)
    if not (both or len(large) == 1 and (name in linear or name in _ANY_TERM)):
        raise refused(f"{name} of terms of a reduction (Partial)")


def _reduced(one, local, op):
    """A number of each rank's part as that of all parts."""
    total = local.detach().clone()
    inside = one.device_mesh.get_coordinate() is not None
    for i, placement in enumerate(one.placements):
        if inside and placement.is_shard():
            c.all_reduce(total, op, one.device_mesh.get_group(i))
    return made(total, one._layout.placed((Replicate(),) * one.device_mesh.ndim, ()))


def _no_terms(name, one):
    if one._layout.partial:
        raise refused(f"{name} of terms of a sum (Partial)")
    if one.requires_grad:
        raise refused(f"{name} with a gradient")


def _extreme(dtype, least):
    """The least or the largest value of a dtype."""
    if dtype is bool_:
        return not least
    if dtype.is_floating_point:
        return float("-inf" if least else "inf")
    return iinfo(dtype).min if least else iinfo(dtype).max


def _total(name):
    def rule(func, one, *args, **kwargs):
        if args or kwargs:
            raise refused(f"{name} along a dimension")
        _no_terms(name, one)
        local = one._local_tensor
        if not local.numel() and name in ("max", "amax", "min", "amin"):  # a rank without elements
            local = local.new_full((1,), _extreme(local.dtype, name in ("max", "amax")))
        return _reduced(one, func(local), ReduceOp[_TOTALS[name]])

    return rule


def _mean(func, one, *args, **kwargs):
    if args or kwargs:
        raise refused("mean along a dimension")
    _no_terms("mean", one)
    return _reduced(one, one._local_tensor.sum(), ReduceOp.SUM) / one.numel()


def _norm(func, one, p=2, dim=None, keepdim=False, **kwargs):
    """The norm of all elements: of the ranks' norms, in their power."""
    if kwargs.pop("ord", None) is not None or dim is not None or keepdim:
        raise refused("norm along a dimension")
    _no_terms("norm", one)
    p = 2.0 if p in (None, "fro") else float(p)
    local = one._local_tensor.detach()
    if p in (float("inf"), float("-inf")):
        op = ReduceOp.MAX if p > 0 else ReduceOp.MIN
        own = local.abs().reshape(-1)
        none = own.new_full((), 0.0 if p > 0 else float("inf"))
        extreme = (own.max() if p > 0 else own.min()) if own.numel() else none
        return _reduced(one, extreme, op)
    if p == 0:
        return _reduced(one, (local != 0).sum(), ReduceOp.SUM).to(local.dtype)
    return _in_power(one, local, p).to(local.dtype)


def _in_power(one, local, p):
    """The norm of order p, in shares of the largest one of a rank: its powers are in range."""
    wide = float64 if local.dtype is float64 else float32
    none = tensor(0.0 if p > 0 else float("inf"), dtype=wide, device=local.device)
    own = local.norm(p, dtype=wide) if local.numel() else none
    most = _reduced(one, own, ReduceOp.MAX)._local_tensor
    most = most.where((most > 0) & most.isfinite(), ones_like(most))
    return _reduced(one, (own / most).pow(p), ReduceOp.SUM).pow(1.0 / p) * most


def _vector_norm(func, one, ord=2, dim=None, keepdim=False, **kwargs):
    return _norm(func, one, ord, dim, keepdim, **kwargs)


def _every(name, op):
    def rule(func, one, *args, **kwargs):
        if args or kwargs:
            raise refused(f"{name} along a dimension")
        _no_terms(name, one)
        own = func(one._local_tensor).to(ops.TORCH["empty"](0).dtype)
        return _reduced(one, own, op) != 0

    return rule


def _alike(func, one, other, *args, **kwargs):
    """`equal` and `allclose`: whether they say so on every rank."""
    if not isinstance(other, DTensor) or one._layout != other._layout:
        raise refused(f"{func.__name__} of tensors that lie otherwise")
    _no_terms(func.__name__, one.detach())
    own = func(one._local_tensor, other._local_tensor, *args, **kwargs)
    return _reduced(one, one._local_tensor.new_full((), float(own)), ReduceOp.MIN).item() != 0


def _drawn(func, one, *args, **kwargs):
    """What writes random numbers in place."""
    if any(isinstance(value, DTensor) for value in _found((args, kwargs))):
        raise refused(f"{func.__name__} by another tensor's elements")
    if one.requires_grad and is_grad_enabled():
        if not one.is_leaf:
            raise refused(f"{func.__name__} that backward passes")
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    one._fill_whole(func, *args, **kwargs)
    return one


def _contiguous(func, one, *args, **kwargs):
    return one


_RULES = {name: _total(name) for name in _TOTALS}
_RULES |= {"mean": _mean, "norm": _norm, "vector_norm": _vector_norm}
_RULES |= {"all": _every("all", ReduceOp.MIN), "any": _every("any", ReduceOp.MAX)}
_RULES |= {"equal": _alike, "allclose": _alike, "contiguous": _contiguous}
_RULES |= dict.fromkeys(
    "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_".split(),
    _drawn,
)
DTensor._answer = staticmethod(answer)
