"""What computes each element from those at its place: operands that lie otherwise are moved, one
that is broadcast is whole along what the others are cut by, and scalars are whole everywhere.

On the terms of a sum it is done where the sum of the results is the result of the sum."""

from ._dtensor import DTensor, refused
from ._plan import Plan, carried_out

_UNARY = (
    "abs neg exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square sin cos tan asin acos atan sinh "
    "cosh tanh sigmoid relu gelu silu mish softplus elu selu leaky_relu hardtanh relu6 logsigmoid "
    "softsign reciprocal sign floor ceil round trunc frac erf erfc isnan isinf isfinite "
    "logical_not bitwise_not nan_to_num clamp clamp_min clamp_max clip clone detach zero fill "
    "positive float double half bfloat16 int long short bool to type_as cast angle sgn "
    "conj_physical"
).split()
_BINARY = (
    "add sub mul div true_divide floor_divide fmod remainder pow maximum minimum fmax fmin atan2 "
    "eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor where "
    "lerp addcmul addcdiv copy subtract multiply divide rsub xlogy masked_fill "
    "copysign bitwise_left_shift bitwise_right_shift"
).split()
# Operators whose left side is a number; of the sum and the product the methods are asked.
_REFLECTED = "sub truediv floordiv mod pow and or xor lshift rshift".split()
_LIKE = "zeros_like ones_like empty_like full_like".split()
_CASTS = frozenset("to type_as cast".split())
NAMES = {*_UNARY, *_BINARY, *_LIKE} | {f"{name}_" for name in (*_UNARY, *_BINARY)}
NAMES |= {f"__r{name}__" for name in _REFLECTED}
# What a sum of terms is: that of what is done to each; these take no other term.
_LINEAR = frozenset("mul mul_ div div_ neg neg_ multiply divide".split())
_SUMS = frozenset("add add_ sub sub_ subtract".split())
# The same of terms of which the ranks take the largest or least.
_ANY_TERM = frozenset("clone detach zero_ zeros_like empty_like".split())


def substituted(value, parts):
    """Arguments with other tensors in the place of some, by their identity."""
    found = parts.get(id(value))
    if found is not None:
        return found
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([substituted(v, parts) for v in value])
    if isinstance(value, dict):
        return {k: substituted(v, parts) for k, v in value.items()}
    return value


def elementwise(func, name, given, args, kwargs):
    """Each rank computes its part."""
    if name == "where" and len(args) + len(kwargs) < 3:
        raise refused("where, as a list of places,")
    if name in _CASTS:  # the other tensor only says the dtype
        given, others = given[:1], given[1:]
    else:
        others = ()
    shape = _broadcast(name, given)
    in_place = name.endswith("_") and not name.startswith("__")
    if in_place and tuple(given[0].shape) != shape:
        raise refused(f"{name}, which would change the shape,")
    tensors = list({id(t): t for t in given}.values())
    labels = [labels_in(t, shape) for t in tensors]
    known = {id(t): t._local_tensor for t in others if isinstance(t, DTensor)}

    def run(parts, _):
        found = known | {id(t): part for t, part in zip(tensors, parts)}
        return func(*substituted(args, found), **substituted(kwargs, found))

    moves = name in _ANY_TERM or name == "copy_"
    plan = Plan(name, tensors, labels, tuple(range(len(shape))), run, in_place=in_place,
                terms=_terms(name, given, tensors, args, kwargs), moves=moves)  # fmt: skip
    return carried_out(plan)


def _broadcast(name, tensors):
    shape = []
    for t in tensors:
        own = [1] * (len(shape) - t.ndim) + list(t.shape)
        shape = [1] * (len(own) - len(shape)) + shape
        for d, (a, b) in enumerate(zip(own, shape)):
            if a != b and 1 not in (a, b):
                raise RuntimeError(
                    f"{name}: sizes {a} and {b} of dimension {d} do not go together; shapes are "
                    + " and ".join(str(list(t.shape)) for t in tensors)
                )
            shape[d] = a if b == 1 else b
    return tuple(shape)


def labels_in(t, shape):
    """Dimensions as the result has them; one that is broadcast is whole."""
    new = len(shape) - t.ndim
    return tuple(new + d if n == shape[new + d] else None for d, n in enumerate(t.shape))


def _terms(name, given, tensors, args, kwargs):
    """Which operands may be terms of a reduction."""
    every = frozenset(range(len(tensors)))
    if name in _ANY_TERM or name == "copy_":
        return (every,)
    if name in _SUMS:
        return (every,) if len(given) == 2 else ()
    if name not in _LINEAR or len(tensors) < len(given):  # x * x
        return ()
    if name.startswith("div"):
        divided = args[0] if args else kwargs.get("input")
        alone = divided is tensors[0] and kwargs.get("rounding_mode") is None
        return (frozenset((0,)),) if alone else ()
    return tuple(frozenset((k,)) for k in every)
