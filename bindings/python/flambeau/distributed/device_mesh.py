"""`DeviceMesh`: the ranks of the job as an array, with a process group along each of its
dimensions.

All ranks make the same meshes in the same order, because each makes the groups of all lines of a
dimension, also of those that it is not in. A slice, `mesh["dp"]`, has the groups of the mesh that
it was taken from. A pickled mesh becomes the one of this process that is alike."""

import math
import os
import weakref

from .. import cpu, cuda
from .._tensor import Tensor
from .._torch import int32, tensor
from ._collectives import all_reduce
from ._group import get_process_group_ranks, is_no_member, world
from ._ops import ReduceOp
from ._start import after_leaving, init_process_group, is_initialized
from ._subgroups import new_group

_active = []  # meshes of `with` blocks, the innermost last
_known = weakref.WeakValueDictionary()  # those with groups of this job, the last of each kind
after_leaving.append(_known.clear)


def _ranks_of(mesh):
    """An array of ranks as (its shape, its ranks in order)."""
    values = mesh.tolist() if isinstance(mesh, Tensor) or hasattr(mesh, "tolist") else mesh
    shape, level = [], values
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else None
    flat = [values]
    for _ in shape:
        if any(not isinstance(v, (list, tuple)) or len(v) != len(flat[0]) for v in flat):
            raise ValueError(f"DeviceMesh: the ranks {values} are no array; give a nested list")
        flat = [rank for part in flat for rank in part]
    return tuple(shape), [int(rank) for rank in flat]


def _refuse(backend_override):
    if backend_override is not None:
        raise NotImplementedError(
            "DeviceMesh: backend_override is unsupported; a mesh's groups have the backend of the "
            "job, and DeviceMesh.from_group takes others"
        )


def _lines(shape, ranks, dims):
    """The ranks along the dimensions `dims`, taken as one, for each place in the others."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]

    def steps(chosen):
        found = [0]
        for d in chosen:
            found = [at + i * strides[d] for at in found for i in range(shape[d])]
        return found

    rest = [d for d in range(len(shape)) if d not in dims]
    return [[ranks[at + step] for step in steps(dims)] for at in steps(rest)]


def _stride(steps):
    """How far apart in the mesh the ranks along a dimension are, which is made of dimensions of so
    many ranks with such steps: a number, or several where they are not alike."""
    found = []
    for count, step in steps:
        if found and found[-1] == count * step:
            found.pop()
        found += [step] if count > 1 else []
    return found[0] if len(found) == 1 else tuple(found)


class DeviceMesh:
    """Ranks as an array: `DeviceMesh("cuda", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))`; on
    each rank a group along each dimension, through the rank."""

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, backend_override=None,
                 _init_backend=True):  # fmt: skip
        _refuse(backend_override)
        shape, ranks = _ranks_of(mesh)
        self._set(device_type, shape or (1,), ranks, mesh_dim_names)
        if not is_initialized():
            init_process_group()
        job = world()
        if self._device_type == "cuda":
            _choose_device(job.rank())
        if len(ranks) > job.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {job.size()}, but found "
                f"{len(ranks)} ranks!"
            )
        if len(set(ranks)) != len(ranks):
            raise RuntimeError(f"DeviceMesh cannot have duplicate values, but found {ranks}")
        if _init_backend:
            self._have([self._along((d,)) for d in range(self.ndim)])

    def _set(self, device_type, shape, ranks, names):
        kind = str(device_type)
        if ":" in kind:
            raise RuntimeError(
                f"DeviceMesh: expected a kind of device, such as 'cuda', but got '{kind}'; each "
                "rank chooses its own with torch.cuda.set_device"
            )
        names = None if names is None else tuple(names)
        if names is not None and len(set(names)) != len(names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in {names}"
            )
        if names is not None and len(names) != len(shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                f"{len(names)} and len(mesh_shape):{len(shape)}."
            )
        self._device_type, self._shape, self._ranks, self._names = kind, tuple(shape), ranks, names
        self._groups, self._root, self._flattened = [], None, {}
        self._unflattened = None  # the mesh of which this one has a dimension as several
        self._strides = [
            _stride([(n, math.prod(shape[d + 1 :]))]) for d, n in enumerate(self._shape)
        ]

    def _have(self, groups):
        """Takes these groups. Without some a mesh could take no other's place."""
        self._groups = groups
        _known[self._key()] = self

    def _along(self, dims):
        """This rank's group along dimensions, made with those of all other lines."""
        job, own = world(), None
        for line in _lines(self._shape, self._ranks, dims):
            whole = line == list(range(job.size()))
            made = job if whole else new_group(line, sort_ranks=False)
            own = own if is_no_member(made) else made
        return own

    @classmethod
    def _of(cls, root, dims, names, groups):
        """The slice of `root` along some dimensions, each one or several of the root's as one."""
        self = cls.__new__(cls)
        rank, flat = world().rank(), [d for several in dims for d in several]
        lines = _lines(root._shape, root._ranks, flat)
        mine = next((line for line in lines if rank in line), lines[0])
        shape = [math.prod(root._shape[d] for d in several) for several in dims]
        self._set(root._device_type, shape, mine, names)
        self._root, self._groups = root._whole(), groups
        steps = list(zip(root._shape, root._strides))
        self._strides = [
            steps[d[0]][1] if len(d) == 1 else _stride([steps[i] for i in d]) for d in dims
        ]
        return self

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None):
        """A mesh over groups that there are: one, or a list with one per dimension of `mesh`."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if len(groups) == 1 and mesh is None:
            mesh = get_process_group_ranks(groups[0])
        elif mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        elif len(groups) > 1 and mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(groups):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                f"{made.mesh.tolist()} and {len(groups)} ProcessGroups"
            )
        made._have(groups)
        return made

    # ---- what it is

    device_type = property(lambda self: self._device_type)
    shape = property(lambda self: self._shape)
    ndim = property(lambda self: len(self._shape))
    mesh_dim_names = property(lambda self: self._names)

    @property
    def mesh(self):
        """The ranks, as a tensor on the CPU."""
        return tensor(self._ranks, dtype=int32, device="cpu").reshape(self._shape)

    def size(self, mesh_dim=None):
        """The number of ranks, or that along one dimension."""
        return len(self._ranks) if mesh_dim is None else self._shape[self._dim(mesh_dim)]

    def get_rank(self):
        """This process in the job."""
        return world().rank()

    def get_coordinate(self):
        """This rank's place along each dimension; None where it is not in the mesh."""
        rank = world().rank()
        if rank not in self._ranks:
            return None
        at, found = self._ranks.index(rank), ()
        for size in reversed(self._shape):
            found, at = (at % size, *found), at // size
        return found

    def get_local_rank(self, mesh_dim=None):
        """This rank's place along one dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        at = self.get_coordinate()
        if at is None:
            raise RuntimeError(
                f"rank {world().rank()} is not in {self!r}, so it has no place in it"
            )
        return at[self._dim(mesh_dim or 0)]

    def get_group(self, mesh_dim=None):
        """The group along one dimension, by its number or name."""
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                "please use `get_all_groups()` instead.",
            )
        if self.get_coordinate() is None:  # None would be read as the whole job
            raise RuntimeError(
                f"rank {world().rank()} is not in {self!r}, so it has no group of it"
            )
        if isinstance(mesh_dim, str) and mesh_dim in self._flattened:
            return self._flattened[mesh_dim]._groups[0]
        return self._groups[self._dim(mesh_dim or 0)]

    def get_all_groups(self):
        """The groups along all dimensions."""
        return [self.get_group(d) for d in range(self.ndim)]

    def _dim(self, asked):
        if not isinstance(asked, str):
            if not -self.ndim <= asked < self.ndim:
                raise IndexError(f"mesh_dim {asked} is out of range of a mesh of {self.ndim}")
            return asked % self.ndim
        if self._names is None:
            raise KeyError("No `mesh_dim_names` found.")
        if asked not in self._names:
            raise KeyError(
                f"Mesh dimension '{asked}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self._names}",
            )
        return self._names.index(asked)

    def _mean(self, number):
        """Leaves in a tensor of this rank's the mean of those of the mesh."""
        for d in range(self.ndim) if self.get_coordinate() is not None else ():
            all_reduce(number, ReduceOp.AVG, self.get_group(d))

    # ---- parts of it

    def __getitem__(self, mesh_dim_names):
        if not self._names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        one = isinstance(mesh_dim_names, str)
        names = (mesh_dim_names,) if one else tuple(mesh_dim_names)
        if names == self._names:
            return self
        if len(names) == 1 and names[0] in self._flattened:
            return self._flattened[names[0]]
        if not names or any(name not in self._names for name in names):
            valid = [*self._names, *(self._flattened if len(names) == 1 else ())]
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}."
            )
        dims = [self._names.index(name) for name in names]
        if dims != sorted(set(dims)):
            twice = len(set(dims)) != len(dims)
            raise KeyError(
                f"Invalid mesh_dim_names {names} specified. "
                + ("A dimension is named twice." if twice else
                   f"Mesh dim indices should be in ascending order, as they are in {self._names}.")
            )  # fmt: skip
        return self._sliced(names)

    def _sliced(self, names):
        """The mesh of the dimensions with these names, in this order; some may be flattened."""
        if names == self._names:
            return self
        if len(names) == 1 and names[0] in self._flattened:
            return self._flattened[names[0]]
        lines = [self._line(name) for name in names]
        return self._of(self, [dims for dims, _ in lines], names, [group for _, group in lines])

    def _line(self, name):
        """The dimensions that a name is of, and the group along them."""
        if name in self._names:
            return (self._names.index(name),), self._groups[self._names.index(name)]
        return self._flattened[name]._dims, self._flattened[name]._groups[0]

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """All dimensions as one, under a name by which the mesh gives it from then on."""
        _refuse(backend_override)
        if not self._names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        root = self._whole()
        name = mesh_dim_name or "_".join(self._names)
        if self.ndim == 1 and name == self._names[0]:
            return self
        if name in root._names:
            raise ValueError(
                f"{name} already exists for submesh of the {root!r}. The mesh_dim_names of submesh "
                f"and flattened mesh are {root._names}. Please specify another valid mesh_dim_name."
            )
        parts = [(root._names.index(n),) if n in root._names else root._flattened[n]._dims
                 for n in self._names]  # fmt: skip
        dims = tuple(d for part in parts for d in part)
        known = root._flattened.get(name)
        if known is None:
            made = self._of(root, [dims], (name,), [root._along(dims)])
            known = root._flattened[name] = made
            known._dims = dims
        elif known._dims != dims:
            raise ValueError(
                f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify "
                "another valid mesh_dim_name."
            )
        return known

    def _unflatten(self, dim, mesh_sizes, mesh_dim_names, backend_override=None):
        """The mesh with several dimensions, of these sizes and names, in place of one."""
        _refuse(backend_override)
        if not self._names:
            raise RuntimeError("Cannot unflatten a DeviceMesh without mesh_dim_names!")
        if dim not in (self._names if isinstance(dim, str) else range(self.ndim)):
            raise ValueError(f"dim {dim} specified in `_unflatten` is not one of {self!r}")
        if len(mesh_sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_dim_names must have same length as mesh_sizes in _unflatten!")
        at, sizes, names = self._dim(dim), tuple(mesh_sizes), tuple(mesh_dim_names)
        if math.prod(sizes) != self._shape[at]:
            raise ValueError(f"_unflatten: {self._shape[at]} ranks along {dim} are no {sizes}")
        root = self._whole()
        if self._names[at] not in root._names:
            raise ValueError(
                f"_unflatten: {dim} is several dimensions of {root!r} already; slice that by their "
                "names"
            )
        if root is not self:  # the groups of all its lines are made together
            whole = root._unflatten(self._names[at], sizes, names)
            return whole[(*self._names[:at], *names, *self._names[at + 1 :])]
        whole, tail = DeviceMesh.__new__(DeviceMesh), at + 1
        shape = *self._shape[:at], *sizes, *self._shape[tail:]
        own = *self._names[:at], *names, *self._names[tail:]
        whole._set(self._device_type, shape, self._ranks, own)
        whole._unflattened = self._get_root_mesh()
        made = [whole._along((at + i,)) for i in range(len(sizes))]
        whole._have([*self._groups[:at], *made, *self._groups[tail:]])
        return whole

    @staticmethod
    def _concatenate(device_mesh_list):
        """The mesh with the dimensions of these slices of one mesh, in their order."""
        shown = [*device_mesh_list]
        if not shown or any(mesh._names is None for mesh in shown):
            raise RuntimeError(f"_concatenate takes meshes with mesh_dim_names, but got {shown}")
        whole = shown[0]._whole()
        if any(mesh._whole() is not whole for mesh in shown):
            raise RuntimeError(
                f"_concatenate takes slices of one mesh, but got {shown}; those of a mesh and of "
                "what `_unflatten` has made of it, or of two such, cannot be joined: unflatten the "
                "mesh to all dimensions that are needed"
            )
        names = tuple(name for mesh in shown for name in mesh._names)
        dims = [d for name in names for d in whole._line(name)[0]]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {shown}")
        return whole._sliced(names)

    def _whole(self):
        """The mesh whose dimensions a slice has; of another one itself."""
        return self._root or self

    def _get_root_mesh(self):
        """The mesh that it was sliced and unflattened from, or itself."""
        whole = self._whole()
        return whole._unflattened or whole

    def __enter__(self):
        _active.append(self)
        return self

    def __exit__(self, *exc):
        _active.pop()

    def __eq__(self, other):
        return self is other or isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self._device_type, self._shape, tuple(self._ranks), self._names

    def __reduce__(self):
        return _of_pickle, (*self._key(), self._root)

    def __repr__(self):
        shape = self._shape
        if self._names:
            pairs = (f"{name}={size}" for name, size in zip(self._names, self._shape))
            shape = f"({', '.join(pairs)})"
        return f"DeviceMesh({shape}, '{self._device_type}', stride={tuple(self._strides)})"


def _of_pickle(device_type, shape, ranks, names, root):
    """The mesh of this process that is alike, or its slice, which has groups. Without one, a mesh
    that says how tensors lie and has none, as of a file that another job has written."""
    key = device_type, tuple(shape), tuple(ranks), names
    found = _known.get(key)
    if root is not None:
        has_it = root._groups and {*names} <= {*root._names, *root._flattened}
        found = root._sliced(names) if has_it else None
    if found is None or found._key() != key:
        found = DeviceMesh.__new__(DeviceMesh)
        found._set(device_type, shape, list(ranks), names)
        found._root = root
    return found


def _choose_device(rank):
    """Makes this rank's GPU the current one where the program has not left the first."""
    count = cuda.device_count()
    if count > 1 and cuda.current_device() == 0:
        cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)) % count)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """A mesh of the ranks 0, 1, ... in that order; the job's group is made where there is none."""
    if str(device_type) != str(device_type).split(":")[0] or not str(device_type).isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    shape = tuple(mesh_shape)
    if not shape or any(not isinstance(n, int) or n < 1 for n in shape):
        raise ValueError(f"init_device_mesh: mesh_shape {mesh_shape} has no place for a rank")
    names = None if mesh_dim_names is None else tuple(mesh_dim_names)
    if names is not None and len(names) != len(shape):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length!",
            f"Found len(mesh_dim_names): {len(names)} and len(mesh_shape):{len(shape)}.",
        )
    ranks = tensor(list(range(math.prod(shape))), dtype=int32, device="cpu").reshape(shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=names, backend_override=backend_override)


def _get_device_handle(device_type="cuda"):
    """The module of a kind of device."""
    return {"cuda": cuda, "cpu": cpu}.get(device_type)
