"""`PostLocalSGDOptimizer`: an optimizer after each of whose steps a model averager has its turn."""

from ..._deprecated import warn
from ...optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps `optim`, whose groups and state it shows as its own, then averages parameters where the
    averager says so. The averager's count of steps is in the state dict."""

    def __init__(self, optim, averager):
        self._set_hooks()
        self.optim, self.averager = optim, averager
        self.param_groups, self.defaults = optim.param_groups, optim.defaults

    @property
    def state(self):
        return self.optim.state

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        return self.optim.state_dict() | {"step": self.averager.step}

    def load_state_dict(self, state_dict):
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warn(
                "Loaded state dict does not contain a step counter for an averager. "
                "Setting step counter to 0."
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self):
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none=True):
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group):
        self.optim.add_param_group(param_group)
