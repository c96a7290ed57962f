"""Adafactor: Adam's second moment kept as one row and one column per matrix. Source: Shazeer and
Stern, 2018, arXiv 1804.04235; `lr` bounds the relative step, and epsilon stands where torch puts
it."""

from math import nan

from ._rule import RuleOptimizer, arguments
from .optimizer import check_single


class Adafactor(RuleOptimizer):
    """Steps relative to the parameter's size, by factored second moments, with clipping."""

    _name = "Adafactor"
    _elementwise = False
    _step_supports_amp_scaling = False

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0,
                 *, foreach=None, maximize=False):  # fmt: skip
        super().__init__(**arguments(locals()))

    @staticmethod
    def _check(options):
        lr, eps = options["lr"], options["eps"]
        check_single(lr)
        for text, value, bound, sign in (
            ("Learning rate should be >= 0", lr, 0.0, 1),
            ("beta2_decay should be <= 0", options["beta2_decay"], 0.0, -1),
            ("epsilon1 should be >= 0", eps[0] or 0.0, 0.0, 1),
            ("epsilon2 should be >= 0", eps[1], 0.0, 1),
            ("Clipping threshold d should be >= 1", options["d"], 1.0, 1),
            ("weight_decay should be >= 0", options["weight_decay"], 0.0, 1),
        ):
            if not bound * sign <= value * sign:
                raise ValueError(f"{text} but is: {value}")

    def _values(self, group):
        least, size = group["eps"]  # None is the dtype's own
        return super()._values({**group, "eps": (nan if least is None else least, size)})
