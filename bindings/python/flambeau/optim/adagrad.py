"""Adagrad, one fused step per group. Source: Duchi, Hazan and Singer, 2011, JMLR 12."""

from ._rule import RuleOptimizer, arguments
from ._state import cell


class Adagrad(RuleOptimizer):
    """Steps by the gradient over the root of the sum of its squares."""

    _name = "Adagrad"
    _step_supports_amp_scaling = True
    _order = (
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
        "differentiable fused"
    )

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0,
                 eps=1e-10, foreach=None, *, maximize=False, differentiable=False,
                 fused=None):  # fmt: skip
        super().__init__(**arguments(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                self._begun(p, self._values(group))

    def share_memory(self):
        """Lets other processes see the sums."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _values(self, group):  # sums begin with the constructor's value, whatever a group says
        name = "initial_accumulator_value"
        return super()._values({**group, name: self.defaults[name]})

    def _update(self, group, params, grads):
        for p in params:
            state = self.state[p] or self._begun(p, self._values(group))
            if state["step"].device != p.device:  # made before the model moved
                state["step"], state["sum"] = cell(state["step"], p), state["sum"].to(p.device)
        super()._update(group, params, grads)
