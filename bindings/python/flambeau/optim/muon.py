"""Muon: momentum whose matrix is made orthogonal before it is the step, for matrices only. Source:
Jordan et al., 2024, https://kellerjordan.github.io/posts/muon; the learning rates' adjustments: Liu
et al., arXiv 2502.16982."""

from ._rule import RuleOptimizer, arguments
from .optimizer import check_single

_ADJUSTMENTS = ("original", "match_rms_adamw", "spectral_unclamped")  # flam_muon_adjustment, from 1


class Muon(RuleOptimizer):
    """Steps by the nearest (almost) orthogonal matrix to the momentum; other parameters than
    matrices need another optimizer."""

    _name = "Muon"
    _elementwise = False
    _step_supports_amp_scaling = False

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None):  # fmt: skip
        super().__init__(**arguments(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.size()}"
                    )

    @staticmethod
    def _check(options):
        lr, adjust = options["lr"], options["adjust_lr_fn"]
        check_single(lr)
        for name, value in (
            ("Learning rate", lr),
            ("momentum", options["momentum"]),
            ("weight decay", options["weight_decay"]),
        ):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust is not None and adjust not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust} is not supported; there are "
                + ", ".join(_ADJUSTMENTS)
            )

    def _values(self, group):
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        form = _ADJUSTMENTS.index(group["adjust_lr_fn"] or "original") + 1
        return super()._values({**group, "adjust_lr_fn": form})
