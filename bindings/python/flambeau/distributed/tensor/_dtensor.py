"""`DTensor`: one tensor over the ranks of a mesh, each of which has a part.

Invariant: the handle that operations take is never given away, so nothing computes with the part
as if it were the whole: what `_rules` knows to act alike on parts does, the rest is refused. The
part is an ordinary tensor, and autograd's leaf where the whole is one."""

import copy

from ..._call import _fast, wrap
from ..._errors import UnsupportedError
from ..._tensor import Tensor, disabled_torch_function
from ..._types import Size
from .._collectives import all_reduce, broadcast
from .._ops import ReduceOp
from ..device_mesh import _active
from ._filling import fill_whole
from ._layout import Layout, Replicate, checked
from ._redistribute import redistributed, regraded, without_terms


def refused(what):
    """The error for what is not known of parts."""
    return UnsupportedError(
        f"{what} of a DTensor is unsupported: each rank has a part of the tensor\n"
        "  full_tensor() gives the whole one on every rank, to_local() this rank's part"
    )


def of_local(name):
    """A property that the whole has in common with its part."""
    return property(lambda self: getattr(self._local_tensor, name))


class DTensor(Tensor):
    """A tensor over a mesh: `distribute_tensor` and `DTensor.from_local` make it. Shape, dtype and
    device are those of the whole."""

    # Set with the first object, so that programs that only import the class pay nothing.
    __torch_function__ = staticmethod(disabled_torch_function)
    _answer = None  # set by _rules

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(
            "A DTensor is made by distribute_tensor(tensor, device_mesh, placements) or "
            "DTensor.from_local(local_tensor, device_mesh, placements)"
        )

    @property
    def _h(self):
        raise refused("this operation")

    def _inside(self):
        """The part, for who looks at a parameter and does not compute."""
        return self._local_tensor

    def _with_local(self, local, placements=None, shape=None):
        """A tensor that lies alike, of another part."""
        layout = self._layout
        if placements is not None or shape is not None:
            layout = layout.placed(placements or layout.placements, shape)
        return made(local, layout)

    # ---- what it is

    device_mesh = property(lambda self: self._layout.mesh)
    placements = property(lambda self: self._layout.placements)
    shape = property(lambda self: Size(self._layout.shape))
    ndim = property(lambda self: len(self._layout.shape))
    dtype, device, itemsize = of_local("dtype"), of_local("device"), of_local("itemsize")
    requires_grad, is_leaf = of_local("requires_grad"), of_local("is_leaf")
    retains_grad, grad_fn, _version = (
        of_local("retains_grad"),
        of_local("grad_fn"),
        of_local("_version"),
    )
    is_cuda, is_cpu, is_meta = of_local("is_cuda"), of_local("is_cpu"), of_local("is_meta")
    nbytes = property(lambda self: self.numel() * self.itemsize)

    @requires_grad.setter
    def requires_grad(self, value):
        self._local_tensor.requires_grad = value

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        """The steps of the whole tensor, in C order."""
        found = [1]
        for n in reversed(self.shape[1:]):
            found.insert(0, found[0] * max(n, 1))
        found = tuple(found[: self.ndim])
        return found if dim is None else found[dim]

    def dim(self):
        return self.ndim

    def numel(self):
        return self.shape.numel()

    ndimension, nelement = dim, numel

    def element_size(self):
        return self._local_tensor.element_size()

    def get_device(self):
        return self._local_tensor.get_device()

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_signed(self):
        return self.dtype.is_signed

    def is_contiguous(self, memory_format=None):
        return True

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    # ---- autograd

    def requires_grad_(self, requires_grad=True):
        self._local_tensor.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        local = self._local_tensor.grad
        if local is None:
            self._gradient = None
        elif self._gradient is None or self._gradient._local_tensor is not local:
            self._gradient = self._with_local(local)
        return self._gradient

    @grad.setter
    def grad(self, value):
        if value is not None and not isinstance(value, DTensor):
            raise TypeError(f"assigned grad expected to be a DTensor or None but got {type(value)}")
        if value is not None and value._layout != self._layout:
            raise RuntimeError(
                f"assigned grad lies as {value._layout}, but the tensor as {self._layout}; "
                "redistribute it"
            )
        self._local_tensor.grad = None if value is None else value._local_tensor
        self._gradient = value

    @grad.deleter
    def grad(self):
        self.grad = None

    @property
    def data(self):
        return self._with_local(self._local_tensor.data)

    @data.setter
    def data(self, value):
        if not isinstance(value, DTensor) or value._layout != self._layout:
            raise TypeError("the data of a DTensor is a DTensor that lies alike")
        self._local_tensor.data = value._local_tensor

    def register_hook(self, hook):
        """Calls `hook(grad)` with the gradient as a DTensor."""
        return self._local_tensor.register_hook(lambda grad: _local(hook(self._with_local(grad))))

    def register_post_accumulate_grad_hook(self, hook):
        return self._local_tensor.register_post_accumulate_grad_hook(lambda _: hook(self))

    def retain_grad(self):
        self._local_tensor.retain_grad()

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Of a whole tensor, or of the terms of a sum: of this rank's part."""
        if any(placement.is_shard() for placement in self.placements) and gradient is None:
            if self.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            raise refused("backward() of a number that one rank has")
        self._local_tensor.backward(_local(gradient), retain_graph, create_graph, inputs)

    # ---- parts and the whole

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None,
                   stride=None, grad_placements=None):  # fmt: skip
        """Of the parts that the ranks have. Without `shape` all parts count as alike large. The
        parts' gradients lie as `grad_placements`, by default as the tensor, whole for terms."""
        mesh = device_mesh or (_active[-1] if _active else None)
        if mesh is None:
            raise RuntimeError("DTensor.from_local: give a device_mesh; no mesh is active")
        placed = checked("DTensor.from_local", mesh, placements, local_tensor.dim())
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(
                "the local_tensor argument only accepts torch.Tensor but got a DTensor"
            )
        whole = list(local_tensor.shape)
        for i, placement in enumerate(placed):
            if placement.is_shard():
                whole[placement.dim] *= mesh.size(i)
        layout = Layout(mesh, placed, tuple(whole if shape is None else shape))
        if mesh.get_coordinate() is None:
            local_tensor = local_tensor.new_empty(0)
        elif layout.local()[0] != tuple(local_tensor.shape):
            raise ValueError(
                f"DTensor.from_local: of shape {list(layout.shape)} as {placed} this rank has "
                f"{list(layout.local()[0])}, but local_tensor is {list(local_tensor.shape)}"
            )
        if run_check and mesh.get_coordinate() is not None:
            for i, placement in enumerate(placed):
                if placement.is_replicate():
                    broadcast(local_tensor.detach(), group=mesh.get_group(i), group_src=0)
        if grad_placements is not None:
            wanted = checked("DTensor.from_local", mesh, grad_placements, len(layout.shape))
            local_tensor = regraded(local_tensor, layout, without_terms(placed), wanted)
        return made(local_tensor, layout)

    def to_local(self, *, grad_placements=None):
        """This rank's part. Its gradient lies as the tensor does, or as `grad_placements`."""
        if grad_placements is None:
            return self._local_tensor
        given = checked("to_local", self.device_mesh, grad_placements, self.ndim)
        wanted = without_terms(self.placements)
        return regraded(self._local_tensor, self._layout, given, wanted)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False,
                     forward_dtype=None, backward_dtype=None):  # fmt: skip
        """The same tensor under other placements."""
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise refused("redistribute() to another mesh")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if forward_dtype is not None or backward_dtype is not None:
            raise refused("redistribute() in another dtype")
        placed = checked("redistribute", self.device_mesh, placements, self.ndim)
        if any(p.is_partial() and p != q for p, q in zip(placed, self.placements)):
            raise RuntimeError("Can not redistribute to Partial, redistributing to Partial is for "
                               "internal use only!")  # fmt: skip
        local = redistributed(self._local_tensor, self._layout, placed)
        return made(local, self._layout.placed(placed))

    def full_tensor(self, *, grad_placements=None):
        """The whole tensor, on every rank; a collective."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def _fill_whole(self, write, *args, **named):
        """Has an initialiser write into the whole tensor, and those among its arguments."""
        if any(isinstance(v, DTensor) and v._layout.partial for v in (self, *args)):
            raise refused("initialising terms of a reduction (Partial)")
        fill_whole(write, (self, *args), named)

    def _like_whole(self, whole):
        """A tensor that every rank has, over the same mesh: in parts, where its shape is this
        one's."""
        every = self._layout.placed((Replicate(),) * self.device_mesh.ndim, tuple(whole.shape))
        if every.shape != self._layout.shape or self._layout.partial:
            return made(whole, every)
        return self._with_local(redistributed(whole, every, self.placements))

    def _take_whole(self, whole):
        """Writes this rank's part of a tensor that every rank has."""
        self._local_tensor.detach().copy_(self._like_whole(whole)._local_tensor)

    def _reduce_max(self, cell):
        """Leaves in a tensor of this rank's the largest that one of the mesh has."""
        if self.device_mesh.get_coordinate() is None:
            return
        for i in range(self.device_mesh.ndim):
            all_reduce(cell, ReduceOp.MAX, self.device_mesh.get_group(i))

    def _moved(self, device, dtype, non_blocking=False, copy=False):
        found = self._local_tensor._moved(device, dtype, non_blocking, copy)
        return self if found is self._local_tensor else self._with_local(found)

    # ---- Python's

    def __repr__(self):
        return (
            f"DTensor(local_tensor={self._local_tensor!r}, device_mesh={self.device_mesh!r}, "
            f"placements={self.placements!r})"
        )

    __str__ = __repr__

    def __format__(self, spec):
        whole = self._layout.whole and not self.ndim
        return (
            self._local_tensor.item().__format__(spec) if whole else object.__format__(self, spec)
        )

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            local = self._local_tensor.detach().clone().requires_grad_(self.requires_grad)
            found = memo[id(self)] = self._with_local(local)
            found.__dict__.update(copy.deepcopy(self._given(), memo))
        return found

    def __reduce_ex__(self, protocol):
        """This rank's part, and how the tensor lies; whoever reads it has the same part. And the
        attributes that the program gave it."""
        about = self._layout.mesh, self._layout.placements, tuple(self._layout.shape)
        local = self._local_tensor.detach()
        return _rebuild_dtensor, (local, *about, self.requires_grad), self._given() or None

    def _given(self):
        return {name: value for name, value in self.__dict__.items() if name not in _OWN}


_OWN = ("_local_tensor", "_layout", "_gradient")  # what `made` sets


def _local(value):
    return value._local_tensor if isinstance(value, DTensor) else value


def _rebuild_dtensor(local, mesh, placements, shape, requires_grad):
    """A pickled tensor, over the mesh that this process has."""
    return made(local.requires_grad_(requires_grad), Layout(mesh, placements, tuple(shape)))


def made(local, layout, cls=DTensor):
    """The tensor of which this rank has `local`."""
    if DTensor.__torch_function__ is disabled_torch_function:
        DTensor.__torch_function__ = staticmethod(DTensor._answer)
        type("Asking", (Tensor,), {"__torch_function__": staticmethod(DTensor._answer)})
    self = wrap(_fast.flam_tensor_retain, local._h, cls=cls)
    self._local_tensor, self._layout, self._gradient = local, layout, None
    return self
