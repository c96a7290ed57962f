"""What a worker of a DataLoader knows about itself, and the workers of an iterable data set: each
iterates over a copy of its own, and they take turns, batch by batch.

Turns are taken in the calling thread, so that their order is torch's and never a matter of time."""

import collections
import contextlib
import copy
import itertools
import random
import sys
import threading


class WorkerInfo:
    """What `get_worker_info()` tells inside a worker."""

    __slots__ = ("id", "num_workers", "seed", "dataset", "_draws", "_generators")

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset
        self.draw_from(seed)

    def draw_from(self, seed):
        """Python's and NumPy's generators begin anew in this worker."""
        self._draws, self._generators = seed, {}


_worker = threading.local()


def get_worker_info():
    """About the worker that this thread is; None elsewhere."""
    return getattr(_worker, "info", None)


def enter(info):
    """Tells this thread which worker it is from now on."""
    _worker.info = info


@contextlib.contextmanager
def entered(info):
    """This thread is that worker for a `with` block."""
    before = get_worker_info()
    enter(info)
    try:
        yield
    finally:
        enter(before)


def _asking(module, name, plain, make):
    """A function of a module's global generator that asks the worker's own one first: workers are
    threads, so that without this they would share the program's."""

    def draw(*args, **named):
        info = get_worker_info()
        if info is None:
            return plain(*args, **named)
        own = info._generators.get(make)
        if own is None:
            own = info._generators[make] = make(info._draws % 2**32)
        return getattr(own, name)(*args, **named)

    draw.__module__, draw.__name__, draw.__qualname__ = module.__name__, name, name
    draw.__doc__ = plain.__doc__
    return draw


def own_generators():
    """From now on Python's `random` and, where it is loaded, `numpy.random` draw, in a worker, from
    generators that follow from the loader's seed; the program's are as they would be without."""
    numpy = sys.modules.get("numpy.random")
    spaces = [(random, random._inst, random.Random)]
    spaces += [(numpy, numpy.mtrand._rand, numpy.RandomState)] if numpy else []
    for module, shared, make in spaces:
        for name, plain in list(vars(module).items()):
            of_shared = getattr(plain, "__self__", None) is shared
            if of_shared or name == "seed" and plain.__module__ != module.__name__:
                setattr(module, name, _asking(module, name, plain, make))


class Turns:
    """The samples of an iterable data set, batch by batch: lists, or single ones where the loader
    has no batch size. `info` is the worker whose the latest one is."""

    def __init__(self, loader, seed):
        self._size, self._drop_last, self.info = loader.batch_size, loader.drop_last, None
        self._waiting = collections.deque()
        if loader.num_workers:
            own_generators()
        for i in range(max(loader.num_workers, 1)):
            dataset, info = loader.dataset, None
            if loader.num_workers:
                dataset = copy.copy(dataset)
                info = WorkerInfo(i, loader.num_workers, seed + i, dataset)
            with entered(info):
                if info is not None and loader.worker_init_fn is not None:
                    loader.worker_init_fn(i)
                self._waiting.append((info, iter(dataset)))

    def __iter__(self):
        return self

    def __next__(self):
        while self._waiting:
            self.info, samples = self._waiting[0]
            with entered(self.info):
                found = list(itertools.islice(samples, self._size or 1))
            if found and (not self._size or len(found) == self._size or not self._drop_last):
                self._waiting.rotate(-1)
                return found if self._size else found[0]
            self._waiting.popleft()
        raise StopIteration
