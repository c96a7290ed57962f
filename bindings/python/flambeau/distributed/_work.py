"""`Work`: a collective that was begun. It keeps its tensors until it has ended, fails with the same
error as often as it is asked, and makes a future for those who do not want to wait."""

from .._gen import api
from ..futures import Future
from ._group import seconds


class Work:
    """What collectives return with `async_op=True`, and `isend` and `irecv` always."""

    def __init__(self, handle, group, results):
        self._handle, self._group, self._results = handle, group, results

    def wait(self, timeout=None):
        """Returns True when it has ended; raises what it failed with. Of tensors on a device it is
        the current stream that waits. Ctrl-C ends the wait, and what is waited for goes on."""
        api.work_wait(self._handle, -1 if timeout is None else seconds(timeout))
        return True

    def synchronize(self):
        """As `wait`."""
        self.wait()

    def is_completed(self):
        """Whether it has ended, well or not."""
        return api.work_done(self._handle)

    def is_success(self):
        """Whether it has ended well."""
        return self.is_completed() and self.exception() is None

    def exception(self):
        """What it failed with; None before the end and where it went well."""
        if not self.is_completed():
            return None
        try:
            api.work_wait(self._handle)
        except Exception as error:  # of the library, whose own they are
            return error
        return None

    def source_rank(self):
        """Who sent what it received, as a rank of the group."""
        return api.work_source(self._handle)

    _source_rank = source_rank

    def result(self):
        """The tensors that it writes, when it has ended."""
        self.wait()
        return list(self._results)

    def get_future(self):
        """A future of the tensors that it writes."""
        return _WorkFuture(self)


class Together:
    """Several works as one."""

    def __init__(self, works=()):
        self.works = list(works)

    def append(self, work):
        self.works.append(work)

    def wait(self, timeout=None):
        for work in self.works:
            work.wait(timeout)
        return True

    def is_completed(self):
        return all(work.is_completed() for work in self.works)


class _WorkFuture(Future):
    """Set by a thread of the group's when the work has ended, or by who waits for it."""

    def __init__(self, work):
        super().__init__()
        self._work = work
        work._group._watch(work, self._settle)

    def _settle(self, work):
        try:
            work.wait()
            outcome = self.set_result, list(work._results)
        except Exception as error:  # handed to who asks the future
            outcome = self.set_exception, error
        set_it, value = outcome
        try:
            set_it(value)
        except RuntimeError:  # by the other one, meanwhile
            pass

    def done(self):
        return super().done() or self._work.is_completed()

    def wait(self):
        """Of tensors on a device the current stream waits, too, whoever set it: another thread has
        streams of its own."""
        if not super().done():
            self._settle(self._work)
        value = super().wait()
        self._work.wait()
        return value
