"""Pruning: a parameter becomes `<name>_orig` times the buffer `<name>_mask`, multiplied before
every forward, until `remove` makes it permanent."""

import numbers
from abc import ABC, abstractmethod

from ..._on_demand import called as _called
from ..._torch import ones_like, rand, rand_like, tensor
from ..modules import Module
from .convert_parameters import parameters_to_vector


def _deciding(given, tensor, what):
    """What decides about each entry of a tensor: its values, unless scores are given."""
    if given is None or given.shape == tensor.shape:
        return tensor if given is None else given
    raise AssertionError(
        f"importance_scores should have the same shape as {what}, got {given.shape} vs "
        f"{tensor.shape}"
    )


class BasePruningMethod(ABC):
    """A way to choose what is left out; subclasses define `compute_mask` and `PRUNING_TYPE`."""

    _tensor_name = None
    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for `t`, on top of `default_mask`."""

    def apply_mask(self, module):
        """The pruned tensor."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes `module.<name>`, on top of what was pruned before."""
        method = _after_earlier(cls(*args, **kwargs), module, name)
        again = isinstance(method, PruningContainer)
        current = getattr(module, name)
        scores = _deciding(importance_scores, current, f"parameter {name} of {module}")
        before = getattr(module, name + "_mask").clone() if again else ones_like(current)
        mask = method.compute_mask(scores.detach(), default_mask=before.detach())
        for key, _ in _hooks(module, name):
            del module._forward_pre_hooks[key]
        if not again:
            delattr(module, name)
            module.register_parameter(name + "_orig", current)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A pruned copy of a tensor."""
        scores = _deciding(importance_scores, t, "tensor t")
        before = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=before)

    def remove(self, module):
        """Makes the pruning permanent."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module).detach()
        original = getattr(module, name + "_orig")
        for each in name, name + "_orig", name + "_mask":
            delattr(module, each)
        original.data = weight
        setattr(module, name, original)


def _hooks(module, name):
    hooks = module._forward_pre_hooks.items()
    return [(k, h) for k, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]


def _after_earlier(method, module, name):
    """The method alone, or after those that pruned this tensor before."""
    method._tensor_name = name
    earlier = [hook for _, hook in _hooks(module, name)]
    if not earlier:
        return method
    before = earlier[0] if isinstance(earlier[0], PruningContainer) else earlier[:1]
    return PruningContainer(*before, method)


class PruningContainer(BasePruningMethod):
    """Several methods of one tensor, one after the other."""

    def __init__(self, *args):
        self._pruning_methods = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds one more."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            kept = mask.sum([d for d in range(t.dim()) if d != dim]) != 0
            left = (slice(None),) * dim + (kept,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        found = mask.clone()
        part = method.compute_mask(t[left], default_mask=mask[left])
        found[left] = part.to(dtype=found.dtype)
        return found


class Identity(BasePruningMethod):
    """Leaves nothing out."""

    def compute_mask(self, t, default_mask):
        return default_mask


def _validate_pruning_amount_init(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount, tensor_size):
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _compute_nparams_toprune(amount, tensor_size):
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _Amount(BasePruningMethod):
    """Leaves out a number of entries, or a share of them."""

    def __init__(self, amount):
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


def _lowest(scores, count):
    """Where the `count` least scores are."""
    values = scores.reshape(-1).tolist()
    return tensor(sorted(range(len(values)), key=values.__getitem__)[:count], device=scores.device)


class _Unstructured(_Amount):
    def compute_mask(self, t, default_mask):
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[_lowest(self._scores(t), count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Leaves out entries at random."""

    def _scores(self, t):
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Leaves out the entries nearest to 0."""

    def _scores(self, t):
        return t.abs()


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        mask = default_mask.clone()
        dropped = _lowest(self._scores(t, size), count)
        mask[(slice(None),) * (self.dim % t.dim()) + (dropped,)] = 0
        return mask


class RandomStructured(_Structured):
    """Leaves out slices along `dim` at random."""

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t, size):
        return rand(size, device=t.device)


class LnStructured(_Structured):
    """Leaves out the slices along `dim` with the least norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _scores(self, t, size):
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return t.norm(2 if self.n == "fro" else self.n, others)


class CustomFromMask(BasePruningMethod):
    """Leaves out what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _pruning(method, shown, doc):
    def prune(module, name, *options, **scores):
        method.apply(module, name, *options, **scores)
        return module

    return _called(prune, shown, doc)


for _method, _shown, _doc in (
    (Identity, "identity", "Prepares a parameter for pruning and leaves nothing out."),
    (RandomUnstructured, "random_unstructured", "Leaves out entries at random."),
    (L1Unstructured, "l1_unstructured", "Leaves out entries nearest to 0 or of the least scores."),
    (RandomStructured, "random_structured", "Leaves out slices along `dim` at random."),
    (LnStructured, "ln_structured", "Leaves out the slices along `dim` with the least norm."),
    (CustomFromMask, "custom_from_mask", "Leaves out what a mask says."),
):
    globals()[_shown] = _pruning(_method, _shown, _doc)


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several parameters as if they were one vector."""
    parameters, scores = list(parameters), importance_scores or {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    tensors = [getattr(module, name) for module, name in parameters]
    values = [scores.get(key, t).detach() for key, t in zip(parameters, tensors)]
    places = list(zip(parameters, tensors))
    masks = [getattr(m, name + "_mask", ones_like(t).detach()) for (m, name), t in places]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container = PruningContainer()
    container.add_pruning_method(method)
    mask = container.compute_mask(parameters_to_vector(values), parameters_to_vector(masks))
    for ((module, name), t), part in zip(places, mask.split([t.numel() for t in tensors])):
        CustomFromMask.apply(module, name, part.view_as(t))


def remove(module, name):
    """Makes the pruning of a parameter permanent."""
    for key, hook in _hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module):
    """Whether a module or one inside it is pruned."""
    if not isinstance(module, Module):
        raise TypeError(f"{type(module).__name__} is not a Module")
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
