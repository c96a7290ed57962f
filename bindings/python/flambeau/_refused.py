"""Names of torch's that stand for what flambeau does not do: programs and packages may import them
and test with `isinstance`; a call says that it is unsupported, why, and what to do instead."""

from ._errors import UnsupportedError
from ._on_demand import called


def function(module, name, why):
    """A function that raises when it is called."""

    def refuse(*args, **kwargs):
        raise UnsupportedError(f"{module}.{name} is unsupported: {why}")

    return called(refuse, name, f"Unsupported: {why}.")


def kind(module, name, why, *bases):
    """A class of which no object can be made."""

    def __init__(self, *args, **kwargs):
        raise UnsupportedError(f"{module}.{type(self).__name__} is unsupported: {why}")

    doc = f"Unsupported: {why}."
    return type(name, bases, {"__init__": __init__, "__doc__": doc, "__module__": module})


def names(module, words, why, **bases):
    """Classes, whose names begin with a capital letter, and functions by name; `Name(Base)` has
    one of `bases`, or a class in front of it."""
    found = {}
    for word in words.split():
        name, _, base = word.rstrip(")").partition("(")
        if name[0].isupper():
            above = ({**bases, **found}[base],) if base else ()
            found[name] = kind(module, name, why, *above)
        else:
            found[name] = function(module, name, why)
    return found
