"""What a worker of a DataLoader knows about itself, and the workers of an iterable data set: each
iterates over a copy of its own, and they take turns, batch by batch.

Turns are taken in the calling thread, so that their order is torch's and never a matter of time."""

import collections
import contextlib
import copy
import itertools

from ..._thread_state import ThreadState


class WorkerInfo:
    """What `get_worker_info()` tells inside a worker."""

    __slots__ = ("id", "num_workers", "seed", "dataset")

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


_worker = ThreadState(info=None)


def get_worker_info():
    """About the worker that this thread is; None elsewhere."""
    return _worker.info


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


class Turns:
    """The samples of an iterable data set, batch by batch: lists, or single ones where the loader
    has no batch size. `info` is the worker whose the latest one is."""

    def __init__(self, loader, seed):
        self._size, self._drop_last, self.info = loader.batch_size, loader.drop_last, None
        self._waiting = collections.deque()
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
