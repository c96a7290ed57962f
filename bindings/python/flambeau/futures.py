"""`torch.futures`: values that another thread of the program will set."""

import concurrent.futures as _futures
import types as _types

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A value, or the exception of making it, once one is set. `devices` is taken and not needed:
    work on a device is ordered by its streams."""

    __class_getitem__ = classmethod(_types.GenericAlias)  # in annotations of packages

    def __init__(self, *, devices=None):
        self._state = _futures.Future()

    def done(self):
        return self._state.done()

    def wait(self):
        """The value when it is there; raises the exception where that was set."""
        return self._state.result()

    def value(self):
        """The value that is there."""
        if not self.done():
            raise RuntimeError("the future has no value yet; wait() waits for it")
        return self.wait()

    def set_result(self, result):
        self._set(self._state.set_result, result)

    def set_exception(self, result):
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(self._state.set_exception, result)

    def _set(self, setter, given):
        try:
            setter(given)
        except _futures.InvalidStateError as problem:
            raise RuntimeError("a future is set once, and this one was set before") from problem

    def then(self, callback):
        """The future of `callback(self)`, which runs when this one is set."""
        made = Future()

        def run(done):
            try:
                made.set_result(callback(done))
            except Exception as problem:  # of the program: whoever waits for the other one gets it
                made.set_exception(problem)

        self.add_done_callback(run)
        return made

    def add_done_callback(self, callback):
        """Runs `callback(self)` when it is set, at once where it is."""
        self._state.add_done_callback(lambda _: callback(self))


def collect_all(futures):
    """The future of the list of these, when all of them are set."""
    futures = list(futures)
    made, left = Future(), [None] * len(futures)
    if not futures:
        made.set_result(futures)

    def one(_):
        left.pop()  # one step of Python's, whatever threads set them
        if not left and not made.done():
            made.set_result(futures)

    for future in futures:
        future.add_done_callback(one)
    return made


def wait_all(futures):
    """The values of all, in their order; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]
