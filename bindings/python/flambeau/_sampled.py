"""Functions of samples in torch's spellings: slopes, histograms, places as indices."""

from ._call import _result
from ._factory import tensor
from ._gen import ops
from ._tensor import Tensor

_HISTOGRAMDD = _result("histogramdd", ("hist", "bin_edges"))
_range = range  # where an argument has the name


def _slope(x, dim, spacing, edge_order):
    """Second-order differences inside, of the order asked for at both ends. `spacing`: a number, or
    the places of the samples."""
    n = x.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError(
            "torch.gradient expected each dimension size to be at least edge_order+1"
        )

    def part(start, length):
        return x.narrow(dim, start, length)

    shape = [1] * x.dim()
    shape[dim] = -1
    even = not isinstance(spacing, Tensor)
    width = None if even else spacing.diff()

    def widths(start, length):
        return spacing if even else width.narrow(0, start, length).reshape(shape)

    pieces = []
    if edge_order == 1:
        pieces.append((part(1, 1) - part(0, 1)) / widths(0, 1))
    elif even:
        pieces.append((-1.5 * part(0, 1) + 2 * part(1, 1) - 0.5 * part(2, 1)) / spacing)
    else:
        a, b = widths(0, 1), widths(1, 1)
        pieces.append(
            -(2 * a + b) / a / (a + b) * part(0, 1)
            + (a + b) / a / b * part(1, 1)
            - a / b / (a + b) * part(2, 1)
        )
    if n > 2:
        left, middle, right = part(0, n - 2), part(1, n - 2), part(2, n - 2)
        if even:
            pieces.append((right - left) / (2 * spacing))
        else:
            a, b = widths(0, n - 2), widths(1, n - 2)
            pieces.append(
                -b / a / (a + b) * left + (b - a) / a / b * middle + a / b / (a + b) * right
            )
    if edge_order == 1:
        pieces.append((part(n - 1, 1) - part(n - 2, 1)) / widths(n - 2, 1))
    elif even:
        pieces.append((1.5 * part(n - 1, 1) - 2 * part(n - 2, 1) + 0.5 * part(n - 3, 1)) / spacing)
    else:
        a, b = widths(n - 3, 1), widths(n - 2, 1)
        pieces.append(
            b / a / (a + b) * part(n - 3, 1)
            - (a + b) / a / b * part(n - 2, 1)
            + (a + 2 * b) / b / (a + b) * part(n - 1, 1)
        )
    return ops.TORCH["cat"](pieces, dim)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Slopes along each dimension, or those named, by differences of neighbouring samples.

    `spacing` is the distance of samples, one for all dimensions or one each, or a tensor of places
    for each; at the ends the differences are of `edge_order`, 1 or 2."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    spacing = 1 if spacing is None else spacing
    if isinstance(spacing, Tensor) and spacing.dim() == 0:
        spacing = spacing.item()
    n = input.dim()
    for d in dims:
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
    dims = [d % n for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    every = [spacing] * len(dims) if isinstance(spacing, (int, float)) else list(spacing)
    if len(every) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or a list of length "
            f"{len(dims)}, but got a list of length {len(every)}"
        )
    return tuple(_slope(input, d, s, edge_order) for d, s in zip(dims, every))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """`histogram` of points in several dimensions, the last dimension of `input`: counts of boxes,
    and the edges along each dimension."""
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "histogram: weight should have one number per sample, shape "
            f"{tuple(input.shape[:-1])}, but got {tuple(weight.shape)}"
        )
    n, histogram = input.shape[-1], ops.TORCH["histogram"]
    points = input.reshape(-1, n)
    every = [bins] * n if isinstance(bins, int) else list(bins)
    if len(every) != n:
        raise RuntimeError(
            f"torch.histogramdd: bin_edges should have the same size as innermost dim of input, "
            f"got {len(every)} for {n}"
        )
    # Each dimension's own histogram finds its edges, and where its points belong.
    spans = [None] * n if range is None else list(zip(range[::2], range[1::2]))
    edges = [histogram(points[:, d], every[d], range=spans[d]).bin_edges for d in _range(n)]
    sizes = [e.numel() - 1 for e in edges]
    place, inside = points.new_zeros(points.shape[0]).long(), None
    for d, (e, size) in enumerate(zip(edges, sizes)):
        column = points[:, d].contiguous()
        kept = (column >= e[0]) & (column <= e[-1])
        inside = kept if inside is None else inside & kept
        at = ops.TORCH["searchsorted"](e, column, right=True) - 1
        place = place * size + at.clamp(0, size - 1)
    each = points.new_ones(points.shape[0]) if weight is None else weight.reshape(-1)
    total = 1
    for size in sizes:
        total *= size
    found = points.new_zeros((total,)).index_add(0, place[inside], each.to(input.dtype)[inside])
    found = found.reshape(sizes)
    if density:
        found = found / found.sum()
        for d, e in enumerate(edges):
            found = found / e.diff().reshape([-1 if i == d else 1 for i in _range(n)])
    return _HISTOGRAMDD(found, tuple(edges))


def unravel_index(indices, shape):
    """Places of a tensor seen as one row, as one index per dimension of `shape`."""
    if indices.dtype.is_floating_point or str(indices.dtype) == "torch.bool":
        raise ValueError(
            f"unravel_index(): 'indices' dtype must be integer, but got {indices.dtype}"
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {sizes}")
    steps = [1]
    for n in reversed(sizes[1:]):
        steps.append(steps[-1] * n)
    if 0 in sizes:
        return (indices.long(),) * len(sizes)
    by = tensor(steps[::-1], device=indices.device), tensor(sizes, device=indices.device)
    places = indices.long().unsqueeze(-1).div(by[0], rounding_mode="floor") % by[1]
    return tuple(places.unbind(-1))
