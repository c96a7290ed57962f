"""`torch.compile` and `torch.compiler`: models run as they are written.

`compile` returns its argument and says so once; everything else here describes that state."""

from ._deprecated import warn_once

_STANCES = tuple(
    "default force_eager eager_on_recompile fail_on_recompile eager_then_compile "
    "aot_eager_then_compile".split()
)


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None,
            options=None, disable=False, **more):  # fmt: skip
    """The model itself; as a decorator with settings, the function itself. A warning says so once
    in a process."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return lambda found: compile(found, disable=disable)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if not disable:
        warn_once("torch.compile: flambeau has no compiler and runs the model as it is written")
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself: nothing is compiled."""
    return fn if fn is not None else lambda found: found


def allow_in_graph(fn):
    """The function itself: there is no graph."""
    return fn


assume_constant_result = allow_in_graph


def is_compiling():
    """Whether a compiler is reading the program: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset():
    """Forgets compiled code, of which there is none."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of compilers: none."""
    return []


class set_stance:
    """How compiled code is to be used: as a call, a block or a decorator; there is none."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance: {stance}; there are {_STANCES}")

    def __call__(self, fn):
        return fn

    def __enter__(self):
        pass

    def __exit__(self, *problem):
        pass


def cudagraph_mark_step_begin():
    """Says that a step begins; nothing depends on it."""
