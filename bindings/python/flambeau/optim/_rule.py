"""Optimizers whose step is a rule of the library over lists of tensors.

The library's table says which values and which state a rule has; a group's options are its values.
State is made at a parameter's first step."""

from functools import cache

from .._call import _NULL, _NUMBERS, _fast, _none, _own, _raise, _text
from .._tensor import Tensor
from ._recorded import record
from .optimizer import Optimizer, check, check_betas, check_fused, check_lr

_NOT_NEGATIVE = (
    "alpha initial_accumulator_value lambd lr_decay momentum momentum_decay weight_decay"
).split()
# Options of several values: the first one's name in the library; the others stand behind it.
_SEVERAL = {
    "beta1": ("betas", 2),
    "etaminus": ("etas", 2),
    "step_size_min": ("step_sizes", 2),
    "eps1": ("eps", 2),
    "ns_a": ("ns_coefficients", 3),
}


class _Rule:
    """A rule as the library's table describes it: its number, a group's options in its order, its
    states with the option that each is there for, and which of them are numbers."""

    def __init__(self, name):
        self.number = rule = _fast.flam_rule_find(name.encode())
        values = range(_fast.flam_rule_value_count(rule))
        names = iter([_text(_fast.flam_rule_value_name(rule, i)) for i in values])
        self.options = []
        for name in names:
            option, count = _SEVERAL.get(name, (name, 1))
            self.options.append(option)
            for _ in range(count - 1):
                next(names)
        self.states, self.numbers = [], []
        for i in range(_fast.flam_rule_state_count(rule)):
            name = _text(_fast.flam_rule_state_name(rule, i))
            self.states.append((name, _text(_fast.flam_rule_state_value(rule, i))))
            if _fast.flam_rule_state_is_number(rule, i):
                self.numbers.append(name)
        self.without = set()  # (state, dimension) of parameters that do not have it


_rule = cache(_Rule)


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
    """Base of the rules; `_name` is the library's. `_since`: what options of older state dicts that
    lack them are. `_order`: a group's options, where torch lists them otherwise than the
    constructor."""

    _step_supports_amp_scaling = _elementwise = True
    _name, _since, _order = None, {}, ""
    _cell_names = property(lambda self: _rule(self._name).numbers)

    def __init__(self, params, **options):
        self._check(options)
        super().__init__(params, {k: options[k] for k in self._order.split() or options})

    _check = staticmethod(check_options)

    def _later_options(self):
        return {**self._since, **super()._later_options()}

    def _update(self, group, params, grads, first=False):
        held, values, handles, rule = self.state, self._values(group), [], _rule(self._name)
        states = [held[p] or self._begun(p, values) for p in params]
        for name, option in rule.states:
            if option is not None and not group[option]:
                continue
            try:
                handles += [state[name]._h for state in states]
            except (KeyError, AttributeError):  # the option was set since, or p has no such state
                for p, state in zip(params, states):
                    if state.get(name) is None and (name, p.ndim) not in rule.without:
                        if self._begun(p, values).get(name) is None:
                            rule.without.add((name, p.ndim))
                handles += [s[name]._h for s in states if s.get(name) is not None]
        self._run(params, grads, values, handles, first)

    def _record(self, group, params, grads):
        values = self._values(group)
        for p, grad in zip(params, grads):
            record(self._name, p, grad, self._recorded(p, values), group)

    def _recorded(self, p, values):
        return self._begun(p, values)

    def _values(self, group):
        """The rule's values, of the group's options."""
        values = []
        for name in _rule(self._name).options:
            value = group[name]
            if value.__class__ in _NUMBERS:
                values.append(value)
            elif value.__class__ in (tuple, list):
                values += value
            else:
                values.append(float(value.detach() if isinstance(value, Tensor) else value))
        return values

    def _begun(self, p, values):
        """The parameter's state, with what is not there yet."""
        rule, state = _rule(self._name), self.state[p]
        part = getattr(p, "_local_tensor", p)
        for i, (name, _) in enumerate(rule.states):
            if state.get(name) is None:
                made = (rule.number, i, part._h, values, len(values))
                found = _own(Tensor, _fast.flam_rule_state_new, *made)
                if found is None:
                    _none()
                else:
                    alone = part is p or name in rule.numbers
                    state[name] = found if alone else p._with_local(found)
        return state

    def _run(self, params, grads, values, states, first=False):
        """Calls the library's step; a GradScaler's cells go with it: what gradients are divided by,
        and whether to do nothing."""
        cells = (getattr(self, name, None) for name in ("grad_scale", "found_inf"))
        p, count = params[0], len(params)
        self._cells = [c if c is None else c.to(p.device, non_blocking=True) for c in cells]
        if _fast.flam_rule_step(
            _rule(self._name).number,
            *([p._h for p in params], count, [g._h for g in grads], count),
            *(values, len(values), states, len(states), first),
            *[_NULL if c is None else c._h for c in self._cells],
        ):
            _raise()
