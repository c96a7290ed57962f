"""Optimizers that are one fused step of the library over lists of tensors.

A rule names the library's function, the state it takes (in the function's order), how a parameter's
state begins, and the numbers of a group that follow the lists. State is made at a parameter's first
step."""

from .optimizer import Optimizer, run


class RuleOptimizer(Optimizer):
    """Base of the rules; a subclass sets `_function` and `_lists` and defines `_first_state` and
    `_numbers`."""

    _step_supports_amp_scaling = True
    _function = None
    _lists = ()

    def _first_state(self, p, group):
        """The state of a parameter that has not stepped yet, by name."""
        raise NotImplementedError

    def _numbers(self, group):
        """The options of a group, as the function takes them."""
        raise NotImplementedError

    def _update(self, group, params, grads):
        states = [self._state_of(p, group) for p in params]
        lists = [[s[name] for s in states] for name in self._lists]
        run(self, type(self)._function, params, grads, lists, *self._numbers(group))

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state.update(self._first_state(p, group))
        return state
