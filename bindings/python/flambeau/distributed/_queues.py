"""Queues in a store, by its other calls: entries have numbers, and who takes one says so in the
record of the last that was taken. That record is unique for each taker, so that two who try at once
know which of them has the entry; an entry is taken once, or lost with the process that took it."""

import datetime
import secrets

from .._errors import DistStoreError, UnsupportedError


class QueueEmptyError(DistStoreError):
    """Nothing is in a queue, and the call was not to wait."""


class Queues:
    """The methods of a store; its keys that begin with `KEY/queue/` are the queue's."""

    def queue_push(self, key, value):
        """Adds a str or bytes to the end of a queue, which needs no making."""
        self.set(f"{key}/queue/{self.add(f'{key}/queue/pushed', 1)}", value)

    def queue_pop(self, key, block=True):
        """Takes the first entry, as bytes; waits for one, or with `block=False` raises
        QueueEmptyError where there is none."""
        if block:
            return self._waiting(lambda part: self._taken(key, part))
        return self._taken(key, None)

    def queue_len(self, key):
        """How many entries a queue has."""
        pushed = f"{key}/queue/pushed"
        count = int(self.get(pushed)) if self.check([pushed]) else 0
        return max(count - self._last_taken(key)[0], 0)

    def _last_taken(self, key):
        """(number, record) of the entry that was taken last."""
        name = f"{key}/queue/popped"
        record = self.get(name).decode() if self.check([name]) else ""
        return int(record.partition(" ")[0] or 0), record

    def _taken(self, key, seconds):
        """The first entry, which comes within `seconds`; None: it is there already."""
        while True:
            last, record = self._last_taken(key)
            entry, own = f"{key}/queue/{last + 1}", f"{last + 1} {secrets.token_hex(8)}"
            if seconds is not None:
                self.wait([entry], datetime.timedelta(seconds=seconds))
            elif not self.check([entry]):
                raise QueueEmptyError("queue is empty")
            if self.compare_set(f"{key}/queue/popped", record, own).decode() == own:
                value = self.get(entry)
                self.delete_key(entry)
                return value

    def list_keys(self):
        """Unsupported."""
        raise UnsupportedError(
            "Store.list_keys is unsupported: a store answers for keys that are named; check(keys) "
            "says whether they are there, num_keys() how many there are"
        )
