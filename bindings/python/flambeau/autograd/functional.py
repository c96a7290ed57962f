"""Products with Jacobians and Hessians of functions of tensors, and the matrices themselves, by
backward passes only: `jvp` and `hvp` differentiate a backward pass once more."""

from .._gen import ops
from .._tensor import Tensor
from ._backward import grad
from .grad_mode import enable_grad, is_grad_enabled, set_grad_enabled

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

_OUTPUTS = "outputs of the user-provided function"
_MISSING = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor "
    "with a single element."
)
_INDEPENDENT = {  # of a strict product that found no gradient
    "back": "The output of the user-provided function is independent of input {}. This is not "
    "allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. This is "
    "not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This "
    "is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in "
    "the grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
    "backward trick to replace forward mode AD.",
    "row": "Output {1} of the user-provided function is independent of input {0}. This is not "
    "allowed in strict mode.",
}
_CONSTANT = {  # of a strict call that met a tensor without history
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the "
    "user-provided function. This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {} is independent of the input. This is not allowed in strict "
    "mode. You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent "
    "of the input. This is not allowed in strict mode. You should ensure that your function is "
    "thrice differentiable and that the hessian depends on the inputs.",
}


def _listed(value, what, name):
    """Whether a value is a tuple, and its tensors as one."""
    several = isinstance(value, tuple)
    found = value if several else (value,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            entry = f"value at index {i} has" if several else f"given {what} has"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but "
                f"the {entry} type {type(t)}."
            )
    return several, found


def _fresh(tensors, create_graph, need_graph=True):
    """Tensors of our own, so that one the function captured is not taken for its argument."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph)
        for t in tensors
    )


def _require_history(tensors, what, strict):
    if not strict:
        return
    for i, t in enumerate(tensors):
        if t is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i))
        if not t.requires_grad:
            raise RuntimeError(_CONSTANT[what].format(i))


def _gradients(outputs, inputs, grads=None, create_graph=False, retain_graph=None):
    """`grad` of those outputs that have a history."""
    grads = (None,) * len(outputs) if grads is None else grads
    pairs = [(y, g) for y, g in zip(outputs, grads) if y is not None and y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, grads = zip(*pairs)
    return grad(outputs, inputs, grads, retain_graph, create_graph, allow_unused=True)


def _zero_filled(grads, like, strict, create_graph, stage, row=None):
    """Zeros for what is missing; errors name the input, or the output that `row` is of."""
    found = []
    for i, g in enumerate(grads):
        if g is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(i, row))
            g = _zeros(like[i])
        elif strict and create_graph and not g.requires_grad:
            which = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {which} of the user-provided function is independent of input "
                f"{i if row is None else row}. This is not allowed in strict mode when "
                "create_graph=True."
            )
        found.append(g)
    return tuple(found)


def _zeros(like, requires_grad=False):
    return ops.TORCH["zeros_like"](like).requires_grad_(requires_grad)


def _given(tensors, create_graph, several):
    """What the caller gets: without history unless asked for, and no tuple where none came."""
    found = tuple(t if create_graph else t.detach() for t in tensors)
    return found if several else found[0]


def _vector(v, like, several, name, create_graph, missing):
    """The vector of a product, checked against what it multiplies."""
    if v is None:
        if len(like) != 1 or like[0].nelement() != 1:
            raise RuntimeError(missing)
        return None
    _, v = _listed(v, "v", name)
    if len(v) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for i, (own, other) in enumerate(zip(v, like)):
        if own.size() != other.size():
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {other.size()} but got {own.size()}."
            )
    return _fresh(v, create_graph, False)


def _product(outputs, inputs, v, like, stage, strict, create_graph):
    """The gradients that are the product, with zeros, in the shape of `like`, for those missing."""
    with set_grad_enabled(True if create_graph else is_grad_enabled()):
        found = _gradients(outputs, inputs, v, create_graph)
        return _zero_filled(found, like, strict, create_graph, stage)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, and the product of a vector and its Jacobian."""
    with enable_grad():
        several_in, inputs = _listed(inputs, "inputs", "vjp")
        inputs = _fresh(inputs, create_graph)
        several_out, outputs = _listed(func(*inputs), _OUTPUTS, "vjp")
        _require_history(outputs, "outputs", strict)
        missing = (
            "The vector v can only be None if the user-provided function returns a single Tensor "
            "with a single element."
        )
        v = _vector(v, outputs, several_out, "vjp", create_graph, missing)
    product = _product(outputs, inputs, v, inputs, "back", strict, create_graph)
    return _given(outputs, create_graph, several_out), _given(product, create_graph, several_in)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, and the product of its Jacobian and a vector: the gradient, in the vector
    that it multiplies, of a backward pass."""
    with enable_grad():
        several_in, inputs = _listed(inputs, "inputs", "jvp")
        inputs = _fresh(inputs, create_graph)
        v = _vector(v, inputs, several_in, "jvp", create_graph, _MISSING)
        several_out, outputs = _listed(func(*inputs), _OUTPUTS, "jvp")
        _require_history(outputs, "outputs", strict)
        dual = tuple(_zeros(y, True) for y in outputs)
        slopes = _gradients(outputs, inputs, dual, create_graph=True)
        _require_history(slopes, "grad_inputs", strict)
    product = _product(slopes, dual, v, outputs, "back_trick", strict, create_graph)
    return _given(outputs, create_graph, several_out), _given(product, create_graph, several_out)


def _row(element, inputs, create_graph, strict, i):
    """Gradients of one element of output `i`, zeros where it depends on none."""
    found = _gradients((element,), inputs, None, create_graph, retain_graph=True)
    return _zero_filled(found, inputs, strict, create_graph, "row", i)


def _matrices(rows, output, inputs):
    """A Jacobian per input, of its rows: one per element of the output, of gradients by all."""
    shapes = [output.shape + x.shape for x in inputs]
    if not rows:
        return [x.new_zeros(shape) for x, shape in zip(inputs, shapes)]
    stack = ops.TORCH["stack"]
    return [stack(column).view(shape) for column, shape in zip(zip(*rows), shapes)]


def _jacobian_of(i, output, inputs, create_graph, strict):
    flat = output.reshape(-1)
    rows = [_row(flat[j], inputs, create_graph, strict, i) for j in range(output.nelement())]
    return _matrices(rows, output, inputs)


def _check_strategy(strategy, strict, vectorize):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        raise NotImplementedError(
            'forward-mode automatic differentiation is not supported; use strategy="reverse-mode"'
        )
    if vectorize and strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The Jacobian of `func` at `inputs`, one backward pass per element of its outputs
    (`vectorize` changes nothing about that); nested tuples where outputs or inputs are."""
    _check_strategy(strategy, strict, vectorize)
    with enable_grad():
        several_in, inputs = _listed(inputs, "inputs", "jacobian")
        inputs = _fresh(inputs, create_graph)
        several_out, outputs = _listed(func(*inputs), _OUTPUTS, "jacobian")
        _require_history(outputs, "outputs", strict)
        found = tuple(
            _given(_jacobian_of(i, y, inputs, create_graph, strict), create_graph, several_in)
            for i, y in enumerate(outputs)
        )
    return found if several_out else found[0]


def _single(out, name, strict):
    """The one element that a function with a Hessian returns."""
    several, outputs = _listed(out, _OUTPUTS, name)
    _require_history(outputs, "outputs", strict)
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if out.nelement() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return out


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False,
            outer_jacobian_strategy="reverse-mode"):  # fmt: skip
    """The Hessian of a function that returns one element; nested tuples where inputs are one."""
    several, inputs = _listed(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def slopes(*xs):
        found = jacobian(
            lambda *own: _single(func(*own), "hessian", strict).squeeze(), xs, create_graph=True
        )
        _require_history(found, "jacobian", strict)
        return found

    found = jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]


def _slopes_of(func, inputs, v, create_graph, strict, name):
    """What both products with a Hessian begin with."""
    several, inputs = _listed(inputs, "inputs", name)
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, name, create_graph, _MISSING)
    out = _single(func(*inputs), name, strict)
    slopes = _gradients((out,), inputs, create_graph=True)
    _require_history(slopes, "jacobian", strict)
    return several, inputs, v, out, slopes


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, one element, and the product of a vector and its Hessian."""
    with enable_grad():
        several, inputs, v, out, slopes = _slopes_of(func, inputs, v, create_graph, strict, "vhp")
    product = _product(slopes, inputs, v, inputs, "double_back", strict, create_graph)
    return _given((out,), create_graph, False), _given(product, create_graph, several)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, one element, and the product of its Hessian and a vector, by differentiating
    a second backward pass; `vhp` is cheaper where the Hessian is symmetric."""
    with enable_grad():
        several, inputs, v, out, slopes = _slopes_of(func, inputs, v, create_graph, strict, "hvp")
        dual = tuple(_zeros(x, True) for x in inputs)
        double = _gradients(slopes, inputs, dual, create_graph=True)
        _require_history(slopes, "hessian", strict)
    product = _product(double, dual, v, inputs, "double_back_trick", strict, create_graph)
    return _given((out,), create_graph, False), _given(product, create_graph, several)
