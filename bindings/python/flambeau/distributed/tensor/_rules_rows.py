"""Rules of what works along dimensions: reductions, whose terms the ranks have where the dimension
is cut, and normalisations, sorts and scans, which want it whole."""

from math import prod

from ..._types import bool_, iinfo
from ._dtensor import refused
from ._plan import Plan, carried_out
from ._rules_shape import ONE, front, gathered, labelled


def _dims(dim, x):
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return set(labelled(x))
    return {front(d, x.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}


def named(kwargs):
    """NumPy's names of arguments as torch's."""
    return {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in kwargs.items()}


def _reduction(func, x, dims, keepdim, run, op, linear=False):
    labels = labelled(x)
    out = [None if d in dims else d for d in labels if keepdim or d not in dims]
    terms = ONE if linear else ()
    return carried_out(Plan(func.__name__, [x], [labels], tuple(out), run, reduces=op, terms=terms))


def sum(func, input, dim=None, keepdim=False, *, dtype=None):
    def run(ps, _):
        return ps[0].sum(sorted(dims), keepdim, dtype=dtype) if dims else ps[0].sum(dtype=dtype)

    dims = _dims(dim, input)
    linear = dtype in (None, input.dtype)
    return _reduction(func, input, dims, keepdim, run, "sum", linear)


def mean(func, input, dim=None, keepdim=False, *, dtype=None):
    dims = _dims(dim, input)
    count = prod(input.shape[d] for d in dims if d < input.ndim)

    def run(ps, _):
        part = ps[0]
        own = prod(part.shape[d] for d in dims)
        if own == count or not own:
            call = part.mean if own == count else part.sum
        else:  # in shares of the whole count, so that half types do not overflow
            return part.mean(sorted(dims), keepdim, dtype=dtype) * (own / count)
        return call(sorted(dims), keepdim, dtype=dtype) if dims else call(dtype=dtype)

    return _reduction(func, input, dims, keepdim, run, "sum", dtype in (None, input.dtype))


def extreme(dtype, least):
    """The least or the largest value of a dtype."""
    if dtype is bool_:
        return not least
    if dtype.is_floating_point:
        return float("-inf" if least else "inf")
    return iinfo(dtype).min if least else iinfo(dtype).max


def _extremes(op):
    def rule(func, input, dim=None, keepdim=False):
        dims = _dims(dim, input)

        def run(ps, _):
            return func(ps[0]) if dim is None and not keepdim else func(ps[0], dim, keepdim)

        return _reduction(func, input, dims, keepdim, run, op)

    return rule


def _places(func, input, dim, keepdim=False):
    """`max(dim)` and `min(dim)`, which also say where."""
    out = [None if d == front(dim, input.ndim) else d for d in labelled(input)]
    labels = [tuple(out)]
    out = tuple(d for d in out if d is not None or keepdim)
    return carried_out(
        Plan(func.__name__, [input], labels, out, lambda ps, _: func(ps[0], dim, keepdim))
    )


def whole_rows(func, input, dim=None, *rest, **kwargs):
    """What needs its dimension whole and leaves the shape: softmax, sorts and scans."""
    if dim is None:
        return gathered(func, input, *rest, **kwargs)
    return _kept(func, input, (dim,), lambda ps, _: func(ps[0], dim, *rest, **kwargs))


def _kept(func, x, dims, run):
    found = {front(d, x.ndim) for d in dims}
    labels = tuple(None if d in found else d for d in labelled(x))
    return carried_out(Plan(func.__name__, [x], [labels], labels, run))


def sort(func, input, dim=-1, descending=False, *, stable=False):
    def run(ps, _):
        return func(ps[0], dim=dim, descending=descending, stable=stable)

    return _kept(func, input, (dim,), run)


def argsort(func, input, dim=-1, descending=False, stable=False):
    def run(ps, _):
        return func(ps[0], dim=dim, descending=descending, stable=stable)

    return _kept(func, input, (dim,), run)


def count_nonzero(func, input, dim=None):
    dims = _dims(dim, input)
    run = lambda ps, _: func(ps[0], sorted(dims)) if dims else func(ps[0])  # noqa: E731
    return _reduction(func, input, dims, False, run, "sum")


def normalize(func, input, p=2.0, dim=1, eps=1e-12):
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    return _kept(func, input, dims, lambda ps, _: func(ps[0], p, dim, eps))


def glu(func, input, dim=-1):
    return _kept(func, input, (dim,), lambda ps, _: func(ps[0], dim))


def cosine_similarity(func, x1, x2, dim=1, eps=1e-8):
    """Of each pair of rows."""
    if tuple(x1.shape) != tuple(x2.shape):
        raise refused("cosine_similarity of tensors of two shapes")
    labels = tuple(None if d == front(dim, x1.ndim) else d for d in labelled(x1))
    out = tuple(d for d in labels if d is not None)

    def run(ps, _):
        return func(*ps, dim, eps)

    return carried_out(Plan("cosine_similarity", [x1, x2], [labels] * 2, out, run))


def topk(func, input, k, dim=-1, largest=True, sorted=True):
    return _kept(func, input, (dim,), lambda ps, _: func(ps[0], k, dim, largest, sorted))


def triangle(func, input, diagonal=0):
    return _kept(func, input, (-1, -2), lambda ps, _: func(ps[0], diagonal))


def statistic(func, input, dim=None, *rest, **kwargs):
    """A reduction whose dimensions must be whole."""
    if dim is None or isinstance(dim, bool):
        given = () if dim is None else (dim,)
        return gathered(func, input, *given, *rest, **kwargs)
    dims = _dims(dim, input)
    keepdim = kwargs.get("keepdim", bool(rest and func.__name__ not in ("std", "var") and rest[0]))
    labels = tuple(None if d in dims else d for d in labelled(input))
    out = tuple(d for i, d in enumerate(labels) if keepdim or i not in dims)

    def run(ps, _):
        return func(ps[0], dim, *rest, **kwargs)

    return carried_out(Plan(func.__name__, [input], [labels], out, run))


def layer_norm(func, input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _norm_of_rows(func, input, normalized_shape, (weight, bias), eps)


def rms_norm(func, input, normalized_shape, weight=None, eps=None):
    return _norm_of_rows(func, input, normalized_shape, (weight,), eps)


def _norm_of_rows(func, input, shape, affine, eps):
    count = 1 if isinstance(shape, int) else len(shape)
    labels = tuple(d if d < input.ndim - count else None for d in labelled(input))
    there = [t for t in affine if t is not None]

    def run(ps, _):
        rest = iter(ps[1:])
        return func(ps[0], shape, *[None if t is None else next(rest) for t in affine], eps)

    each = [labels, *[(None,) * t.ndim for t in there]]
    return carried_out(Plan(func.__name__, [input, *there], each, labels, run))


def embedding(func, input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):  # fmt: skip
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise refused("embedding with max_norm, scale_grad_by_freq or sparse")
    rows = tuple(("i", d) for d in labelled(input))

    def run(ps, _):
        return func(ps[0], ps[1], padding_idx)

    plan = Plan("embedding", [input, weight], [rows, (None, "e")], (*rows, "e"), run)
    return carried_out(plan)


def gather(func, input, dim, index):
    d = front(dim, input.ndim)
    same = input.ndim == index.ndim
    labels = tuple(
        i if same and i != d and input.shape[i] == index.shape[i] else None for i in labelled(input)
    )
    each = [labels, labels if same else (None,) * index.ndim]
    return carried_out(
        Plan("gather", [input, index], each, labels, lambda ps, _: func(ps[0], dim, ps[1]))
    )


def index_select(func, input, dim, index):
    d = front(dim, input.ndim)
    labels = tuple(None if i == d else i for i in labelled(input))
    each = [labels, (None,) * index.ndim]
    return carried_out(
        Plan("index_select", [input, index], each, labels, lambda ps, _: func(ps[0], dim, ps[1]))
    )


def attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):  # fmt: skip
    """Batches and heads go together."""
    if attn_mask is not None or dropout_p:
        raise refused("scaled_dot_product_attention with a mask or dropout")
    three = [query, key, value]
    outer = {tuple(t.shape[:-2]) for t in three}
    rows = tuple(range(query.ndim - 2)) if len(outer) == 1 else (None,) * (query.ndim - 2)
    each = [(*rows, "l", None)] + [(*rows, None, None)] * 2
    if is_causal:
        each[0] = each[1]
    if len(outer) > 1:
        each = [(None,) * t.ndim for t in three]

    def run(ps, _):
        return func(*ps, None, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)

    return carried_out(Plan("scaled_dot_product_attention", three, each, each[0], run))


def _numpys(rule):
    return lambda func, *args, **kwargs: rule(func, *args, **named(kwargs))


RULES = dict.fromkeys("softmax log_softmax softmin cumsum cumprod logcumsumexp".split(), whole_rows)
RULES |= dict.fromkeys("std var logsumexp argmax argmin prod median nansum".split(), statistic)
RULES |= {"sum": sum, "mean": mean}
RULES |= {"sort": sort, "topk": topk, "triu": triangle, "tril": triangle, "gather": gather}
RULES |= {"argsort": argsort, "count_nonzero": count_nonzero, "normalize": normalize, "glu": glu}
RULES |= {"cosine_similarity": cosine_similarity}
RULES = {name: _numpys(rule) for name, rule in RULES.items()}
RULES |= {
    "layer_norm": layer_norm, "rms_norm": rms_norm, "embedding": embedding,
    "index_select": index_select, "scaled_dot_product_attention": attention,
}  # fmt: skip


def max_or_min(op, elementwise):
    """`max` and `min`: of everything, along a dimension, or of two tensors; `amax` and `amin`."""
    whole = _extremes(op)

    def rule(func, input, *args, **kwargs):
        kwargs = named(kwargs)
        if func.__name__.startswith("a"):
            return whole(func, input, *args, **kwargs)
        if "other" in kwargs or args and hasattr(args[0], "ndim"):
            return elementwise(func, input, *args, **kwargs)
        if args or kwargs:
            return _places(func, input, *args, **kwargs)
        return whole(func, input)

    return rule
