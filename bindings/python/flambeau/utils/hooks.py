"""What registering a hook returns."""

import itertools

__all__ = ["RemovableHandle"]
_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as does leaving a `with`
    block."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks, hook, prepend=False):
        self._hooks, self.id = hooks, next(_ids)
        hooks[self.id] = hook
        if prepend:
            for key in [k for k in hooks if k != self.id]:
                hooks[key] = hooks.pop(key)

    def remove(self):
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()
