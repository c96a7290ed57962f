"""Classes that are known by their constructors: a function with the constructor's signature, which
returns its `locals()`, becomes the class. Python itself checks a call by it, and `inspect` shows
it."""

from types import FunctionType


def parameters(signature):
    """The names that a signature takes after `self`."""
    code = signature.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def kind(name, base, signature, begin, **members):
    """The class of this name: `begin(above, self, given)` gets the base's constructor, the instance
    and what `signature` returns for a call's arguments. Several classes may share a signature."""
    code, defaults = signature.__code__, signature.__defaults__
    own = FunctionType(code, signature.__globals__, "__init__", defaults)
    own.__kwdefaults__ = signature.__kwdefaults__

    def __init__(self, *args, **kwargs):
        given = own(self, *args, **kwargs)
        del given["self"]
        begin(super(made, self).__init__, self, given)

    own.__qualname__ = __init__.__qualname__ = f"{name}.__init__"
    __init__.__wrapped__ = own
    text = {"__module__": signature.__module__, "__doc__": signature.__doc__}
    made = type(name, (base,), {"__init__": __init__, **text, **members})
    return made
