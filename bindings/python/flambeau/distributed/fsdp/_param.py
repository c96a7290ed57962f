"""A parameter that `fully_shard` manages: cut along its first dimension, this rank's part always
there, the whole only between `put` and `free`.

Invariant: the module has the whole parameter where there is one, else the part. The whole is one
and the same leaf for good, so that a backward finds the values again that its forward has saved."""

from ..._torch import empty
from ...autograd import no_grad
from ...nn.parameter import Parameter
from ..tensor._dtensor import made
from ..tensor._layout import Layout, Replicate, Shard, piece


class ShardedParam:
    """One parameter, under all names that the modules have for it."""

    def __init__(self, parameter, places, mesh, device, offload):
        self.places, self.shape = places, tuple(parameter.shape)
        if not self.shape:
            module, name = places[0]
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change "
                f"{type(module).__name__}.{name} to a 1D tensor with numel equal to 1."
            )
        ranks, rank = mesh.size(-1), mesh.get_local_rank(-1)
        first, rows = piece(self.shape[0], ranks, rank)
        self.rows = -(-self.shape[0] // ranks)  # of each rank, the last ones' padded
        self.row = parameter[0].numel() if self.shape[0] else 0
        self.padded = self.rows * self.row
        local = parameter.detach().narrow(0, first, rows).to(device).clone()
        if offload is not None:
            local = local.cpu()
            local = local.pin_memory() if offload.pin_memory and device.type != "cpu" else local
        placements = (Replicate(),) * (mesh.ndim - 1) + (Shard(0),)
        part = made(local, Layout(mesh, placements, self.shape))
        self.part = Parameter(part, parameter.requires_grad)
        for name, value in parameter.__dict__.items():
            self.part.__dict__.setdefault(name, value)
        self.whole = self.kept = None  # the whole; a gradient that was not reduced
        self._show(self.part)

    def _show(self, parameter):
        for module, name in self.places:
            module._parameters[name] = parameter

    def local(self):
        """This rank's rows, in one dimension."""
        return self.part._local_tensor.detach().reshape(-1)

    def put(self, rows):
        """The whole parameter, given the rows of all ranks."""
        values = rows[: self.shape[0]]
        if self.whole is None:
            self.whole = Parameter(values, self.part.requires_grad)
        else:
            self.whole.data = values
            self.whole.requires_grad_(self.part.requires_grad)
        self._show(self.whole)

    def free(self):
        """Gives the memory of the whole back."""
        if self.whole is not None:
            self.whole.data = empty(0, dtype=self.whole.dtype, device=self.whole.device)
        self._show(self.part)

    def take_back(self):
        """Makes this rank's rows of the whole the part."""
        local = self.part._local_tensor
        first = self.part._layout.local()[1][0]
        with no_grad():
            local.detach().copy_(self.whole.detach().narrow(0, first, local.shape[0]))

    def taken_gradient(self, dtype):
        """The whole gradient since the last reduction, which the parameter then has no longer; None
        where there is none."""
        grad = None if self.whole is None else self.whole.grad
        if grad is not None:
            self.whole.grad = None
            grad = grad.detach().to(dtype or self.part.dtype)
            self.kept = grad if self.kept is None else self.kept.add_(grad)
        found, self.kept = self.kept, None
        return found

    def give(self, reduced):
        """Adds this rank's rows of the reduced gradient to that of the part."""
        local = self.part._local_tensor
        grad = reduced[: local.numel()].view(local.shape).to(local.device, local.dtype)
        if self.part.grad is None:
            self.part.grad = self.part._with_local(grad)
        else:
            self.part.grad._local_tensor.add_(grad)
