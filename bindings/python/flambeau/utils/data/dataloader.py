"""DataLoader: samplers choose the order, the library's loader fetches ahead on native threads.

Batches come in the sampler's order whatever the number of workers. Tensor data sets are gathered
natively; any other data set is called back on a worker thread (without workers: on the caller's),
one batch at a time, and an exception there is raised, as the same object, where the batch was asked
for. `state_dict` and `load_state_dict` continue inside an epoch, as torchdata's
StatefulDataLoader."""

import atexit
import itertools
import os
import threading
import time
import traceback
import typing
import weakref

from ... import accelerator
from ..._call import _NULL, _blocking, _fast, _List, _own_each, _raise, _tensors, ffi
from ..._callbacks import DROP, failed, keep, table, value_of
from ..._deprecated import warn
from ..._gen import api
from ._collate import default_collate, default_convert, pin
from ._epoch import Epoch, state_between_epochs
from ._workers import Turns, WorkerInfo, enter, entered, get_worker_info
from .dataset import IterableDataset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, _fresh_generator

_collate_fn_t = typing.Callable[[list], typing.Any]  # in annotations of packages

# ---- the data set as the library sees it


class _Source:
    """A Python data set behind the library's callbacks. The library passes the number of a batch
    around instead of its indices, which need not be integers; each native thread gets a worker
    number on first use."""

    def __init__(self, loader, seed):
        self.dataset, self.collated = loader.dataset, loader._collated
        self.init = loader.worker_init_fn
        self.promised, self.numbers = {}, itertools.count()
        self.workers, self.seed = loader.num_workers, seed
        self.count, self.lock = 0, threading.Lock()
        self.threads, self.stopped = threading.local(), False

    def going_on(self, index):
        """The index, unless nobody waits for it any more: asked before every sample."""
        if self.stopped:
            raise RuntimeError("this epoch of the DataLoader was interrupted")
        return index

    def promise(self, indices):
        """The number under which these indices are asked for."""
        number = next(self.numbers)
        self.promised[number] = indices
        return number

    def make(self, number):
        """The batch of that number."""
        if self.workers:
            self.enter()
        return self.collated(map(self.going_on, self.promised.pop(number)))

    def enter(self):
        """Tells this thread which worker it is."""
        if not hasattr(self.threads, "info"):
            with self.lock:
                number, self.count = self.count, self.count + 1
            self.threads.info = WorkerInfo(number, self.workers, self.seed + number, self.dataset)
            enter(self.threads.info)
            if self.init is not None:
                self.init(number)
        enter(self.threads.info)


@ffi.def_extern(name="flam_py_dataset_vtable_fetch")
def _fetch(user, indices, n_indices, out_batch, out_item):
    _fast.flam_frame_leave()
    source = value_of(user)
    try:
        out_item[0] = keep(source.make(indices[0]))
        return 0
    except BaseException as problem:
        text = "".join(traceback.format_exception(problem))
        if source.workers and hasattr(problem, "add_note"):
            worker = getattr(get_worker_info(), "id", 0)
            problem.add_note(f"Caught in DataLoader worker {worker}.\nOriginal {text}")
        return failed(problem)


def _native_dataset(loader, seed):
    """The library's data set: gathers tensors itself, or calls back to the source beside it."""
    if loader._is_native:
        return api.dataset_from_tensors([t.detach() for t in loader.dataset.tensors]), None
    source = _Source(loader, seed)
    functions = {"fetch": _fast.flam_py_dataset_vtable_fetch, "drop_item": DROP}
    return api.dataset_new(table("flam_dataset_vtable", source, **functions)), source


# ---- iterators


class _Iterator:
    """What is left of one epoch."""

    def __init__(self, loader, epoch):
        self._loader, self._epoch = loader, epoch

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        try:
            found = self._fetch()
        except StopIteration:
            self._epoch.ended = True
            raise
        self._epoch.delivered += 1
        return found


class _NativeIterator(_Iterator):
    """Over the library's loader: keeps it supplied with index lists, hands out its batches."""

    def __init__(self, loader, epoch):
        super().__init__(loader, epoch)
        self._batches = epoch.batches(loader, loader._index_batches())
        self._in_flight, self._ended = 0, False
        self._native, self._source = self._kept = loader._native_loader(epoch.seed)
        if self._source is not None:
            _at_work.update({id(owner): owner for owner in (self, loader)})
            self._source.promised.clear()  # of an epoch that was left early
            self._source.stopped = False
        self._depth = max(1, loader.num_workers * (loader.prefetch_factor or 2))
        # Random draws of the data set follow from the epoch and the batch's number.
        api.loader_seek(self._native, epoch.seed >> 1, epoch.delivered)
        self._supply()

    def _supply(self):
        while not self._ended and self._in_flight < self._depth:
            batch = next(self._batches, None)
            if batch is None:
                self._ended = True
            else:
                if self._source is not None:
                    batch = [self._source.promise(batch)]
                api.loader_submit(self._native, batch)
                self._in_flight += 1

    def _fetch(self):
        self._supply()
        if not self._in_flight:
            raise StopIteration
        self._wait()
        cells = ffi.new("flam_tensor_list **"), ffi.new("void **")
        given = _own_each((_List, None), _blocking.flam_loader_next, self._native._h, *cells)
        if given is None:
            self._count_failure()
            _raise()
        self._in_flight -= 1
        batch, item = given
        if item != _NULL:
            found = value_of(item)
            DROP(item)
            return pin(found) if self._loader._pins else found
        return list(_tensors(batch))

    def _wait(self):
        """Until the next batch is there. In slices, between which Python handles Ctrl-C; the
        workers then stop before their next sample."""
        ready = ffi.new("flam_bool *")
        limit = self._loader.timeout or float("inf")
        end = time.monotonic() + limit
        try:
            while not ready[0]:
                left = end - time.monotonic()
                if left <= 0:
                    raise RuntimeError(f"DataLoader timed out after {limit} seconds")
                if _blocking.flam_loader_wait(self._native._h, min(0.1, left), ready):
                    _raise()
        except KeyboardInterrupt:
            if self._source is not None:
                self._source.stopped = True
            raise

    def _count_failure(self):
        """A batch that failed counts as delivered."""
        _, delivered = api.loader_position(self._native)
        self._in_flight -= delivered - self._epoch.delivered
        self._epoch.delivered = delivered


# By identity, what has a loader in `_kept` whose threads call Python.
_at_work = weakref.WeakValueDictionary()


@atexit.register
def _stop():
    """Waits for the workers: a thread that is in Python when Python ends aborts the process."""
    for owner in list(_at_work.values()):
        if owner._kept is not None:
            owner._kept[1].stopped = True
            owner._kept = owner._native = None


class _IterableIterator(_Iterator):
    """Over an iterable data set, in the calling thread."""

    def __init__(self, loader, epoch):
        super().__init__(loader, epoch)
        self._batches = epoch.samples(loader, lambda: Turns(loader, epoch.seed))

    def _fetch(self):
        loader, batch = self._loader, next(self._batches)
        with entered(self._batches.info):
            found = loader.collate_fn(batch)
        return pin(found) if loader._pins and loader.batch_size else found


class _InfiniteNones:
    def __iter__(self):
        while True:
            yield None


_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


def _checked_context(context, num_workers):
    """torch's choice of how processes start, checked and kept: workers are threads here."""
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > "
            f"0), but got num_workers={num_workers}"
        )
    import multiprocessing

    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{valid!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


class DataLoader:
    """Batches of a data set, fetched ahead by `num_workers` threads, in an order that only the seed
    decides. Workers share Python's and NumPy's global generators with the program, and come to them
    in no fixed order: draw from torch's, or from ones made of `get_worker_info().seed`."""

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True):  # fmt: skip
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers "
                "> 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers > len(os.sched_getaffinity(0)):
            warn(
                f"This DataLoader will create {num_workers} workers, more than there are cores. "
                "Please be aware that excessive worker creation might get DataLoader running slow "
                "or even freeze, lower the worker number to avoid that."
            )
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.worker_init_fn, self.generator, self.timeout = worker_init_fn, generator, timeout
        if num_workers and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.multiprocessing_context = _checked_context(multiprocessing_context, num_workers)
        self._is_iterable = isinstance(dataset, IterableDataset)
        self._set_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self._default = collate_fn is None
        usual = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn or usual
        self._kept = self._epoch = self._resumed = None
        self._pins = bool(pin_memory) and accelerator.is_available()
        self._made = True

    def __setattr__(self, name, value):
        if name in _FIXED and "_made" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after DataLoader is initialized")
        object.__setattr__(self, name, value)

    def _set_order(self, batch_size, shuffle, sampler, batch_sampler, drop_last):
        given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, option in given.items() if self._is_iterable else ():
            if option is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                    f"{name}={option}: the data set decides its order"
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
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler

    _auto_collation = property(lambda self: self.batch_sampler is not None)

    @property
    def _is_native(self):
        """The library can make the batches without Python."""
        return (
            type(self.dataset) is TensorDataset
            and not (self.num_workers and self.worker_init_fn)
            and self._default
            and self._auto_collation
            and all(t.device.type == "cpu" for t in self.dataset.tensors)
        )

    def _index_batches(self):
        """Lists of indices, batch by batch; single indices where batching is off."""
        if self._auto_collation:
            return map(list, self.batch_sampler)
        return ([i] for i in self.sampler)

    def _collated(self, indices):
        """The batch for these indices, in Python."""
        if not self._auto_collation:
            return self.collate_fn(self.dataset[next(iter(indices))])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(list(indices)))
        return self.collate_fn([self.dataset[i] for i in indices])

    def _native_loader(self, seed):
        """The library's loader and the data set's source, where it is Python's; kept between epochs
        with `persistent_workers`."""
        if self._kept is not None:
            return self._kept
        dataset, source = _native_dataset(self, seed)
        pinned, ahead = self._pins and self._is_native, self.prefetch_factor or 2
        how = {"num_workers": self.num_workers, "prefetch_factor": ahead, "pin_memory": pinned}
        made = api.loader_new(dataset, **how), source
        if self.persistent_workers:
            self._kept = made
        return made

    def __iter__(self):
        if self.pin_memory and not self._pins:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used."
            )
        if self.timeout and (self._is_iterable or not self.num_workers):
            raise AssertionError("timeout needs workers and a data set with indices")
        if self._resumed is not None:
            self._epoch, self._resumed = self._resumed, None
        else:
            self._epoch = Epoch(_fresh_generator().initial_seed())
        kind = _IterableIterator if self._is_iterable else _NativeIterator
        return kind(self, self._epoch)

    def state_dict(self):
        """Where the loader stands: behind the last batch that its latest iterator delivered. Plain
        numbers, no data."""
        epoch = self._resumed or self._epoch
        return state_between_epochs() if epoch is None else epoch.state()

    def load_state_dict(self, state_dict):
        """The next iteration delivers what was left of the epoch at `state_dict()`, in a loader
        over the same data set with the same sampler and batch_size; num_workers may differ.

        Samplers and data sets have to draw from flambeau's generators; an iterable data set is run
        through again up to the position, with as many workers as before."""
        self._resumed = Epoch.of_state(state_dict, self)
        self._epoch = None

    def __len__(self):
        if not self._is_iterable:
            return len(self.batch_sampler if self._auto_collation else self.sampler)
        size = len(self.dataset)
        if self.batch_size is None:
            return size
        full, rest = divmod(size, self.batch_size)
        return full + (rest > 0 and not self.drop_last)
