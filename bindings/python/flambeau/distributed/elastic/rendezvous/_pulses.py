"""Who of a job's nodes is heard of. Each counts up a key of its own about once a second, as long as
its launcher lives, and takes it away when it leaves.

Silence is counted in looks, not in seconds, and one that looks has a pulse itself: a machine that
stood still for a while takes nobody for lost when it goes on."""

import time


class Pulses:
    """This node's pulse, and what has been seen of others'. `nodes` asks the store."""

    def __init__(self, nodes, token, patience):
        self._nodes, self._token = nodes, token
        self._period = max(min(1.0, patience / 5), 0.01)
        self._looks = patience / self._period  # without a change, until a node is lost
        self._next, self._count = 0.0, 0
        self._seen = {}

    def due(self):
        """Whether it is time for a beat, and a look at others."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._period
        return True

    def beat(self):
        """Says that this node is there."""
        self._count += 1
        self._nodes._set(_name(self._token), str(self._count))

    def stop(self, token=None):
        """Takes a pulse away: this node's, which leaves, or that of one that is not there."""
        key = self._nodes._key(_name(token or self._token))
        self._nodes._ask(lambda s: s.delete_key(key))

    def look(self, tokens):
        """Reads the pulses of these nodes, and forgets others'."""
        before, self._seen = self._seen, {}
        for token in tokens:
            there = self._nodes._has(_name(token))
            pulse = self._nodes._get(_name(token)) if there else None
            last, looks = before.get(token, (pulse, 0))
            self._seen[token] = pulse, looks + 1 if pulse == last else 0

    def missed(self, token):
        """In words, why a node is taken for gone at the last look; None where it is not."""
        pulse, looks = self._seen.get(token, ("", 0))
        if pulse is None:
            return "has left"
        if looks <= self._looks:
            return None
        seconds = looks * self._period
        return f"is lost: its launcher has not been heard of for {seconds:.0f} s"

    def there(self, token):
        """Whether a node that has come is still there."""
        return not self.missed(token) and self._nodes._has(_name(token))

    def forget(self):
        """Takes away the pulses of those that ended without a word. One that only stood still
        makes itself another."""
        for token in self._seen:
            if self.missed(token):
                self.stop(token)


def _name(token):
    return f"beat/{token}"
