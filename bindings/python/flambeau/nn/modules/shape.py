"""Modules that only change the shape: Flatten, Unflatten."""

from .module import Module, stored


class Flatten(Module):
    """Joins dimensions `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    extra_repr = stored("start_dim", "end_dim")


class Unflatten(Module):
    """Splits dimension `dim` into `unflattened_size`."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        wanted, sizes = "unflattened_size must be tuple of ints, but found", unflattened_size
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"{wanted} type {type(sizes).__name__}")
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(f"{wanted} element of type {type(size).__name__} at pos {i}")
        self.dim, self.unflattened_size = dim, sizes

    def forward(self, input):
        dim = self.dim % input.dim()
        return input.reshape((*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :]))

    extra_repr = stored("dim", "unflattened_size")
