"""Values as JSON that come back as they were: numbers, strings, None, lists, and, as objects with
one key, tuples, dictionaries and bytes. What is none of these, as it is exactly, has no JSON."""

import base64

from ._flatten import _PLAIN_KEYS

_SIMPLE = frozenset({str, int, float, bool, type(None)})


class NotPlain(Exception):
    """The value has no JSON."""


def encoded(value):
    """What `json` writes for the value."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is list:
        return [encoded(entry) for entry in value]
    if kind is tuple:
        return {"tuple": [encoded(entry) for entry in value]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind is dict and all(type(key) is str or type(key) in _PLAIN_KEYS for key in value):
        return {"dict": [[encoded(key), encoded(entry)] for key, entry in value.items()]}
    raise NotPlain


def decoded(found):
    """The value again."""
    if isinstance(found, list):
        return [decoded(entry) for entry in found]
    if not isinstance(found, dict):
        return found
    ((kind, entries),) = found.items()
    if kind == "bytes":
        return base64.b64decode(entries, validate=True)
    if kind == "tuple":
        return tuple(decoded(entry) for entry in entries)
    if kind == "dict":
        return {decoded(key): decoded(entry) for key, entry in entries}
    raise ValueError(f"a value of kind {kind!r}")
