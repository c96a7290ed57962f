"""When the next snapshot is due: after a number of steps, or of seconds by the first rank's clock.
All ranks have to agree, and asking costs a collective, so the first says when to ask again: after
half of the steps that the rest of the time is good for."""

import time

_MOST = 1000  # steps without asking


class EverySteps:
    """After each so many."""

    def __init__(self, count):
        self._count = count

    def begin(self, step):
        """Nothing to note."""

    def __call__(self, step, ranks, ask=False):
        return step % self._count == 0


class EverySeconds:
    """After each so many, at the next step."""

    def __init__(self, seconds):
        self._seconds, self._next = seconds, 0

    def begin(self, step):
        """Counts from here on."""
        self._began = self._asked_at = time.monotonic()
        self._asked, self._next = step, step + 1

    def __call__(self, step, ranks, ask=False):
        if step < self._next and not ask:
            return False
        now = time.monotonic()
        each = max(1e-6, (now - self._asked_at) / max(1, step - self._asked))
        left = self._seconds - (now - self._began)
        ahead = max(1, min(_MOST, int(left / each / 2)))
        self._asked, self._asked_at = step, now
        due, self._next = ranks.gather((left <= 0, step + ahead))[0]
        return due
