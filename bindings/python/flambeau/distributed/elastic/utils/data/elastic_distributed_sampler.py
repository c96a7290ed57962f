"""A `DistributedSampler` that begins behind what the ranks have seen before they were started
again, whatever their number was."""

import math

from ....._torch import Generator
from .....utils.data.distributed import DistributedSampler
from .....utils.data.sampler import order_by


class ElasticDistributedSampler(DistributedSampler):
    """Of a data set without its first `start_index` entries, all of them in another order in each
    epoch."""

    def __init__(self, dataset, num_replicas=None, rank=None, start_index=0):
        super().__init__(dataset, num_replicas, rank)
        if start_index >= len(dataset):
            raise ValueError(
                f"Start index {start_index} should be less than dataset size {len(dataset)}"
            )
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        order = Generator().manual_seed(self.epoch)
        places = order_by(order, len(self.dataset) - self.start_index)
        found = [self.start_index + place for place in places]
        found += found[: self.total_size - len(found)]
        return iter(found[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples
