"""A parameter that `fully_shard` manages: cut along a dimension, the first unless the program says
otherwise, this rank's part always there, the whole only between `put` and `free`. `rows` lie along
that dimension.

A parameter that tensor parallelism has laid over the ranks already counts as whole where a rank has
its part of that; the part that is left is cut twice.

Invariant: the module has the whole parameter where there is one, else the part. The whole is one
and the same leaf for good, so that a backward finds the values again that its forward has saved."""

import math

from ..._torch import empty
from ...autograd import no_grad
from ...nn.parameter import Parameter
from ..device_mesh import DeviceMesh
from ..tensor._dtensor import DTensor, made
from ..tensor._layout import Layout, Replicate, Shard, piece


class ShardedParam:
    """One parameter, under all names that the modules have for it."""

    def __init__(self, parameter, places, mesh, device, offload, dim=0):
        self.laid = parameter if isinstance(parameter, DTensor) else None
        cut = (Replicate(),) * (mesh.ndim - 1) + (Shard(dim),)
        over = Layout(mesh, cut, tuple(parameter.shape))
        if self.laid is not None:
            over = _cut_twice(parameter._layout, mesh, dim)
            parameter = parameter._local_tensor
        self.places, self.shape = places, tuple(parameter.shape)
        if not self.shape:
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change "
                f"{self.name()} to a 1D tensor with numel equal to 1."
            )
        ranks, rank = mesh.size(-1), mesh.get_local_rank(-1)
        self.dim, self.count = dim, self.shape[dim]
        if dim and self.count % ranks:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {dim}: "
                f"{parameter.shape} (world size: {ranks})"
            )
        self.first, rows = piece(self.count, ranks, rank)
        self.rows = -(-self.count // ranks)  # of each rank, the last ones' padded
        self.row_shape = self.shape[:dim] + self.shape[dim + 1 :]
        self.row = math.prod(self.row_shape) if self.count else 0
        self.padded = self.rows * self.row
        local = parameter.detach().narrow(dim, self.first, rows)
        local = (local if local.is_meta else local.to(device)).clone()
        if offload is not None and not local.is_meta:
            local = local.cpu()
            local = local.pin_memory() if offload.pin_memory and device.type != "cpu" else local
        self.part = Parameter(made(local, over), parameter.requires_grad)
        for name, value in parameter.__dict__.items():
            self.part.__dict__.setdefault(name, value)
        # The whole; a gradient that was not reduced; rows of one that copies did not average.
        self.whole = self.kept = self.partial = None
        self._show(self.part)

    def name(self):
        module, name = self.places[0]
        return f"{type(module).__name__}.{name}"

    def _show(self, parameter):
        for module, name in self.places:
            module._parameters[name] = parameter

    def adopt(self):
        """Takes over a part that the program has put in the place of the former one, as
        `load_state_dict(..., assign=True)` does."""
        module, name = self.places[0]
        now = module._parameters.get(name)
        if now is self.part:
            return
        if not isinstance(now, DTensor) or now._layout != self.part._layout:
            raise RuntimeError(
                f"fully_shard: {self.name()} was replaced by what does not lie as "
                f"{self.part.placements} of {list(self.part.shape)} over {self.part.device_mesh!r}"
                "\n  distribute_tensor(tensor, device_mesh, placements) makes it"
            )
        self.part = now
        self._show(now)

    def local(self):
        """This rank's rows, in one dimension."""
        return self.by_rows(self.part._local_tensor.detach()).reshape(-1)

    def by_rows(self, value):
        """A tensor with its rows in front."""
        return value.movedim(self.dim, 0) if self.dim else value

    def as_shaped(self, rows):
        """The same the other way round, in memory of its own shape."""
        return rows.movedim(0, self.dim).contiguous() if self.dim else rows

    def put(self, rows):
        """The whole parameter, given the rows of all ranks."""
        values = self.as_shaped(rows[: self.count])
        if self.whole is None:
            self.whole = Parameter(values, self.part.requires_grad)
        else:
            self.whole.data = values
            self.whole.requires_grad_(self.part.requires_grad)
        self._show(self.whole if self.laid is None else self._as_laid())

    def _as_laid(self):
        """The whole, as tensor parallelism has laid it."""
        found = self.laid._with_local(self.whole)
        found._is_param = True
        return found

    def free(self):
        """Gives the memory of the whole back."""
        if self.whole is not None:
            self.whole.data = empty(0, dtype=self.whole.dtype, device=self.whole.device)
        self._show(self.part)

    def take_back(self):
        """Makes this rank's rows of the whole the part."""
        local = self.part._local_tensor
        first, rows = min(self.first, self.count), local.shape[self.dim]
        with no_grad():
            local.detach().copy_(self.whole.detach().narrow(self.dim, first, rows))

    def taken_gradient(self, dtype):
        """The whole gradient since the last reduction, which the parameter then has no longer; None
        where there is none."""
        grad = None if self.whole is None else self.whole.grad
        if grad is not None:
            self.whole.grad = None
            grad = grad.detach().to(dtype or grad.dtype)
            self.kept = grad if self.kept is None else self.kept.add_(grad)
        found, self.kept = self.kept, None
        return found

    def keep_partial(self, rows):
        """Adds rows of a gradient that is reduced over the parts, not yet over their copies."""
        self.partial = rows if self.partial is None else self.partial.add_(rows)

    def give(self, reduced):
        """Adds this rank's rows of the reduced gradient to that of the part."""
        local = self.part._local_tensor
        rows = reduced[: local.numel()].view(local.shape[self.dim], *self.row_shape)
        grad = self.as_shaped(rows).to(local.device, local.dtype)
        if self.part.grad is None:
            self.part.grad = self.part._with_local(grad)
        else:
            self.part.grad._local_tensor.add_(grad)


def _cut_twice(laid, mesh, dim):
    """The layout of a parameter that lies over one dimension of a mesh and is cut along another."""
    over, root = laid.mesh, mesh._whole()
    if mesh.ndim != 1 or over.ndim != 1 or over._whole() is not root or over == mesh:
        raise NotImplementedError(
            "fully_shard of a module with DTensors is unsupported unless they lie over one "
            f"dimension of the mesh of which fully_shard gets another: {over!r} and {mesh!r}\n"
            '  init_device_mesh(device, (n, m), mesh_dim_names=("dp", "tp")), and of it '
            'parallelize_module(module, mesh["tp"]) and fully_shard(module, mesh=mesh["dp"])'
        )
    names = over.mesh_dim_names + mesh.mesh_dim_names
    dims, groups = [(root._dim(name),) for name in names], [over.get_group(), mesh.get_group()]
    both = DeviceMesh._of(root, dims, names, groups)
    return Layout(both, (*laid.placements, Shard(dim)), laid.shape)
