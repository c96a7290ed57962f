"""DataLoader: samplers choose the order, the library's loader fetches ahead on native threads.

Batches come in the sampler's order whatever the number of workers. Tensor data sets are gathered
natively; any other data set is called back on a worker thread, one batch at a time, and an
exception there is raised, as the same object, where the batch was asked for."""

import threading
import traceback
import warnings

from ... import accelerator
from ..._call import _NULL, _blocking, _fast, _raise, _tensors, ffi
from ..._callbacks import DROP, failed, keep, value_of
from ..._gen import api
from ._collate import default_collate, default_convert, pin
from .dataset import IterableDataset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, _fresh_generator

# ---- the data set as the library sees it
# -------------------------------------------------------------------


class WorkerInfo:
    """What `get_worker_info()` tells inside a worker."""

    __slots__ = ("id", "num_workers", "seed", "dataset")

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


_worker = threading.local()


def get_worker_info():
    """About the worker that this thread is; None elsewhere."""
    return getattr(_worker, "info", None)


class _Source:
    """A Python data set behind the library's callbacks; each native thread gets a worker number on
    first use."""

    def __init__(self, loader, seed):
        self.dataset, self.make, self.init = loader.dataset, loader._collated, loader.worker_init_fn
        self.workers, self.seed = loader.num_workers, seed
        self.count, self.lock = 0, threading.Lock()
        self.threads = threading.local()

    def enter(self):
        """Tells this thread which worker it is."""
        if not hasattr(self.threads, "info"):
            with self.lock:
                number, self.count = self.count, self.count + 1
            self.threads.info = WorkerInfo(number, self.workers, self.seed + number, self.dataset)
            _worker.info = self.threads.info
            if self.init is not None:
                self.init(number)
        _worker.info = self.threads.info


@ffi.def_extern(name="flam_py_dataset_vtable_size", onerror=lambda *_: -1)
def _size(user):
    return len(value_of(user).dataset)


@ffi.def_extern(name="flam_py_dataset_vtable_fetch")
def _fetch(user, indices, n_indices, out_batch, out_item):
    source = value_of(user)
    try:
        source.enter()
        out_item[0] = keep(source.make(ffi.unpack(indices, n_indices)))
        return 0
    except BaseException as problem:
        text = "".join(traceback.format_exception(problem))
        if hasattr(problem, "add_note"):
            problem.add_note(
                f"Caught in DataLoader worker {getattr(get_worker_info(), 'id', 0)}.\nOriginal "
                f"{text}"
            )
        return failed(problem)


def _native_dataset(loader, seed):
    """The library's data set: gathers tensors itself, or calls back."""
    if loader._is_native:
        return api.dataset_from_tensors([t.detach() for t in loader.dataset.tensors])
    table = ffi.new("flam_dataset_vtable *")
    table.struct_size = ffi.sizeof("flam_dataset_vtable")
    table.user, table.drop, table.drop_item = keep(_Source(loader, seed)), DROP, DROP
    table.size, table.fetch = _fast.flam_py_dataset_vtable_size, _fast.flam_py_dataset_vtable_fetch
    return api.dataset_new(table)


# ---- iterators
# ---------------------------------------------------------------------------------------------


class _NativeIterator:
    """One epoch over the library's loader: keeps it supplied with index lists, hands out its
    batches."""

    def __init__(self, loader, seed):
        self._loader, self._batches = loader, iter(loader._index_batches())
        self._in_flight, self._ended = 0, False
        self._native = loader._native_loader(seed)
        self._depth = max(1, loader.num_workers * (loader.prefetch_factor or 2))
        _blocking.flam_loader_seek(self._native._h, 0, 0)
        self._supply()

    def _supply(self):
        while not self._ended and self._in_flight < self._depth:
            batch = next(self._batches, None)
            if batch is None:
                self._ended = True
            else:
                api.loader_submit(self._native, batch)
                self._in_flight += 1

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        self._supply()
        if not self._in_flight:
            raise StopIteration
        self._in_flight -= 1
        batch, item = ffi.new("flam_tensor_list **"), ffi.new("void **")
        if _blocking.flam_loader_next(self._native._h, batch, item):
            _raise()
        if item[0] != _NULL:
            found = value_of(item[0])
            DROP(item[0])
            return pin(found) if self._loader._pins else found
        return list(_tensors(batch[0]))


def _plain_batches(loader):
    """One epoch in the calling thread."""
    for batch in loader._index_batches():
        found = loader._collated(batch)
        yield pin(found) if loader._pins else found


def _iterable_batches(loader):
    """One epoch over an iterable data set, in the calling thread: its order is its own."""
    source = iter(loader.dataset)
    if loader.batch_size is None:
        yield from map(loader.collate_fn, source)
        return
    while True:
        batch = [sample for _, sample in zip(range(loader.batch_size), source)]
        if not batch or len(batch) < loader.batch_size and loader.drop_last:
            return
        found = loader.collate_fn(batch)
        yield pin(found) if loader._pins else found


class _InfiniteNones:
    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """Batches of a data set, fetched ahead by `num_workers` threads, in an order that only the seed
    decides."""

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
                "None."
            )
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.worker_init_fn, self.generator, self.timeout = worker_init_fn, generator, timeout
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self._is_iterable = isinstance(dataset, IterableDataset)
        self._set_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self._default = collate_fn is None
        self.collate_fn = collate_fn or (default_collate if self._auto else default_convert)
        self._kept = None
        self._pins = bool(pin_memory) and accelerator.is_available()

    def _set_order(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        if self._is_iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and "
                "batch_sampler "
                "option: the data set decides its order"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if self._is_iterable:
                sampler = _InfiniteNones()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )

    @property
    def _auto(self):
        return self.batch_sampler is not None

    @property
    def _is_native(self):
        """The library can make the batches without Python."""
        return (
            type(self.dataset) is TensorDataset
            and self._default
            and self._auto
            and all(t.device.type == "cpu" for t in self.dataset.tensors)
        )

    def _index_batches(self):
        """Lists of indices, batch by batch; single indices where batching is off."""
        if self._auto:
            return map(list, self.batch_sampler)
        return ([i] for i in self.sampler)

    def _collated(self, indices):
        """The batch for these indices, in Python."""
        if not self._auto:
            return self.collate_fn(self.dataset[indices[0]])
        if hasattr(self.dataset, "__getitems__"):
            return self.collate_fn(self.dataset.__getitems__(list(indices)))
        return self.collate_fn([self.dataset[i] for i in indices])

    def _native_loader(self, seed):
        """The library's loader; kept between epochs with `persistent_workers`."""
        if self._kept is not None:
            return self._kept
        options = ffi.new("flam_loader_options *")
        _fast.flam_loader_options_init(options)
        options.num_workers, options.prefetch_factor = self.num_workers, self.prefetch_factor or 2
        options.pin_memory = self._pins and self._is_native
        made = api.loader_new(_native_dataset(self, seed), options)
        if self.persistent_workers:
            self._kept = made
        return made

    def __iter__(self):
        if self.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=2,
            )
        # Drawn in every case, so that what follows does not depend on the number of workers.
        seed = _fresh_generator().initial_seed()
        if self._is_iterable:
            return _iterable_batches(self)
        if self._is_native or self.num_workers:
            return _NativeIterator(self, seed)
        return _plain_batches(self)

    def __len__(self):
        if not self._is_iterable:
            return len(self.batch_sampler if self._auto else self.sampler)
        size = len(self.dataset)
        if self.batch_size is None:
            return size
        full, rest = divmod(size, self.batch_size)
        return full + (rest > 0 and not self.drop_last)
