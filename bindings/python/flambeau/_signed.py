"""Classes that are known by their constructors: a function with the constructor's signature, which
checks arguments and returns those that it changes, becomes the class. Python itself checks a call
by it, and `inspect` shows it."""

from types import FunctionType


def parameters(signature):
    """The names that a signature takes after `self`."""
    code = signature.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


def kind(name, base, signature, begin, **members):
    """The class of this name: `begin(above, self, given)` gets the base's constructor, the instance
    and all arguments of a call by name. Several classes may share a signature."""
    code, names, defaults = signature.__code__, parameters(signature), signature.__defaults__ or ()
    own = FunctionType(code, signature.__globals__, "__init__", defaults)
    own.__kwdefaults__ = signature.__kwdefaults__
    usual = dict(zip(names[code.co_argcount - 1 - len(defaults) :], defaults))
    usual = {**dict.fromkeys(names), **usual, **(signature.__kwdefaults__ or {})}

    def __init__(self, *args, **kwargs):
        changed, given = own(self, *args, **kwargs), usual.copy()
        given.update(zip(names, args), **kwargs)
        given.update(changed or ())
        begin(super(made, self).__init__, self, given)

    own.__qualname__ = __init__.__qualname__ = f"{name}.__init__"
    __init__.__wrapped__ = own
    text = {"__module__": signature.__module__, "__doc__": signature.__doc__}
    made = type(name, (base,), {"__init__": __init__, **text, **members})
    return made
