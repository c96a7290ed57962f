"""`torch.jit`: scripted and traced programs run as the Python they were written in.

`script` and `trace` return their argument and say so once; what needs TorchScript itself (files,
graphs) is refused."""

import builtins

from .. import _refused
from .._deprecated import warn_once
from ..nn.modules.module import Module


class TracerWarning(Warning):
    """torch's warning that a trace fixed a Python value; never issued here."""

    @staticmethod
    def ignore_lib_warnings():
        """Silences the warning."""


class ScriptModule(Module):
    """A Module: its methods run as Python."""


ScriptFunction = type(lambda: None)
RecursiveScriptModule = TracedModule = TopLevelTracedModule = ScriptModule


def _tell(what):
    warn_once(
        f"torch.jit.{what}: flambeau has no TorchScript; the argument is returned and runs as "
        "Python"
    )


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself; a warning says so once."""
    _tell("script")
    return obj


def trace(func, example_inputs=None, *args, example_kwarg_inputs=None, **settings):
    """The function or module itself, after one call with the example as torch makes it."""
    _tell("trace")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if example_inputs is None:
        func(**example_kwarg_inputs)
    else:
        listed = builtins.isinstance(example_inputs, (tuple, list))
        func(*(example_inputs if listed else (example_inputs,)))
    return func


def trace_module(mod, inputs, *args, **settings):
    """The module itself, after one call of each method named in `inputs`."""
    _tell("trace_module")
    for name, given in inputs.items():
        method = mod if name == "forward" else getattr(mod, name)
        method(*(given if builtins.isinstance(given, (tuple, list)) else (given,)))
    return mod


def _marked(fn):
    """The function, method or class itself: its mark says nothing here."""
    return fn


script_method = script_if_tracing = export = unused = interface = _marked
_overload = _overload_method = _marked  # the last definition of a name is the one that runs
_script_if_tracing = script_if_tracing  # torchvision's spelling


def ignore(drop=False, **kwargs):
    """The function itself, with or without arguments of the decorator."""
    return drop if callable(drop) else lambda fn: fn


def is_scripting():
    """Whether TorchScript runs the caller: never."""
    return False


is_tracing = is_scripting


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type):
    """Python's isinstance; of `List[int]` and relatives, of the container."""
    return builtins.isinstance(obj, getattr(target_type, "__origin__", target_type))


def optimize_for_inference(mod, other_methods=None):
    """The module itself."""
    return mod


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself, which must be in evaluation mode as in torch."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return mod


def fork(func, *args, **kwargs):
    """Calls the function; `wait` gives its result."""
    return _Done(func(*args, **kwargs))


def wait(future):
    """The result of `fork`."""
    return future.wait()


class _Done:
    def __init__(self, value):
        self._value = value

    def wait(self):
        return self._value

    value = wait

    def done(self):
        return True


save = _refused.function(
    "torch.jit", "save", "flambeau writes no TorchScript; save the state_dict with torch.save"
)
load = _refused.function(
    *("torch.jit", "load"),
    "flambeau runs no TorchScript; in torch, save the module's state_dict and load that",
)


def __getattr__(name):
    if name in ("Final", "List", "Dict", "Tuple", "Optional", "Union", "Any"):
        import typing

        return getattr(typing, name)
    raise AttributeError(f"module 'torch.jit' has no attribute '{name}' in flambeau")
