"""`local_map`: a function of plain tensors that runs on each rank's parts, and says how its inputs
and outputs lie."""

from functools import partial

from ..._tensor import Tensor
from .._placements import Placement
from ._dtensor import DTensor


def local_map(func=None, out_placements=None, in_placements=None, in_grad_placements=None,
              device_mesh=None, *, redistribute_inputs=False):  # fmt: skip
    """`func` on the parts of DTensors. `out_placements` and `in_placements` have placements for
    each output and input, None for what is no tensor; `in_grad_placements` says how the gradients
    of inputs lie where they do not lie as the inputs."""
    if func is None:
        return partial(
            local_map, out_placements=out_placements, in_placements=in_placements,
            in_grad_placements=in_grad_placements, device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )  # fmt: skip

    def run(*args, **kwargs):
        mesh = device_mesh or next((a.device_mesh for a in args if isinstance(a, DTensor)), None)
        for what, wanted in (("in", in_placements), ("in_grad", in_grad_placements)):
            if wanted is not None and len(wanted) != len(args):
                raise AssertionError(
                    f"{what}_placements length {len(wanted)} does not match the number of input "
                    f"args {len(args)}!"
                )
        given = [
            _part(arg, k, in_placements, in_grad_placements, mesh, redistribute_inputs)
            for k, arg in enumerate(args)
        ]
        found = func(*given, **kwargs)
        return found if mesh is None else _laid(found, out_placements, mesh)

    return run


def _part(arg, k, wanted, grads, mesh, redistributes):
    placed = None if wanted is None else wanted[k]
    if not isinstance(arg, DTensor):
        if isinstance(arg, Tensor) and placed is not None:
            raise AssertionError(
                f"local_map: input {k} is a Tensor, for which in_placements must be None, but got "
                f"{placed}"
            )
        return arg
    if wanted is not None and placed is None:
        raise AssertionError(f"local_map: input {k} is a DTensor; in_placements has None for it")
    if wanted is not None and tuple(placed) != arg.placements:
        if not redistributes:
            raise ValueError(
                f"arg {k} in local_map has a mismatched placements: arg placements is "
                f"{arg.placements} but the input placements is {tuple(placed)}! If redistribute "
                "is wanted, set redistribute_inputs=True"
            )
        arg = arg.redistribute(mesh, placed)
    return arg.to_local(grad_placements=None if grads is None else grads[k])


def _laid(found, placements, mesh):
    """Outputs as DTensors."""
    one = not isinstance(found, (tuple, list))
    values = [found] if one else list(found)
    if placements is None or isinstance(placements, Placement):
        raise TypeError("local_map: out_placements has a sequence of placements for each output")
    single = all(isinstance(p, Placement) for p in placements)
    each = [placements] * len(values) if single else list(placements)
    if len(each) != len(values):
        raise AssertionError(
            "local_map requires one PlacementType be provided for each output value, received "
            f"{len(each)} out_placements but {len(values)} is expected!"
        )
    made = []
    for value, placed in zip(values, each):
        if isinstance(value, Tensor) and placed is not None:
            value = DTensor.from_local(value, mesh, placed)
        elif placed is not None:
            raise AssertionError(
                f"Non-tensor output expects None placements but received {placed}!"
            )
        made.append(value)
    return made[0] if one else type(found)(made)
