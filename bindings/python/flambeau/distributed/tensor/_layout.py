"""How a tensor lies over a mesh: the mesh, a placement per dimension of it, and the whole shape.

Pieces are those of `torch.chunk`: ceil(n / ranks) rows for each rank until there are no more, so
later ranks may have fewer or none. Placements apply from the mesh's first dimension to its last:
two that shard one dimension cut pieces of pieces."""

from dataclasses import dataclass

from .._placements import Placement, Replicate, Shard, _StridedShard, piece


@dataclass(frozen=True)
class Layout:
    """Where each element is; what follows from it for this rank."""

    mesh: object
    placements: tuple
    shape: tuple

    def local(self, coordinate=None):
        """(shape, first element in each dimension) of a rank's part, by its place in the mesh."""
        at = self.mesh.get_coordinate() if coordinate is None else coordinate
        shape, offset = list(self.shape), [0] * len(self.shape)
        if at is None:  # a rank outside
            return (0,), tuple(offset)
        for i, placement in enumerate(self.placements):
            if placement.is_shard():
                d = placement.dim
                first, shape[d] = piece(shape[d], self.mesh.size(i), at[i])
                offset[d] += first
        return tuple(shape), tuple(offset)

    def rows_before(self, i):
        """Of mesh dimension i that shards: the rows of what it cuts."""
        d, at = self.placements[i].dim, self.mesh.get_coordinate()
        n = self.shape[d]
        for j in range(i):
            if self.placements[j].is_shard(d):
                _, n = piece(n, self.mesh.size(j), at[j])
        return n

    @property
    def whole(self):
        """Whether each rank has all of it."""
        return all(placement.is_replicate() for placement in self.placements)

    @property
    def partial(self):
        return any(placement.is_partial() for placement in self.placements)

    def placed(self, placements, shape=None):
        return Layout(self.mesh, placements, self.shape if shape is None else tuple(shape))


def checked(what, mesh, placements, n_dims):
    """One placement per dimension of the mesh, with dimensions that count from the front."""
    placements = [Replicate()] * mesh.ndim if placements is None else list(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    for i, placement in enumerate(placements):
        if not isinstance(placement, Placement):
            raise TypeError(f"{what}: expected placements such as Shard(0), but got {placement!r}")
        if isinstance(placement, _StridedShard):
            raise NotImplementedError(
                f"{what}: {placement!r} is unsupported; shard from the first dimension of the mesh "
                "to the last, with Shard"
            )
        if placement.is_shard():
            if not -n_dims <= placement.dim < n_dims:
                raise IndexError(
                    f"{what}: {placement!r} of a tensor with {n_dims} dimensions is out of range"
                )
            placements[i] = Shard(placement.dim % n_dims)
        elif placement.is_partial() and placement.reduce_op not in ("sum", "avg", "min", "max"):
            raise NotImplementedError(
                f"{what}: Partial('{placement.reduce_op}') is unsupported; the reductions are sum, "
                "avg, min and max"
            )
    return tuple(placements)
