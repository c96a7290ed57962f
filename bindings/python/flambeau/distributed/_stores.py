"""Stores with torch's classes and names over the library's. What waits does so by parts of half a
second, so that Ctrl-C ends it; the store tells at once what has come."""

import datetime
import os
import re
import time
import weakref

from .._call import ffi
from .._errors import (
    CollectiveTimeoutError,
    DistNetworkError,
    FileError,
    PeerLostError,
    exception_of,
)
from .._gen import api
from ._queues import Queues, bytes_of
from ._reach import warn_of_no_key

_PART = 0.5  # seconds without a look at Python's signals
_DEFAULT = datetime.timedelta(seconds=300)


def _seconds(what, timeout):
    if not isinstance(timeout, datetime.timedelta):
        kind = type(timeout).__name__
        raise TypeError(f"{what}: expected the timeout as a datetime.timedelta, but got {kind}")
    return timeout.total_seconds()


def _key(what, key):
    if not isinstance(key, str):
        raise TypeError(f"{what}: expected the key as a str, but got {type(key).__name__}")
    return key


def _keys(what, keys):
    if isinstance(keys, (str, bytes)):
        raise TypeError(f"{what}: expected a list of keys, but got {type(keys).__name__}")
    return [_key(what, key) for key in keys]


def _of(tensor):
    return ffi.buffer(ffi.cast("char *", tensor.data_ptr()), tensor.numel())[:]


def _with_time(error, seconds):
    """The error of the last part, with the time of all of them."""
    text = re.sub(r"\d+ms", f"{seconds * 1000:.0f}ms", str(error), count=1)
    return exception_of(error.code, text)


def _by_parts(seconds, errors, attempt):
    """What `attempt(seconds)` gives, which is tried until the time is over as long as it raises one
    of `errors`."""
    deadline = time.monotonic() + seconds
    while True:
        left = max(deadline - time.monotonic(), 0.0)
        try:
            return attempt(min(left, _PART))
        except errors as error:
            if left <= _PART:
                raise _with_time(error, seconds) from None


class Store(Queues):
    """The base of the stores: a table of keys and values that the processes of a job share."""

    _store = None  # the library's; none of a class that a program derives

    def _table(self):
        if self._store is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no table of its own; it is to define this method, or "
                "to be a TCPStore, FileStore, HashStore or PrefixStore"
            )
        return self._store

    def set(self, key, value):
        """Gives a key a value, a str or bytes."""
        api.store_set(self._table(), _key("set", key), bytes_of("set", value))

    def get(self, key):
        """The value of a key as bytes, which is waited for."""
        table, key = self._table(), _key("get", key)
        seconds = api.store_timeout(table)
        return _of(
            _by_parts(seconds, CollectiveTimeoutError, lambda s: api.store_get(table, key, s))
        )

    def append(self, key, value):
        """Adds to the end of a key's value."""
        api.store_append(self._table(), _key("append", key), bytes_of("append", value))

    def add(self, key, amount):
        """Adds to the number that a key holds, at first 0, and returns the sum."""
        return api.store_add(self._table(), _key("add", key), amount)

    def compare_set(self, key, expected_value, desired_value):
        """Sets the key where it has the expected value, or where it has none and that is empty; the
        value that it has then."""
        expected = bytes_of("compare_set", expected_value)
        desired = bytes_of("compare_set", desired_value)
        key = _key("compare_set", key)
        return _of(api.store_compare_set(self._table(), key, expected, desired))

    def wait(self, keys, timeout=None):
        """Waits until all keys are there, as long as `timeout`, or the store's own."""
        table, keys = self._table(), _keys("wait", keys)
        seconds = api.store_timeout(table) if timeout is None else _seconds("wait", timeout)
        _by_parts(seconds, CollectiveTimeoutError, lambda s: api.store_wait(table, keys, s))

    def check(self, keys):
        """Whether all keys are there now."""
        return api.store_check(self._table(), _keys("check", keys))

    def delete_key(self, key):
        """Removes a key; whether it was there."""
        return api.store_delete_key(self._table(), _key("delete_key", key))

    def num_keys(self):
        """How many keys there are."""
        return api.store_num_keys(self._table())

    def list_keys(self):
        """The keys that there are, in order; of a PrefixStore its own. Bytes that are no text,
        which programs in other languages may use, are written as backslashes and numbers."""
        keys = _of(api.store_list_keys(self._table())).split(b"\0")[:-1]
        return [key.decode(errors="backslashreplace") for key in keys]

    def barrier(self, key, world_size, timeout=None):
        """Waits until `world_size` workers have called it with this key, which serves once."""
        if world_size < 1:
            raise ValueError(f"barrier: expected world_size of 1 or more, but got {world_size}")
        last = f"{_key('barrier', key)}/last_member"
        if self.add(f"{key}/num_members", 1) == world_size:
            self.set(last, b"")
        self.wait([last], timeout)

    def multi_get(self, keys):
        """The values of several keys, which are waited for."""
        keys = _keys("multi_get", keys)
        self.wait(keys)
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        """Gives several keys their values."""
        keys, values = _keys("multi_set", keys), list(values)
        if len(keys) != len(values):
            raise ValueError(f"multi_set: {len(keys)} keys and {len(values)} values")
        for key, value in zip(keys, values):
            self.set(key, value)

    def has_extended_api(self):
        """Whether there are append, multi_get and multi_set."""
        return True

    def set_timeout(self, timeout):
        """Sets how long calls may take."""
        api.store_set_timeout(self._table(), _seconds("set_timeout", timeout))

    @property
    def timeout(self):
        """How long calls may take."""
        return datetime.timedelta(seconds=api.store_timeout(self._table()))

    def clone(self):
        """Another store of the same table, whose calls do not wait for this one's."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _store=api.store_clone(self._table()))
        return other

    def __repr__(self):
        return super().__repr__() if self._store is None else api.store_describe(self._store)


_shared = weakref.WeakValueDictionary()  # masters for several tenants, by port


class TCPStore(Store):
    """A store that the master process holds and all reach over TCP."""

    libuvBackend = True  # torch's words for a server that waits for many connections at a time

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=_DEFAULT,
                 wait_for_workers=True, multi_tenant=False, master_listen_fd=None, use_libuv=True,
                 *, listen=None):  # fmt: skip
        """`listen`, which torch's lacks: the address of the interface that a master listens on;
        default: that of `host_name`, and all where it names this machine alone, as Debian's
        own name does, while others are to come (`world_size` is not 1)."""
        seconds = _seconds("TCPStore", timeout)
        size = world_size if world_size is not None and world_size > 0 else 0
        self._host = _key("TCPStore", host_name)
        holder = _shared.get(port) if is_master and multi_tenant else None
        if holder is not None:
            self._server, is_master = holder, False
        if is_master:
            self._store = self._serve(port, size, seconds, listen, master_listen_fd)
            if multi_tenant:
                _shared[self.port] = self
            if wait_for_workers and size:
                self._wait_for_workers(size, seconds)
        else:
            self._store = self._join(port, seconds)

    def _serve(self, port, size, seconds, listen, descriptor):
        warn_of_no_key(self._host, size, listen)
        try:
            return api.store_tcp(
                self._host, port, is_server=True, wait_for_workers=False, world_size=size,
                timeout=seconds, listen=listen,
                listen_fd=-1 if descriptor is None else descriptor,
            )  # fmt: skip
        except FileError as error:  # torch's class for a port that is taken
            raise DistNetworkError(str(error)) from None

    def _join(self, port, seconds):
        def attempt(part):
            try:
                return api.store_tcp(self._host, port, timeout=max(part, 0.001))
            except PeerLostError as error:
                if "timed out" in str(error):
                    raise
                lost.append(error)

        lost = []  # another job's store is no reason to try again
        store = _by_parts(seconds, PeerLostError, attempt)
        if lost:
            raise lost[0]
        api.store_set_timeout(store, seconds)  # it has that of the last part
        return store

    def _wait_for_workers(self, size, seconds):
        deadline = time.monotonic() + seconds
        while (joined := api.store_num_workers(self._store)) < size:
            if time.monotonic() >= deadline:
                raise exception_of(
                    15,
                    f"Timed out after {seconds:g} seconds waiting for clients. {joined}/{size} "
                    "clients joined.\n  start as many processes as world_size says, or give a "
                    "longer timeout",
                )
            time.sleep(0.002)

    @property
    def host(self):
        """The name of the master's machine."""
        return self._host

    @property
    def port(self):
        """Where the master listens."""
        return api.store_port(self._store)


class FileStore(Store):
    """A store in a file that its processes share; the last of `world_size` removes it."""

    def __init__(self, file_name, world_size=-1):
        self._path = os.fspath(file_name)
        self._store = api.store_file(self._path, world_size)

    @property
    def path(self):
        """The file."""
        return self._path


class HashStore(Store):
    """A store for the threads of one process."""

    def __init__(self):
        self._store = api.store_hash()


class PrefixStore(Store):
    """The keys of a store that begin with a prefix and a slash."""

    def __init__(self, prefix, store):
        if not isinstance(store, Store):
            kind = type(store).__name__
            raise TypeError(f"PrefixStore: expected a Store, but got {kind}")
        self._inner = store
        self._store = api.store_prefix(_key("PrefixStore", prefix), store._table())

    @property
    def underlying_store(self):
        """The store that this is a part of."""
        return self._inner

    @property
    def _underlying_non_prefix_store(self):
        inner = self._inner
        return inner._underlying_non_prefix_store if isinstance(inner, PrefixStore) else inner
