"""`backward` and `grad`, and the search for NaN on the way: the library's engine from Python."""

from .._call import _NULL, _blocking, _List, _own, _raise, _tensors
from .._deprecated import warn
from .._gen import api, ops
from .._tensor import PASSES, listed, places, run_at_end, run_backward


def _grads(grads, n):
    """Handles of start gradients; None stands for ones."""
    if grads is None:
        return _NULL, 0
    grads = [grads] if hasattr(grads, "_h") else list(grads)
    if len(grads) != n:
        raise RuntimeError(f"got {n} tensors and {len(grads)} gradients")
    return [_NULL if g is None else g._h for g in grads], n


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False,
             grad_variables=None, inputs=None):  # fmt: skip
    """Computes gradients of `tensors` and adds them to the leaves' gradients."""
    tensors = places(tensors)
    grads, n = _grads(grad_tensors if grad_variables is None else grad_variables, len(tensors))
    run_backward(tensors, grads, n, retain_graph, create_graph, inputs)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
         only_inputs=True, allow_unused=None, is_grads_batched=False,
         materialize_grads=False):  # fmt: skip
    """Gradients of `outputs` with respect to `inputs`, as a tuple, or a dictionary of the inputs'
    names; nothing is accumulated. `is_grads_batched`: `grad_outputs` have one more dimension, and
    so have the gradients: one backward pass per row."""
    if isinstance(inputs, dict):
        found = grad(
            *(outputs, list(inputs.values()), grad_outputs, retain_graph, create_graph),
            *(only_inputs, allow_unused, is_grads_batched, materialize_grads),
        )
        return dict(zip(inputs, found))
    asked = listed(inputs)  # once: it may be a generator
    outputs, inputs = places(outputs), places(asked)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    unused = bool(allow_unused) or materialize_grads
    if is_grads_batched:
        found = _by_rows(outputs, inputs, grad_outputs, retain_graph, create_graph, unused)
        return _materialized(found, asked) if materialize_grads else found
    grads, n = _grads(grad_outputs, len(outputs))
    keep = (create_graph if retain_graph is None else retain_graph) or PASSES.keeps
    ends, wanted = [t._h for t in outputs], [t._h for t in inputs]
    given = ends, len(ends), wanted, len(wanted), grads, n, keep, create_graph, unused
    found = _own(_List, _blocking.flam_grad, *given)
    if PASSES.calls:
        run_at_end(found is None)
    if found is None:
        _raise()
    found = _tensors(found)
    return _materialized(found, asked) if materialize_grads else found


def _materialized(grads, inputs):
    zeros = ops.TORCH["zeros_like"]
    if any(g is None and not hasattr(t, "_h") for g, t in zip(grads, inputs)):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    return tuple(zeros(t, requires_grad=True) if g is None else g for g, t in zip(grads, inputs))


def _by_rows(outputs, inputs, grads, retain_graph, create_graph, allow_unused):
    """`grad` for each row of the start gradients, stacked."""
    grads = listed(grads) if grads is not None else [None] * len(outputs)
    given = [g for g in grads if g is not None]
    if not given:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs: is_grads_batched needs "
            "grad_outputs with a dimension of rows"
        )
    for i, (g, y) in enumerate(zip(grads, outputs)):
        if g is not None and (not g.dim() or g.shape[1:] != y.shape or len(g) != len(given[0])):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                f"{y.shape}."
            )
    n, rows = len(given[0]), []
    for i in range(n):
        keep = True if i < n - 1 else retain_graph
        row = [g if g is None else g[i] for g in grads]
        rows.append(grad(outputs, inputs, row, keep, create_graph, allow_unused=allow_unused))
    if not n:
        return tuple(t.new_zeros((0, *t.shape)) for t in inputs)
    stack = ops.TORCH["stack"]
    columns = (list(column) for column in zip(*rows))
    return tuple(None if column[0] is None else stack(column) for column in columns)


class set_detect_anomaly:
    """Whether backward passes look for NaN in every gradient formula's results, and fail with the
    name of the first that returned one. At once, or for a `with` block.

    Errors of tensors written in place name the writing operation without it."""

    def __init__(self, mode, check_nan=True):
        self._before = api.detect_anomaly_enabled()
        api.set_detect_anomaly_enabled(bool(mode and check_nan))

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        api.set_detect_anomaly_enabled(self._before)


class detect_anomaly(set_detect_anomaly):
    """`set_detect_anomaly(True)` for a `with` block; it slows backward passes down."""

    def __init__(self, check_nan=True):
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging."
        )
        self._check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self._check_nan)
