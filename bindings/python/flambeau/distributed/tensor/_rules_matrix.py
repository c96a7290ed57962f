"""Rules of products: a label for rows, one for columns, one for what is summed over."""

from ._dtensor import refused
from ._plan import Plan, carried_out


def _product(name, run, tensors, labels, out, added=()):
    terms = tuple(frozenset((k,)) for k in range(len(tensors)) if k not in added)
    return carried_out(
        Plan(name, tensors, labels, tuple(out), run, reduces="sum", terms=terms, added=added)
    )


def _sides(one, other):
    """Labels of both operands of a product, and of its result."""
    a = ["k"] if one.ndim == 1 else ["m", "k"]
    b = ["k"] if other.ndim == 1 else ["k", "n"]
    batch = max(one.ndim - 2, other.ndim - 2, 0)
    large, outer = [], []
    for t in (one, other):
        outer.append((1,) * (batch - max(t.ndim - 2, 0)) + tuple(t.shape[: max(t.ndim - 2, 0)]))
    sizes = [max(pair) for pair in zip(*outer)]
    for t, dims in ((one, outer[0]), (other, outer[1])):
        rows = [("b", i) if dims[i] == sizes[i] else None for i in range(batch)]
        large.append(rows[batch - max(t.ndim - 2, 0) :])
    out = [("b", i) for i in range(batch)] + a[:-1] + b[1:]
    return [tuple(large[0] + a), tuple(large[1] + b)], tuple(out)


def matmul(func, input, other):
    labels, out = _sides(input, other)
    return _product(func.__name__, lambda ps, _: func(*ps), [input, other], labels, out)


def mm(func, input, mat2):
    return matmul(func, input, mat2)


def mv(func, input, vec):
    return matmul(func, input, vec)


def outer(func, input, vec2):
    pair = [input, vec2]
    return _product(func.__name__, lambda ps, _: func(*ps), pair, [("m",), ("n",)], ("m", "n"))


def linear(func, input, weight, bias=None):
    rows = tuple(range(input.ndim - 1))
    last = ("n",) if weight.ndim == 2 else ()
    labels, out = [(*rows, "k"), (*last, "k")], (*rows, *last)
    if bias is None:
        return _product("linear", lambda ps, _: func(*ps), [input, weight], labels, out)
    labels.append(last)
    three = [input, weight, bias]
    return _product("linear", lambda ps, _: func(*ps), three, labels, out, added=(2,))


def _plus_product(func, input, one, other, **scales):
    """`addmm` and its like: the first operand is broadcast, and added once."""
    labels, out = _sides(one, other)
    shape = [one.shape[i] if i < one.ndim - 1 else other.shape[-1] for i in range(len(out))]
    own = list(out[len(out) - input.ndim :])
    for i, n in enumerate(shape[len(out) - input.ndim :]):
        if input.shape[i] != n:
            own[i] = None
    three = [input, one, other]

    def run(ps, _):
        return func(*ps, **scales)

    return _product(func.__name__, run, three, [tuple(own), *labels], out, added=(0,))


def addmm(func, input, mat1, mat2, *, beta=1, alpha=1):
    return _plus_product(func, input, mat1, mat2, beta=beta, alpha=alpha)


def baddbmm(func, input, batch1, batch2, *, beta=1, alpha=1):
    return _plus_product(func, input, batch1, batch2, beta=beta, alpha=alpha)


def addmv(func, input, mat, vec, *, beta=1, alpha=1):
    return _plus_product(func, input, mat, vec, beta=beta, alpha=alpha)


def einsum(func, equation, *operands):
    """The equation's letters are the labels; with an ellipsis or a diagonal all is gathered."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        raise refused("einsum with lists of dimensions")
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(x for x in set(left) - {","} if left.count(x) == 1))
    plain = "." not in equation and all(len(set(t)) == len(t) for t in (*terms, right))
    if not plain or len(terms) != len(operands):
        terms, right = [(None,) * t.ndim for t in operands], ()
    shapes = {}
    for term, t in zip(terms, operands):
        for label, n in zip(term, t.shape):
            shapes[label] = max(n, shapes.get(label, 0))
    labels = [
        tuple(x if n == shapes[x] else None for x, n in zip(term, t.shape))
        for term, t in zip(terms, operands)
    ]
    return _product("einsum", lambda ps, _: func(equation, *ps), list(operands), labels, right)


RULES = {
    "matmul": matmul, "mm": mm, "bmm": mm, "mv": mv, "outer": outer, "dot": matmul,
    "linear": linear, "addmm": addmm, "baddbmm": baddbmm, "addmv": addmv, "einsum": einsum,
}  # fmt: skip
