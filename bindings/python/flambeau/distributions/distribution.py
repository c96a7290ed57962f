"""What all distributions share: batch and event shapes, checks of parameters and values, and the
operations that a distribution may leave out."""

import functools

from .. import _torch as torch
from .._deprecated import warn
from . import constraints


class lazy_property(functools.cached_property):  # noqa: N801: torch's name
    """A value computed once, with its history even where the first use wants none."""

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            return super().__get__(instance, owner)


class Distribution:
    """A distribution per element of the batch, each over values of `event_shape`.

    `arg_constraints` says what parameters must satisfy; they are checked unless `validate_args` is
    False or `set_default_validate_args(False)` was called."""

    has_rsample = False
    has_enumerate_support = False
    _own = ()  # what is expanded with the batch: tensors that begin with its shape, distributions
    _kept = ()  # what an expanded distribution has as this one has it
    _validate_args = True

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments unless told."""
        if value not in (True, False):
            raise ValueError("set_default_validate_args takes True or False")
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = bool(validate_args)
        if self._validate_args:
            self._check_parameters()
        super().__init__()  # a program's own may have other bases too

    def _begin(self, validate_args, **parameters):
        """Begins a distribution of numbers by its parameters, numbers or tensors that broadcast to
        the batch's shape."""
        held = broadcast(*parameters.values())
        self.__dict__.update(zip(parameters, held), _own=tuple(parameters))
        Distribution.__init__(self, held[0].size(), (), validate_args)

    @property
    def arg_constraints(self):
        """What each parameter must satisfy, by name."""
        raise NotImplementedError

    def _declared(self, name, purpose, otherwise=None):
        """An attribute that a program's own kind may lack; then nothing is checked against it."""
        try:
            return getattr(self, name)
        except NotImplementedError:
            warn(f"{type(self)} does not define `{name}`{purpose}")
            return otherwise

    def _check_parameters(self):
        purpose = (
            ". Please set `arg_constraints = {}` or initialize the distribution with "
            "`validate_args=False` to turn off validation."
        )
        constrained = self._declared("arg_constraints", purpose, {})
        for name, constraint in constrained.items():
            # A parameter computed from another one on demand is right if that one is.
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (lazy and name not in self.__dict__):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {constraint!r}, but found "
                    f"invalid values:\n{_shown(value)}"
                )

    batch_shape = property(lambda self: self._batch_shape)
    event_shape = property(lambda self: self._event_shape)

    @property
    def support(self):
        """The values it can take."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """A sample per element of the batch, and `sample_shape` of them; no gradient."""
        with torch.no_grad():
            return self._drawn(sample_shape)

    def _drawn(self, sample_shape):
        return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """A sample as a differentiable function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """n samples."""
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density or the probability at `value`."""
        self._checked(value)
        return self._log_prob(value)

    def cdf(self, value):
        """The probability of values up to `value`."""
        self._checked(value)
        return self._cdf(value)

    def _log_prob(self, value):
        raise NotImplementedError

    _cdf = _log_prob

    def icdf(self, value):
        """The inverse of `cdf`."""
        raise NotImplementedError

    def entropy(self):
        """The expected negative log-probability."""
        raise NotImplementedError

    def perplexity(self):
        """e to the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand=True):
        """All values of a distribution over few."""
        raise NotImplementedError

    def expand(self, batch_shape, _instance=None):
        """The same distribution with its batch expanded."""
        if not self._own:
            raise NotImplementedError
        batch, held = len(self._batch_shape), {}
        for name in self._own:
            value = getattr(self, name)
            events = value.shape[batch:] if isinstance(value, torch.Tensor) else ()
            held[name] = value.expand(torch.Size((*batch_shape, *events)))
        held.update((name, getattr(self, name)) for name in ("_own", *self._kept))
        return self._like(batch_shape, _instance, **held)

    def _get_checked_instance(self, cls, _instance=None):
        """The object that `expand` fills in: a kind with an `__init__` of its own makes it."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _like(self, batch_shape, _instance=None, **parameters):
        """A distribution of the same kind with other parameters, which are known to be valid."""
        own = type(self).__init__.__module__.startswith(__package__)
        kind = next(k for k in type(self).__mro__ if own or "expand" in k.__dict__)
        made = self._get_checked_instance(kind, _instance)
        made.__dict__.update(parameters)
        Distribution.__init__(made, batch_shape, self._event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def _extended_shape(self, sample_shape=()):
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _noise(self, draw, sample_shape, like):
        """What `draw`, such as torch.rand, gives in the shape of a sample and `like`'s dtype."""
        shape = self._extended_shape(sample_shape)
        return draw(shape, dtype=like.dtype, device=like.device)

    def _listed(self, values, expand):
        """All values that there are, as `enumerate_support` gives them."""
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def _checked(self, value):
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = value.dim() - len(self._event_shape)
        if tuple(value.shape[max(events, 0) :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for own, other in zip(reversed(value.shape), reversed(expected)):
            if own != other and own != 1 and other != 1:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {expected}."
                )
        purpose = (
            " to enable sample validation. Please initialize the distribution with "
            "`validate_args=False` to turn off validation."
        )
        support = self._declared("support", purpose)
        if support is not None and not support.check(value).all():
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n"
                f"{_shown(value)}"
            )

    def _shown_parameters(self):
        try:
            constrained = self.arg_constraints
        except NotImplementedError:
            return []
        return [name for name in constrained if name in self.__dict__]

    def __repr__(self):
        given = [(name, getattr(self, name)) for name in self._shown_parameters()]
        parts = (f"{name}: {t.item() if t.numel() == 1 else t.size()}" for name, t in given)
        return f"{type(self).__name__}({', '.join(parts)})"


def _shown(value):
    return str(value.item()) if value.dim() == 0 else str(value)


def sum_rightmost(value, dims):
    """The sum over the last `dims` dimensions."""
    return value.flatten(value.dim() - dims).sum(-1) if dims else value


def broadcast(*values):
    """Numbers and tensors as tensors of one shape."""
    if not all(isinstance(v, (int, float, torch.Tensor)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    options = {"dtype": torch.get_default_dtype()}
    for model in values:
        if isinstance(model, torch.Tensor):
            options = {"dtype": model.dtype, "device": model.device}
            break
    made = [v if isinstance(v, torch.Tensor) else torch.tensor(v, **options) for v in values]
    return tuple(torch.broadcast_tensors(*made))


def probs_or_logits(probs, logits):
    """The name of the one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return "logits" if probs is None else "probs"


def clamped(probs):
    """Probabilities that a logarithm can take."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)
