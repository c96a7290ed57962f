"""Initialisers and random numbers of a tensor that lies over ranks: what a process that had it
whole would write, whatever the number of ranks.

Each rank writes the whole tensor and keeps its part. The ranks draw alike: as the first of them,
whose generator's state the others take over."""

from ..._torch import empty
from ...autograd import no_grad
from ...random import Generator, default_of
from .. import _collectives as c
from ._layout import Replicate
from ._redistribute import moved


@no_grad()
def fill_whole(write, args, named):
    """Calls `write` with whole tensors in the place of those in parts, then takes the parts."""
    parts = [value for value in args if hasattr(value, "_fill_whole")]
    layout = parts[0]._layout
    if layout.mesh.get_coordinate() is None:
        return
    if not parts[0].is_meta:
        given = (v for v in (*args, *named.values()) if isinstance(v, Generator))
        _agree(layout.mesh, next(given, None) or default_of(parts[0].device))
    whole = {id(part): _whole(part) for part in parts}
    write(*(whole.get(id(value), value) for value in args), **named)
    for part in parts:
        _keep(part, whole[id(part)])


def _whole(part):
    local = part._local_tensor.detach()
    if part._layout.whole:
        return local
    return empty(part._layout.shape, dtype=local.dtype, device=local.device)


def _keep(part, whole):
    layout = part._layout
    if not layout.whole:
        every = layout.placed((Replicate(),) * layout.mesh.ndim)
        part._local_tensor.detach().copy_(moved(whole, every, layout.placements))


def _agree(mesh, generator):
    """The first rank of the mesh draws as it would alone, the others as it does."""
    state = generator.get_state()
    shown = state.clone().to(mesh.device_type)
    for i in reversed(range(mesh.ndim)):
        c.broadcast(shown, group=mesh.get_group(i), group_src=0)
    shown = shown.cpu()
    if not shown.equal(state):
        generator.set_state(shown)
