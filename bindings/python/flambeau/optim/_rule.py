"""Optimizers that are one fused step of the library over lists of tensors, as tables.

A rule names the library's function, the state it takes and how each begins, and the options of a
group that follow the lists, all in the function's order. State is made at a parameter's first
step."""

from .._call import _NUMBERS
from ._state import cell
from .optimizer import Optimizer, check, check_betas, check_fused, check_lr, full_like, run

_NOT_NEGATIVE = (
    *("alpha", "initial_accumulator_value", "lambd", "lr_decay", "momentum", "momentum_decay"),
    "weight_decay",
)


def arguments(found):
    """What a constructor was given, of its `locals()`."""
    return {k: v for k, v in found.items() if k not in ("self", "__class__")}


def check_options(options):
    """Raises torch's text where an option that all rules understand alike is out of range."""
    check_lr(options["lr"])
    if "eps" in options:
        check("epsilon value", options["eps"], 0.0 <= options["eps"])
    if "betas" in options:
        check_betas(options["betas"])
    for name in _NOT_NEGATIVE:
        if name in options:
            check(f"{name} value", options[name], 0.0 <= options[name])
    if "fused" in options:
        check_fused(options["fused"], options["foreach"], options["differentiable"])


class RuleOptimizer(Optimizer):
    """Base of the rules. `_first` gives each state's start, a number or an option's name; those of
    `_cell_names` are cells, the others tensors like the parameter. `_optional` names the option
    that a state is there for. `_since`: what options of older state dicts that lack them are.
    `_order`: a group's options, where torch lists them otherwise than the constructor."""

    _step_supports_amp_scaling = True
    _function = None
    _lists, _numbers, _first, _optional, _since, _order = (), (), {}, {}, {}, ""

    def __init__(self, params, **options):
        check_options(options)
        super().__init__(params, {k: options[k] for k in self._order.split() or options})

    def _later_options(self):
        return {**self._since, **super()._later_options()}

    def _update(self, group, params, grads):
        optional, held = self._optional, self.state
        kept = [name for name, option in optional.items() if group[option]] if optional else ()
        states = [held[p] or self._begun(p, group, kept) for p in params]
        for name in kept:  # the option may have been set since
            for p, state in zip(params, states):
                if name not in state:
                    self._begun(p, group, kept)
        lists = [
            [s[name] for s in states] if name in kept or name not in optional else []
            for name in self._lists
        ]
        numbers = []
        for name in self._numbers:
            value = group[name]
            if value.__class__ in _NUMBERS:
                numbers.append(value)
            elif value.__class__ in (tuple, list):
                numbers += value
            else:
                numbers.append(float(value))
        run(self, self._function, params, grads, lists, *numbers)

    def _begun(self, p, group, kept=()):
        """The parameter's state, with what is not there yet."""
        state = self.state[p]
        for name, first in self._first.items():
            if name not in state and (name in kept or name not in self._optional):
                value = group[first] if isinstance(first, str) else first
                state[name] = (cell if name in self._cell_names else _like)(value, p)
        return state


def _like(value, p):
    return full_like(p, value)
