"""Data sets, samplers and the loader."""

from ..._on_demand import own as _own
from . import _collate, _utils, _workers, dataloader, dataset, distributed, sampler

__all__ = (
    "BatchSampler ChainDataset ConcatDataset DataLoader Dataset DistributedSampler IterableDataset "
    "RandomSampler Sampler SequentialSampler StackDataset Subset SubsetRandomSampler TensorDataset "
    "WeightedRandomSampler default_collate default_convert get_worker_info random_split"
).split()
_parts = _collate, _workers, dataloader, dataset, distributed, sampler
globals().update(_own(*_parts, only=__all__))
