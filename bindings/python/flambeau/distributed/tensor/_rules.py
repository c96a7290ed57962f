"""Which functions of tensors act on parts as on the whole, and how.

On tensors that every rank has whole, all but random ones. On parts, those that have a rule: a plan
of which dimensions of operands and result go together (`_plan`), or a function of its own, as here
for norms and for what draws random numbers. Whatever has none is refused, by its name."""

from ..._gen import ops
from ..._tensor import Tensor
from ..._torch import empty_like, float32, float64, is_grad_enabled, ones_like, tensor
from .. import _collectives as c
from .._ops import ReduceOp
from . import _rules_copies, _rules_loss, _rules_matrix, _rules_rows, _rules_shape
from ._dtensor import DTensor, made, refused
from ._elementwise import NAMES as _ELEMENTWISE
from ._elementwise import elementwise, substituted
from ._layout import Layout, Replicate, Shard
from ._redistribute import redistributed

_RANDOM = ("rand", "dropout", "bernoulli", "multinomial", "normal", "uniform", "exponential")


class Implicit:
    """How deep in contexts in which plain tensors count as whole on every rank: of all functions,
    of losses."""

    depth = losses = 0


def answer(func, types, args=(), kwargs=None):
    """The result of a function that was given a DTensor."""
    kwargs = kwargs or {}
    name = func.__name__
    given = list(found_in((args, kwargs)))
    first = next(value for value in given if isinstance(value, DTensor))
    implicit = Implicit.depth or Implicit.losses and name in ("cross_entropy", "nll_loss")
    for value in given:
        if isinstance(value, DTensor) and value.device_mesh != first.device_mesh:
            raise refused(f"{name} of operands on several meshes")
        if not isinstance(value, DTensor) and value.ndim and not implicit:
            raise TypeError(
                f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                "DTensor before calling distributed operators\n  distribute_tensor(tensor, "
                "device_mesh, placements), or to_local() and full_tensor() of the other"
            )
    whole = all(value._layout.whole for value in given if isinstance(value, DTensor))
    if whole and name != "__iter__" and not any(word in name for word in _RANDOM):
        return _of_whole(func, first, args, kwargs)
    if kwargs.get("out") is not None:
        raise refused(f"{name} with out=")
    if name in _ELEMENTWISE:
        return elementwise(func, name, given, args, kwargs)
    rule = _RULES.get(name)
    if rule is None:
        raise refused(name)
    if "input" in kwargs:
        kwargs = dict(kwargs)
        args = (kwargs.pop("input"), *args)
    return rule(func, *args, **kwargs)


def found_in(value):
    """All tensors in arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from found_in(part)
    elif isinstance(value, dict):
        yield from found_in(list(value.values()))


def _of_whole(func, first, args, kwargs):
    """Every rank computes it all."""
    known = {id(v._local_tensor): v for v in found_in((args, kwargs)) if isinstance(v, DTensor)}
    parts = {id(v): v._local_tensor for v in known.values()}
    return _as_whole(func(*substituted(args, parts), **substituted(kwargs, parts)), first, known)


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


# ---- numbers of all elements


def _reduced(one, local, op):
    """A number of each rank's part as that of all parts."""
    total = local.detach().clone()
    inside = one.device_mesh.get_coordinate() is not None
    for i, placement in enumerate(one.placements):
        if inside and placement.is_shard():
            c.all_reduce(total, op, one.device_mesh.get_group(i))
    return made(total, one._layout.placed((Replicate(),) * one.device_mesh.ndim, ()))


def _without_terms(one):
    """The tensor, whose terms are added up where it has any."""
    if not one._layout.partial:
        return one
    return one.redistribute(
        placements=[Replicate() if p.is_partial() else p for p in one.placements]
    )


def _extreme(op):
    """`max()` and `min()` of everything at once, where ranks may have no element."""
    planned = _rules_rows.max_or_min(op, _of_two)

    def rule(func, one, *args, **kwargs):
        grows = one.requires_grad and is_grad_enabled()
        if args or kwargs or grows or one._layout.partial or not _any_empty(one):
            return planned(func, one, *args, **kwargs)
        return of_all(func, one)

    def of_all(func, one):
        local = one._local_tensor
        if not local.numel():  # a rank without elements
            local = local.new_full((1,), _rules_rows.extreme(local.dtype, op == "max"))
        return _reduced(one, func(local), ReduceOp[op.upper()])

    return rule


def _any_empty(one):
    """Whether some rank has no element, by the layout alone."""
    mesh = one.device_mesh
    last = Layout(mesh, one.placements, one._layout.shape).local([n - 1 for n in mesh.shape])[0]
    return 0 in last


def _of_two(func, one, other, **kwargs):
    return elementwise(func, func.__name__, [one, other], (one, other), kwargs)


def _norm(func, one, p=2, dim=None, keepdim=False, **kwargs):
    """The norm of all elements: of the ranks' norms, in their power."""
    p = kwargs.pop("ord", p)
    dtype = kwargs.pop("dtype", None)
    if kwargs:
        raise refused(f"norm with {', '.join(kwargs)}")
    if dim is not None or keepdim or dtype is not None:
        plain = {"dtype": dtype} if dtype is not None else {}
        return _along(one, p, dim, keepdim, plain)
    p = 2.0 if p in (None, "fro") else float(p)
    one = _without_terms(one)
    if one._layout.whole:
        return made(one._local_tensor.norm(p), one._layout.placed(one.placements, ()))
    local = one._local_tensor
    if local.requires_grad and is_grad_enabled():
        return _norm_of_norms(one, p)
    if p in (float("inf"), float("-inf")):
        op = ReduceOp.MAX if p > 0 else ReduceOp.MIN
        own = local.detach().abs().reshape(-1)
        none = own.new_full((), 0.0 if p > 0 else float("inf"))
        extreme = (own.max() if p > 0 else own.min()) if own.numel() else none
        return _reduced(one, extreme, op)
    if p == 0:
        return _reduced(one, (local != 0).sum(), ReduceOp.SUM).to(local.dtype)
    return _in_power(one, local.detach(), p).to(local.dtype)


def _along(one, p, dim, keepdim, options):
    """Along dimensions, which every rank has whole then."""

    def run(x, dim, keepdim=False):
        return x.norm(2 if p is None else p, dim, keepdim, **options)

    run.__name__ = "norm"
    every = list(range(one.ndim)) if dim is None else dim
    return _rules_rows.statistic(run, one, every, keepdim=keepdim)


def _norm_of_norms(one, p):
    """With a gradient: every rank has all ranks' norms, and takes the norm of them."""
    if p <= 0 or p == float("inf") and _any_empty(one):
        whole = one.full_tensor().norm(p)
        return made(whole, one._layout.placed((Replicate(),) * one.device_mesh.ndim, ()))
    mesh, whole = one.device_mesh, (Replicate(),) * one.device_mesh.ndim
    local = one._local_tensor
    found = local.norm(p, dtype=float64 if local.dtype is float64 else float32)
    for i, placement in enumerate(one.placements):
        if placement.is_shard() and mesh.get_coordinate() is not None:
            cut = tuple(Shard(0) if j == i else Replicate() for j in range(mesh.ndim))
            each = redistributed(found.reshape(1), Layout(mesh, cut, (mesh.size(i),)), whole)
            found = each.norm(p)
    return made(found.to(local.dtype), Layout(mesh, whole, ()))


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


def _every(op):
    def rule(func, one, *args, **kwargs):
        one = _without_terms(one)
        if args or kwargs:
            return _rules_rows.statistic(func, one, *args, **_rules_rows.named(kwargs))
        own = func(one._local_tensor).to(ops.TORCH["empty"](0).dtype)
        return _reduced(one, own, op) != 0

    return rule


def _alike(func, one, other, *args, **kwargs):
    """`equal` and `allclose`: whether they say so on every rank."""
    one, other = _without_terms(one), _without_terms(other)
    if tuple(one.shape) == tuple(other.shape):
        other = other.redistribute(placements=one.placements)
    elif func.__name__ == "equal":
        return False
    else:
        raise refused(f"{func.__name__} of tensors of two shapes")
    own = func(one._local_tensor, other._local_tensor, *args, **kwargs)
    return _reduced(one, one._local_tensor.new_full((), float(own)), ReduceOp.MIN).item() != 0


def _item(func, one):
    """A number, the same on every rank."""
    if one.numel() != 1:
        raise refused(func.__name__)
    return _only(one).item()


def _number(func, one):
    """What Python's `float` and its like make of it."""
    if one.numel() != 1:
        raise refused(func.__name__)
    return func(_only(one))


def _only(one):
    """The one element, on every rank; 0 outside the mesh, as sums are there."""
    outside = one.device_mesh.get_coordinate() is None
    return one._local_tensor.new_zeros(()) if outside else one.full_tensor()


def _new(func, one, *size, **kwargs):
    """Of the same shape in parts that lie alike, as in torch, else whole on every rank."""
    sizes = size[0] if size and isinstance(size[0], (tuple, list)) else size
    named = kwargs.get("size")
    shape = tuple(sizes if named is None else named)
    alike = shape == tuple(one.shape) and not one._layout.partial
    whole = (Replicate(),) * one.device_mesh.ndim
    layout = one._layout.placed(one.placements if alike else whole, shape)
    return made(func(one._local_tensor, layout.local()[0], **kwargs), layout)


def _new_full(func, one, size, fill_value, **kwargs):
    def full(local, shape, **options):
        return func(local, shape, fill_value, **options)

    return _new(full, one, size, **kwargs)


# ---- random numbers


def _drawn(func, one, *args, **kwargs):
    """What writes random numbers in place."""
    if any(isinstance(value, DTensor) for value in found_in((args, kwargs))):
        raise refused(f"{func.__name__} by another tensor's elements")
    if one.requires_grad and is_grad_enabled():
        if not one.is_leaf:
            raise refused(f"{func.__name__} that backward passes")
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    one._fill_whole(func, *args, **kwargs)
    return one


def _random_like(func, one, *args, requires_grad=False, generator=None, **named):
    """A tensor that lies as another does, of what one that has it whole would draw."""
    one = _without_terms(one)
    if generator is not None:
        named["generator"] = generator
    kinds = {name: named[name] for name in ("dtype", "device") if name in named}
    found = one._with_local(empty_like(one._local_tensor.detach(), **kinds))
    found._fill_whole(
        lambda whole, *_: whole.copy_(func(whole, *args, **named)),
        *(() if generator is None else (generator,)),
    )
    return found.requires_grad_(requires_grad)


def _dropout(func, input, p=0.5, training=True, inplace=False):
    """Every rank drops what one that has the whole tensor would."""
    if inplace:
        raise refused("dropout in place")
    if not training or p == 0:
        return input * 1
    one = _without_terms(input)
    mask = one._with_local(ones_like(one._local_tensor.detach()))
    mask._fill_whole(lambda whole: whole.copy_(func(ones_like(whole), p)))
    return one * mask


def _contiguous(func, one, *args, **kwargs):
    return one


_RULES = {**_rules_matrix.RULES, **_rules_shape.RULES, **_rules_copies.RULES}
_RULES |= {**_rules_rows.RULES, **_rules_loss.RULES}
_RULES |= {"max": _extreme("max"), "min": _extreme("min")}
_RULES |= {"amax": _extreme("max"), "amin": _extreme("min")}
_RULES |= {"norm": _norm, "vector_norm": _vector_norm, "item": _item, "dropout": _dropout}
_RULES |= dict.fromkeys("__float__ __int__ __bool__ __index__ __complex__".split(), _number)
_RULES |= dict.fromkeys("new_zeros new_ones new_empty".split(), _new) | {"new_full": _new_full}
_RULES |= {"all": _every(ReduceOp.MIN), "any": _every(ReduceOp.MAX)}
_RULES |= {"equal": _alike, "allclose": _alike, "contiguous": _contiguous}
_RULES |= dict.fromkeys("rand_like randn_like randint_like".split(), _random_like)
_RULES |= dict.fromkeys(
    "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_".split(),
    _drawn,
)
DTensor._answer = staticmethod(answer)
