"""A nested state dict as leaves with names, and back. Dictionaries are always looked into, lists
where they hold tensors or dictionaries; a tuple is one value. A path has a string for a key, a
number for an entry of a list, and a tuple of one for a key that is no string but plain; other keys
become strings, so that every path is JSON. No two leaves have one name."""

from collections.abc import Mapping

from ._pieces import is_tensor

_PLAIN_KEYS = int, float, bool, type(None)


class Leaf:
    """A value, its path, and the container and key where it is."""

    __slots__ = ("path", "holder", "key", "value")

    def __init__(self, path, holder, key, value):
        self.path, self.holder, self.key, self.value = path, holder, key, value


def _is_whole(value):
    """Whether it is saved as one value."""
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, list):
        return True
    return all(
        _is_whole(entry) and not is_tensor(entry) and not isinstance(entry, Mapping)
        for entry in value
    )


def _step(key):
    if isinstance(key, str):
        return key
    return (key,) if type(key) in _PLAIN_KEYS else str(key)


def _walk(path, holder, key, value):
    if _is_whole(value):
        yield Leaf(path, holder, key, value)
    elif isinstance(value, Mapping):
        for inner in value:
            yield from _walk((*path, _step(inner)), value, inner, value[inner])
    else:
        for i, entry in enumerate(value):
            yield from _walk((*path, i), value, i, entry)


def _name(path):
    return ".".join(str(step[0] if isinstance(step, tuple) else step) for step in path)


def check_dict(state_dict):
    """Refuses what is no dictionary."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict must be a dict, got {type(state_dict).__name__}")


def leaves(state_dict, deep=True):
    """The leaves by name; those of the first level where it is not to be `deep`."""
    found = {}
    for key in state_dict:
        path, value = (_step(key),), state_dict[key]
        inner = _walk(path, state_dict, key, value) if deep else ()
        for leaf in inner if deep else [Leaf(path, state_dict, key, value)]:
            name = _name(leaf.path)
            if name in found:
                raise ValueError(f"duplicated flatten key {name}: two values have this name")
            found[name] = leaf
    return found


def nested(entries):
    """The containers again, from pairs of path and value."""
    root = {}
    for path, value in entries:
        here = root
        for step, after in zip(path, path[1:]):
            here = _child(here, step, [] if isinstance(after, int) else {})
        _put(here, path[-1], value)
    return root


def _child(here, step, new):
    if isinstance(here, list):
        _put(here, step, new if step >= len(here) else here[step])
        return here[step]
    return here.setdefault(step[0] if isinstance(step, tuple) else step, new)


def _put(here, step, value):
    if not isinstance(here, list):
        here[step[0] if isinstance(step, tuple) else step] = value
    elif step == len(here):  # a list is written in order
        here.append(value)
    elif step < len(here):
        here[step] = value
    else:
        raise ValueError(f"a list of the checkpoint lacks entry {len(here)}")
