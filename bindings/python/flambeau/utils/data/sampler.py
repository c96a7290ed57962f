"""Samplers: the order in which a loader asks for samples."""

from itertools import islice

from ..._tensor import Tensor
from ..._torch import Generator, as_tensor, float64, int64, multinomial, randint, randperm


class Sampler:
    """Base of the samplers: an iterable of indices, with a length where that is known."""

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError

    def __class_getitem__(cls, item):
        return cls


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _drawn_by(generator):
    """Numbers for Python are drawn where their generator is, whatever the default device."""
    if generator is None:
        return {"device": "cpu"}
    return {"generator": generator, "device": generator.device}


def order_by(generator, n):
    """0 to n - 1 in random order, as a list."""
    return randperm(n, **_drawn_by(generator)).tolist()


def _fresh_generator():
    """A generator seeded from the default one, so that `manual_seed` decides every order."""
    generator = Generator()
    generator.manual_seed(int(randint(0, 2**63 - 1, (), dtype=int64, device="cpu").item()))
    return generator


class RandomSampler(Sampler):
    """All indices in random order, or `num_samples` drawn with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        generator = self.generator or _fresh_generator()
        if self.replacement:
            # In small batches: num_samples may be far more than anyone takes.
            for start in range(0, wanted, 32):
                count = min(32, wanted - start)
                yield from randint(0, n, (count,), dtype=int64, **_drawn_by(generator)).tolist()
            return
        while wanted > 0:
            yield from order_by(generator, n)[:wanted]
            wanted -= n

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in order_by(self.generator, len(self.indices)):
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with the given weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        named = {} if isinstance(weights, Tensor) else {"device": "cpu"}
        self.weights = as_tensor(weights, dtype=float64, **named)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        weights = self.weights
        if self.generator is not None:
            weights = weights.to(self.generator.device)
        drawn = multinomial(weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Groups another sampler's indices into lists."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full if self.drop_last or not rest else full + 1
