"""State that the package keeps for each thread, and the library takes along where it goes on with a
thread's work on another one: a backward pass deep inside of others gets a stack of its own.

A module makes one `ThreadState` for what it keeps; the program's context variables go along,
too."""

import threading

_all = []


class ThreadState(threading.local):
    """Attributes of each thread, with what a thread starts with."""

    def __new__(cls, **start):
        made = super().__new__(cls, **start)  # kept, for __init__ in each thread
        _all.append(made)
        return made

    def __init__(self, **start):  # of every thread
        self.__dict__.update(start)


def take():
    """The calling thread's state."""
    import contextvars  # by few programs: the package's import stays short

    return [dict(kept.__dict__) for kept in _all], contextvars.copy_context()


def give(state):
    """Puts such a state in the place of the calling thread's."""
    attributes, context = state
    for kept, values in zip(_all, attributes):
        kept.__dict__.update(values)  # first: an interrupt leaves too many attributes, not too few
        for name in kept.__dict__.keys() - values.keys():
            del kept.__dict__[name]
    for variable, value in context.items():
        variable.set(value)
