"""Containers: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.

They hold children under their index or key, so that state dicts get the same names as in PyTorch.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from operator import index

from ..._functions import typename
from ..._tensor import Tensor
from ..parameter import Parameter
from ._one_pass import NORM_OF, one_pass
from ._paths import tell
from .module import Module, _indent


def _place(i, n):
    """The place, from 0 on, of an entry of n that may be counted from the end."""
    i = index(i)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of range")
    return i % n


class _Indexed(Module):
    """Children named "0", "1", ...; the list protocol over them."""

    def _key(self, i):
        return list(self._modules)[_place(i, len(self))]

    def _replace(self, modules):
        names = list(self._modules)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        for name in dict.fromkeys([*names, *self._modules]):
            tell(self, name)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, i):
        if isinstance(i, slice):
            return self._sliced(list(self._modules.items())[i])
        return self._modules[self._key(i)]

    def __setitem__(self, i, module):
        setattr(self, self._key(i), module)

    def __delitem__(self, i):
        kept = list(self._modules.values())
        del kept[i]
        self._replace(kept)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, i, module):
        kept = list(self._modules.values())
        kept.insert(i, module)
        self._replace(kept)

    def pop(self, i=-1):
        found = self[i]
        del self[i]
        return found

    def __add__(self, other):
        return type(self)._of([*self, *other])

    def __iadd__(self, other):
        return self.extend(other)


class Sequential(_Indexed):
    """Calls its modules one after the other, each on what the last returned."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    @classmethod
    def _of(cls, modules):
        return cls(*modules)

    def _sliced(self, items):
        return type(self)(OrderedDict(items))

    def insert(self, i, module):
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= i <= len(self):
            raise IndexError(f"Index out of range: {i}")
        super().insert(i, module)
        return self

    def __mul__(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return type(self)(*[module for _ in range(other) for module in self])

    __rmul__ = __mul__

    def __imul__(self, other):
        for module in list(self * other)[len(self) :]:
            self.append(module)
        return self

    def forward(self, input):
        modules, done = tuple(self._modules.values()), 0
        for i, module in enumerate(modules):
            if i < done:
                continue
            made = one_pass(modules, i, input) if module.__class__ in NORM_OF else None
            input, done = made or (module(input), 0)
        return input


class ModuleList(_Indexed):
    """A list of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @classmethod
    def _of(cls, modules):
        return cls(modules)

    def _sliced(self, items):
        return type(self)(module for _, module in items)

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def __repr__(self):
        """As torch prints it: runs of equal modules as `(0-3): 4 x Linear(...)`."""
        if not len(self):
            return self._get_name() + "()"
        runs = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [
            f"({a}): {_indent(t)}" if a == b else f"({a}-{b}): {b - a + 1} x {_indent(t)}"
            for a, b, t in runs
        ]
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


class _Keyed(Module):
    """The dictionary protocol over entries that `keys` names."""

    def __len__(self):
        return len(self.keys())

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, key):
        return key in self.keys()

    def __reversed__(self):
        return reversed(self.keys())

    def clear(self):
        for key in list(self):
            del self[key]

    def pop(self, key):
        found = self[key]
        del self[key]
        return found

    def _take(self, entries):
        for key, value in _pairs(entries, type(self).__name__):
            self[key] = value


def _pairs(entries, kind):
    """Keys and values of a mapping or of a sequence of pairs, each looked at before it is taken."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got "
            f"{type(entries).__name__}"
        )
    for i, pair in enumerate(entries.items() if hasattr(entries, "items") else entries):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{kind} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(
                f"{kind} update sequence element #{i} has length {len(pair)}; 2 is required"
            )
        yield pair


class ModuleDict(_Keyed):
    """A dictionary of modules, in order of insertion."""

    def __init__(self, modules=None):
        super().__init__()
        self._take(modules or {})

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]
        tell(self, key)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        self._take(modules)

    def _check_name(self, name, group, what):
        if name not in self._modules:
            super()._check_name(name, group, what)


class ParameterList(Module):
    """A list of parameters; plain tensors become parameters."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(self._size))

    def __getitem__(self, i):
        if isinstance(i, slice):
            return type(self)(self[k] for k in range(*i.indices(self._size)))
        return getattr(self, str(_place(i, self._size)))

    def __setitem__(self, i, value):
        setattr(self, str(index(i) % self._size), _as_parameter(value))

    def append(self, value):
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values):
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_summary(p)}" for i, p in enumerate(self))


class ParameterDict(_Keyed):
    """A dictionary of parameters; plain tensors become parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def __getitem__(self, key):
        return getattr(self, _attribute(key))

    def __setitem__(self, key, value):
        name = _attribute(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """Another dictionary of the same parameters."""
        return type(self)(OrderedDict(self.items()))

    def fromkeys(self, keys, default=None):
        """A dictionary with one value for all `keys`."""
        return type(self)((key, default) for key in keys)

    def keys(self):
        return self._keys.keys()

    def values(self):
        return (self[k] for k in self._keys)

    def items(self):
        return ((k, self[k]) for k in self._keys)

    def get(self, key, default=None):
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The value of `key`, which is put there where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self):
        """Takes out the entry that came last."""
        key, _ = self._keys.copy().popitem()  # its KeyError where there is none
        return key, self.pop(key)

    def update(self, parameters):
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        self._take(sorted(parameters.items()) if plain else parameters)

    def extra_repr(self):
        return "\n".join(f"  ({k}): {_summary(p, True)}" for k, p in self.items())


def _attribute(key):
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}')"
        )
    return key


def _as_parameter(value):
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


def _summary(p, typed=False):
    if not isinstance(p, Tensor):
        return f"Object of type: {type(p).__name__}"
    device = "" if p.device.type == "cpu" else f" ({p.device})"
    shape = "x".join(map(str, p.size()))
    kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
    name = typename(p) if typed else f"torch.{p.dtype._name}"
    return f"{kind} containing: [{name} of size {shape}{device}]"
