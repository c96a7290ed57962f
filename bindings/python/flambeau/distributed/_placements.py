"""How a tensor would lie over several ranks: plain values, which packages make when they are
imported; what takes them is unsupported."""

from dataclasses import dataclass


def piece(n, ranks, rank):
    """(first row, rows) of a rank, as `torch.chunk` cuts: ceil(n / ranks) rows for each until there
    are no more."""
    most = -(-n // ranks)
    first = min(most * rank, n)
    return first, min(most, n - first)


class Placement:
    """Base of the three."""

    def is_shard(self, dim=None):
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self):
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """In pieces along a dimension."""

    dim: int

    def __repr__(self):
        return f"Shard(dim={self.dim})"

    def __str__(self):
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """(rows, first row) of a rank, where so many rows are cut into so many pieces."""
        first, rows = piece(curr_local_size, num_chunks, rank)
        return rows, first


@dataclass(frozen=True)
class _StridedShard(Shard):
    """In pieces of pieces."""

    split_factor: int = 1

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole everywhere."""

    def __str__(self):
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Everywhere a term of a reduction."""

    reduce_op: str = "sum"

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"
