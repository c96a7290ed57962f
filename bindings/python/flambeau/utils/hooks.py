"""What registering a hook returns: a handle on a dictionary of hooks by the handle's number, and on
the dictionaries beside it that say more of the same hook. A number is never used twice
in a process, nor one that the dictionary has."""

import itertools

__all__ = ["RemovableHandle"]
_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as does leaving a `with`
    block."""

    __slots__ = ("_hooks", "_beside", "id", "__weakref__")

    def __init__(self, hooks_dict, *, extra_dict=None):
        # Hooks that were unpickled have numbers of another process.
        self._hooks, self.id = hooks_dict, next(i for i in _ids if i not in hooks_dict)
        several = isinstance(extra_dict, (list, tuple))
        self._beside = list(extra_dict) if several else [] if extra_dict is None else [extra_dict]

    def hooks_dict_ref(self):
        """The dictionary that the hook was registered in."""
        return self._hooks

    def remove(self):
        for hooks in (self._hooks, *self._beside):
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register(hooks, hook, prepend=False, **marked):
    """Adds a hook, in front of the others with `prepend`; `marked` are dictionaries that say
    something of hooks, each with whether they say it of this one: `kwargs=(dictionary, True)`."""
    handle = RemovableHandle(hooks, extra_dict=[group for group, _ in marked.values()])
    hooks[handle.id] = hook
    for group, holds in marked.values():
        if holds:
            group[handle.id] = True
    if prepend:
        for key in [k for k in hooks if k != handle.id]:
            hooks[key] = hooks.pop(key)
    return handle
