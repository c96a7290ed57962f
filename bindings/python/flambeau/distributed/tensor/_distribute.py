"""Tensors and modules that every rank has whole, laid over a mesh."""

from ...autograd import no_grad
from ...nn.parameter import Parameter
from .. import _collectives as c
from ..device_mesh import _active
from ._dtensor import DTensor, made
from ._layout import Layout, Replicate, checked
from ._redistribute import moved


def mesh_of(given, what):
    mesh = given or (_active[-1] if _active else None)
    if mesh is None:
        raise RuntimeError(f"{what}: give a device_mesh; no mesh is active")
    return mesh


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """A leaf that lies over the mesh, with the values that the tensor has on rank `src_data_rank`
    of each group; with None, each rank takes its part of its own."""
    mesh = mesh_of(device_mesh, "distribute_tensor")
    placed = checked("distribute_tensor", mesh, placements, tensor.dim())
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != placed:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to "
                f"{placed}; redistribute() does that"
            )
        return tensor
    if any(placement.is_partial() for placement in placed):
        raise RuntimeError("distribute_tensor: a tensor is laid over a mesh as Shard or Replicate")
    layout = Layout(mesh, placed, tuple(tensor.shape))
    with no_grad():
        local = tensor.detach()
        local = local if local.is_meta else local.to(mesh.device_type)
        if mesh.get_coordinate() is None:
            local = local.new_empty(0)
        else:
            local = local.clone()
            if src_data_rank is not None and not local.is_meta:
                for i in range(mesh.ndim):
                    c.broadcast(local, group=mesh.get_group(i), group_src=src_data_rank)
            local = moved(local, layout.placed((Replicate(),) * mesh.ndim), placed)
    return made(local.requires_grad_(tensor.requires_grad), layout)


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """The module with its parameters and buffers as DTensors: laid by
    `partition_fn(name, module, mesh)`, the rest whole on every rank."""
    mesh = mesh_of(device_mesh, "distribute_module")
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, p in part._parameters.items():
            if p is not None and not isinstance(p, DTensor):
                whole = distribute_tensor(p.detach(), mesh)
                setattr(part, key, Parameter(whole, p.requires_grad))
        for key, b in part._buffers.items():
            if b is not None and not isinstance(b, DTensor):
                part._buffers[key] = distribute_tensor(b, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, given: input_fn(m, given, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, given, found: output_fn(m, found, mesh))
    return module
