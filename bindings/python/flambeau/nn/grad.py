"""Gradients of convolutions as functions: by the input, or by the weight.

A convolution is linear in either, so that the gradient is the same wherever it is taken: at 0."""

import functools

from ..autograd import grad as _gradients
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from . import functional as F

__all__ = [f"conv{n}d_{of}" for n in (1, 2, 3) for of in ("input", "weight")]


def _gradient(convolve, size, grad_output, options):
    again = is_grad_enabled()
    at = grad_output.new_zeros(size).requires_grad_()
    with enable_grad():
        result = convolve(at, **options)
    (found,) = _gradients(result, at, grad_output, create_graph=again)
    return found


def _made(n):
    plain = getattr(F, f"conv{n}d")

    def by_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        convolve = functools.partial(plain, weight=weight)
        return _gradient(convolve, input_size, grad_output, options)

    def by_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        convolve = functools.partial(plain, input)
        return _gradient(convolve, weight_size, grad_output, options)

    for function, of in (by_input, "input"), (by_weight, "weight"):
        function.__name__ = function.__qualname__ = f"conv{n}d_{of}"
        function.__doc__ = f"The gradient of `conv{n}d` by its {of}, of this size."
    return {function.__name__: function for function in (by_input, by_weight)}


for _n in (1, 2, 3):
    globals().update(_made(_n))
