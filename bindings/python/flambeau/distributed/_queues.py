"""Queues in a store, by its other calls: entries have numbers, and who takes one says so in the
record of the last that was taken. That record is unique for each taker, so that two who try at once
know which of them has the entry; an entry is taken once, or lost with the process that took it.
A push draws a number and then writes its entry: one that does not get to that, as its process has
stopped or died, is passed over after two seconds, and begins again where the process goes on."""

import contextlib
import datetime
import secrets
import time

from .._errors import CollectiveTimeoutError, DistStoreError, exception_of

_GIVEN, _PASSED = b"+", b"-"  # how an entry begins, and what stands for one that never came
_LATE = 2.0  # seconds between the two calls of a push


def bytes_of(what, value):
    """A value as stores keep it."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    kind = type(value).__name__
    raise TypeError(f"{what}: expected the value as a str or bytes, but got {kind}")


class QueueEmptyError(DistStoreError):
    """Nothing is in a queue, and the call was not to wait."""


class Queues:
    """The methods of a store; its keys that begin with `KEY/queue/` are the queue's."""

    def queue_push(self, key, value):
        """Adds a str or bytes to the end of a queue, which needs no making."""
        own, found = _GIVEN + bytes_of("queue_push", value), _PASSED
        while found == _PASSED:  # it stays there: takers may not have come to it
            number = self.add(f"{key}/queue/pushed", 1)
            found = self.compare_set(f"{key}/queue/{number}", "", own)

    def queue_pop(self, key, block=True):
        """Takes the first entry, as bytes; waits for one, or with `block=False` raises
        QueueEmptyError where there is none. An entry whose push has begun is waited for either way,
        two seconds at most."""
        limit = self.timeout.total_seconds() if block else None
        deadline = time.monotonic() + (limit or 0)
        while True:
            last, record = self._last_taken(key)
            entry, own = f"{key}/queue/{last + 1}", f"{last + 1} {secrets.token_hex(8)}"
            if not self.check([entry]):
                self._look_again(key, last + 1, record, limit, deadline)
            elif self.compare_set(f"{key}/queue/popped", record, own).decode() == own:
                value = self.get(entry)
                if value != _PASSED:
                    self.delete_key(entry)
                    return value[len(_GIVEN) :]

    def queue_len(self, key):
        """How many entries a queue has, with those whose push has begun."""
        return max(self._last_pushed(key) - self._last_taken(key)[0], 0)

    def _last_pushed(self, key):
        pushed = f"{key}/queue/pushed"
        return int(self.get(pushed)) if self.check([pushed]) else 0

    def _last_taken(self, key):
        """(number, record) of the entry that was taken last."""
        name = f"{key}/queue/popped"
        record = self.get(name).decode() if self.check([name]) else ""
        return int(record.partition(" ")[0] or 0), record

    def _look_again(self, key, number, record, limit, deadline):
        """Returns when the first entry, which was not there, may be, or is another. Waits are short
        at first: an entry that comes and is taken meanwhile is not seen by them."""
        entry, begun, part = f"{key}/queue/{number}", None, 0.01
        while not self.check([entry]) and self._last_taken(key)[1] == record:
            now = time.monotonic()
            if self._last_pushed(key) >= number:
                begun = now if begun is None else begun
                if now - begun >= _LATE:
                    self.compare_set(entry, "", _PASSED)
            elif limit is None:
                raise QueueEmptyError("queue is empty")
            elif now >= deadline:
                raise exception_of(
                    15,
                    f"queue_pop: nothing came into the queue '{key}' after {limit * 1000:.0f}ms\n  "
                    "queue_push(key, value) of any process ends the wait; set_timeout() of the "
                    "store gives it longer",
                )
            else:
                part = min(part, max(deadline - now, 0.001))
            with contextlib.suppress(CollectiveTimeoutError):
                self.wait([entry], datetime.timedelta(seconds=part))
            part = min(2 * part, 0.5)
