"""`torch.fx`: symbolic tracing is unsupported and says so; `wrap` and the classes that programs
test with `isinstance` exist, so that a program which only mentions them runs."""

from ._errors import UnsupportedError

_WHY = (
    "flambeau records no graph of a program's Python (torch.fx). Call the module as it is; forward "
    "hooks give the values in between, Module.named_modules() the structure"
)


def wrap(fn_or_name):
    """The function or name itself: without tracing there is nothing to keep whole."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


def _refused(name):
    def refuse(*args, **kwargs):
        raise UnsupportedError(f"torch.fx.{name} is unsupported: {_WHY}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Unsupported: see this module."
    return refuse


class _Unmade:
    """A class of which there are no objects, since nothing is traced."""

    def __init__(self, *args, **kwargs):
        _refused(type(self).__name__)()


def _class(name, base=_Unmade):
    return type(name, (base,), {"__doc__": "Unsupported: see this module.", "__module__": __name__})


Graph = _class("Graph")
Node = _class("Node")
Proxy = _class("Proxy")
Tracer = _class("Tracer")
Interpreter = _class("Interpreter")
Transformer = _class("Transformer", Interpreter)


def __getattr__(name):
    if name != "GraphModule":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .nn.modules.module import Module  # only here: fx alone needs no nn

    made = globals()[name] = type(
        name, (_Unmade, Module), {"__doc__": Graph.__doc__, "__module__": __name__}
    )
    return made


symbolic_trace = _refused("symbolic_trace")
replace_pattern = _refused("replace_pattern")
