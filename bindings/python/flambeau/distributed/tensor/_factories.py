"""Tensors made over a mesh at once: each rank makes its part. Random ones are those that a process
that had the tensor whole would draw."""

import functools

from ..._torch import empty as _empty
from ..._torch import full as _full
from ..._torch import linspace as _linspace
from ..._torch import logspace as _logspace
from ...autograd import no_grad
from ._distribute import mesh_of
from ._dtensor import made, refused
from ._layout import Layout, checked


def _made(name, size, dtype, layout, requires_grad, device_mesh, placements, write):
    mesh = mesh_of(device_mesh, name)
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)
    if layout is not None and str(layout) != "torch.strided":
        raise refused(f"{name} with layout={layout}")
    placed = checked(name, mesh, placements, len(size))
    if any(placement.is_partial() for placement in placed):
        raise refused(f"{name} of terms of a reduction (Partial)")
    lies = Layout(mesh, placed, size)
    local = _empty(lies.local()[0], dtype=dtype, device=mesh.device_type)
    found = made(local, lies)
    with no_grad():
        write(found)
    return found.requires_grad_(requires_grad)


def zeros(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """Zeros; by default whole on every rank."""
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("zeros", size, *given, lambda t: t._local_tensor.zero_())


def ones(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """Ones."""
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("ones", size, *given, lambda t: t._local_tensor.fill_(1))


def empty(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """Elements without a value."""
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("empty", size, *given, lambda t: None)


def full(size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None,
         placements=None):  # fmt: skip
    """One value everywhere."""
    if dtype is None:
        dtype = _full((), fill_value).dtype
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("full", (size,), *given, lambda t: t._local_tensor.fill_(fill_value))


def _spaced(name, steps, dtype, layout, requires_grad, device_mesh, placements, whole):
    """A vector of which each rank keeps its part of `whole()`."""

    def write(found):
        first = found._layout.local()[1][0]
        own = found._local_tensor
        own.copy_(whole(dtype=own.dtype, device=own.device).narrow(0, first, own.numel()))

    return _made(name, (steps,), dtype, layout, requires_grad, device_mesh, placements, write)


def linspace(start, end, steps, *, dtype=None, layout=None, requires_grad=False, device_mesh=None,
             placements=None):  # fmt: skip
    """From `start` to `end` in equal steps."""
    given = dtype, layout, requires_grad, device_mesh, placements
    whole = functools.partial(_linspace, start, end, steps)
    return _spaced("linspace", steps, *given, whole)


def logspace(start, end, steps, base=10.0, *, dtype=None, layout=None, requires_grad=False,
             device_mesh=None, placements=None):  # fmt: skip
    """From `base ** start` to `base ** end`, each the last one times the same."""
    given = dtype, layout, requires_grad, device_mesh, placements
    whole = functools.partial(_logspace, start, end, steps, base)
    return _spaced("logspace", steps, *given, whole)


def rand(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """Uniform in [0, 1)."""
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("rand", size, *given, lambda t: t._fill_whole(lambda whole: whole.uniform_()))


def randn(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """Normal, of mean 0 and variance 1."""
    given = dtype, layout, requires_grad, device_mesh, placements
    return _made("randn", size, *given, lambda t: t._fill_whole(lambda whole: whole.normal_()))
