"""The sampler that gives every rank its share of a data set."""

import math

from ... import distributed
from ..._torch import Generator
from .sampler import Sampler, order_by


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index from `rank` on, of an order that all ranks know; indices are
    repeated, or with `drop_last` left out, so that all shares are of one size."""

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        if num_replicas is None:
            num_replicas = distributed.get_world_size()
        if rank is None:
            rank = distributed.get_rank()
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        size = len(dataset)
        if drop_last and size % num_replicas:
            size -= num_replicas
        self.num_samples = math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = order_by(generator, len(self.dataset))
        else:
            order = list(range(len(self.dataset)))
        if self.drop_last:
            order = order[: self.total_size]
        elif order:
            missing = self.total_size - len(order)
            order += (order * math.ceil(missing / len(order)))[:missing]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Says which epoch comes, so that its order is another one."""
        self.epoch = epoch
