"""Names that a package shows: those of its modules, and those that are loaded on first use, so that
the import stays short; and what a name stands for during a block."""

import contextlib
import importlib
import types

from ._library import owner

_every, _change = [], []  # functions shown, and what is done to each


def shown(function, module, name):
    """A function under its name in a module of torch's; what is no plain function as it is."""
    if not isinstance(function, types.FunctionType):
        return function
    made = owner.Function(function, *getattr(function, "_direct", ()))
    named = {"__name__": name, "__qualname__": name}
    named |= {"__doc__": function.__doc__, "__module__": module}
    made.__dict__.update(named, __reduce_ex__=lambda protocol: name)
    _every.append(made)
    for change in _change:
        change(made)
    return made


def method(cls, name, function):
    """The function as a method of the class, which calls C at once where it is given tensors alone
    and the function says by `_direct` what of C's that is, and how many it takes."""
    direct = getattr(function, "_direct", ())
    if not direct:
        return function
    made, named = owner.Method(function, *direct), {"__name__": name, "__qualname__": name}
    named |= {"__doc__": function.__doc__, "__module__": function.__module__}
    made.__dict__.update(named, __reduce_ex__=lambda protocol: (getattr, (cls, name)))
    return made


def called(function, name, text=None):
    """The function under another name, and with another text where there is one."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = function.__doc__ if text is None else text
    return function


def change_shown(change):
    """Calls `change` with every function that is shown, now and from now on."""
    _change.append(change)
    for made in list(_every):
        change(made)


def own(*modules, only=None):
    """What the modules define for others, or of it `only` these names: functions and classes."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
        if only is None or name in only
    }


def by_name(table):
    """The table `{module: "names that it has"}` as `{name: module}`."""
    return {name: module for module, names in table.items() for name in names.split()}


def loader(namespace, table, modules="", torch_name=None):
    """The `__getattr__` of the module with these globals: finds the names of the table
    `{module: "names"}`, which it keeps, and the modules below it. `torch_name`: of a module
    whose functions torch shows as its own."""
    package = namespace["__package__"]
    found, modules = by_name(table), frozenset(modules.split())
    module = torch_name or namespace["__name__"].replace("flambeau", "torch", 1)

    def __getattr__(name):
        if name in found:
            loaded = importlib.import_module("." + found[name], package)
            value = getattr(loaded, name)
            namespace[name] = value = shown(value, package, name) if torch_name else value
            return value
        if name in modules:
            try:
                return importlib.import_module("." + name, package)
            except ModuleNotFoundError as problem:
                if problem.name != f"{package}.{name}":
                    raise
        raise _absent(name, namespace["__dir__"], module)

    namespace.setdefault("__dir__", lambda: sorted({*namespace, *found, *modules}))
    return __getattr__


def _absent(name, candidates, module):
    """The error for a name that a module lacks, with the one that was meant (imports and tools ask
    for private ones). It has no `obj`: Python would say the same once more, of small modules."""
    text = f"module '{module}' has no attribute '{name}' in flambeau"
    if not name.startswith("_"):
        import difflib  # seldom needed

        near = difflib.get_close_matches(name, sorted(candidates()), 1, 0.75)
        text += "".join(f". Did you mean: '{one}'?" for one in near)
    return AttributeError(text, name=name)


def of_torch(module, name):
    """The package's object of torch's name in a module of torch's, or above it; None without."""
    first, *parts = module.split(".")
    for n in range(len(parts), -1, -1) if first == "torch" else ():
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(".".join([__package__, *parts[:n]])), name)
    return None


@contextlib.contextmanager
def during(names, **values):
    """A `with` block in which these names of a dictionary, such as a module's, have other values;
    those that it lacks are there meanwhile."""
    before = {name: names[name] for name in values.keys() & names.keys()}
    names.update(values)
    try:
        yield
    finally:
        names.update(before)
        for name in values.keys() - before.keys():
            names.pop(name, None)
