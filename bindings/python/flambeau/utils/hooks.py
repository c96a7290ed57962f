"""What registering a hook returns: a handle on a dictionary of hooks by the handle's number, and on
the dictionaries beside it that say more of the same hook. A number is never used twice
in a process, nor one that the dictionary has. A handle keeps no hook alive."""

import weakref
from collections import OrderedDict

__all__ = ["RemovableHandle"]


def _weak(hooks):
    """A reference to a dictionary of hooks; a plain one, which a program's may be, has none that
    is weak."""
    return (lambda: hooks) if type(hooks) is dict else weakref.ref(hooks)


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as does leaving a `with`
    block."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        beside = [] if extra_dict is None else extra_dict
        self._refer(hooks_dict, beside if isinstance(beside, (list, tuple)) else [beside])
        self.id = RemovableHandle.next_id
        while self.id in hooks_dict:  # hooks that were unpickled have numbers of another process
            self.id += 1
        RemovableHandle.next_id = self.id + 1

    def _refer(self, hooks, beside):
        self.hooks_dict_ref, self.extra_dict_ref = _weak(hooks), tuple(map(_weak, beside))

    def remove(self):
        for found in (self.hooks_dict_ref, *self.extra_dict_ref):
            (found() or {}).pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(found() for found in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, beside = state
        self._refer(OrderedDict() if hooks is None else hooks, [d for d in beside if d is not None])
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

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
