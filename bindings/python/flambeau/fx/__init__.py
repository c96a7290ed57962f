"""`torch.fx`: symbolic tracing is unsupported and says so; `wrap` and the classes that programs
test with `isinstance` exist, so that a program which only mentions them runs."""

from .. import _refused

_WHY = (
    "flambeau records no graph of a program's Python. Call the module as it is; forward hooks give "
    "the values in between, Module.named_modules() the structure"
)


def wrap(fn_or_name):
    """The function or name itself: without tracing there is nothing to keep whole."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


_NAMES = (
    "Graph Node Proxy Tracer Interpreter Transformer(Interpreter) symbolic_trace replace_pattern"
)
globals().update(_refused.names("torch.fx", _NAMES, _WHY))


def __getattr__(name):
    if name != "GraphModule":
        raise AttributeError(f"module 'torch.fx' has no attribute {name!r}")
    from ..nn.modules.module import Module  # only here: fx alone needs no nn

    made = globals()[name] = _refused.kind("torch.fx", name, _WHY, Module)
    return made
