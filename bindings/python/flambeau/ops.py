"""`torch.ops`: operations that a program defined with `torch.library`, by namespace and name.
PyTorch's own tables (`torch.ops.aten`) and compiled extensions are not here."""

from ._errors import UnsupportedError

_spaces = {}


class _Namespace:
    """The operations of one namespace, as attributes."""

    def __init__(self, name):
        self._name, self._found = name, {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._found.get(name)
        if found is None:
            raise AttributeError(
                f"'torch.ops.{self._name}' object has no attribute '{name}': flambeau knows the "
                "operations that torch.library defined in this program"
            )
        return found

    def __dir__(self):
        return sorted(self._found)


def _define(qualified, op):
    space, _, name = qualified.partition("::")
    _namespace(space)._found[name] = op


def _namespace(name):
    return _spaces.setdefault(name, _Namespace(name))


class _CannotLoad(UnsupportedError, OSError):
    """What programs catch where an extension's library does not load."""


def load_library(path):
    """Refused: such a library is compiled against libtorch."""
    raise _CannotLoad(
        f"torch.ops.load_library({str(path)!r}) is unsupported: libraries that are compiled "
        "against libtorch cannot be loaded; write the operation in Python with "
        "torch.library.custom_op"
    )


def load(path):
    """Refused as `load_library` is."""
    load_library(path)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespace(name)
