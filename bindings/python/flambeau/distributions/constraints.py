"""Sets that parameters and values must lie in; `check` gives a bool per element, or per array of
the last `event_dim` dimensions."""

from .. import _torch as torch

__all__ = (
    "Constraint MixtureSameFamilyConstraint boolean cat corr_cholesky dependent "
    "dependent_property greater_than greater_than_eq half_open_interval independent "
    "integer_interval interval is_dependent less_than lower_cholesky lower_triangular multinomial "
    "nonnegative nonnegative_integer one_hot positive positive_definite positive_integer "
    "positive_semidefinite real real_vector simplex square stack symmetric unit_interval"
).split()


class Constraint:
    """A set of numbers or vectors."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__ + "()"


class Dependent(Constraint):
    """A set that depends on the other parameters; what is known of it without them is given."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._known = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _fact(self, name):
        if self._known[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._known[name]

    is_discrete = property(lambda self: self._fact("is_discrete"))
    event_dim = property(lambda self: self._fact("event_dim"))

    def __call__(self, **known):
        return Dependent(**{**self._known, **known})

    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")


class DependentProperty(property, Dependent):
    """A property of an object that stands for a dependent set on its class."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        property.__init__(self, fn)
        Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        return DependentProperty(fn, **self._known)


def is_dependent(constraint):
    """Whether the set depends on parameters."""
    return isinstance(constraint, Dependent)


class _Bounded(Constraint):
    """A set with bounds, which are shown."""

    def __init__(self, **bounds):
        self.__dict__.update(bounds)

    def __repr__(self):
        shown = ", ".join(f"{name}={_shown(bound)}" for name, bound in self.__dict__.items())
        return f"{type(self).__name__}({shown})"


def _shown(bound):
    return bound.item() if isinstance(bound, torch.Tensor) and bound.numel() == 1 else bound


class _Above(_Bounded):
    def __init__(self, lower_bound):
        super().__init__(lower_bound=lower_bound)


class _Below(_Bounded):
    def __init__(self, upper_bound):
        super().__init__(upper_bound=upper_bound)


class _Between(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        super().__init__(lower_bound=lower_bound, upper_bound=upper_bound)


def _set(base=Constraint, **facts):
    """Makes the function below, which is the check and says in words what it checks, a set."""

    def make(check):
        members = {"check": check, "__doc__": check.__doc__, "__module__": __name__, **facts}
        return type(check.__name__, (base,), members)

    return make


def _whole(value):
    return value % 1 == 0


@_set()
def Real(self, value):
    """Every number but NaN."""
    return value == value


@_set(is_discrete=True)
def Boolean(self, value):
    """0 and 1."""
    return (value == 0) | (value == 1)


@_set(_Above)
def GreaterThan(self, value):
    """Numbers above a bound."""
    return value > self.lower_bound


@_set(GreaterThan)
def GreaterThanEq(self, value):
    """Numbers from a bound on."""
    return value >= self.lower_bound


@_set(_Below)
def LessThan(self, value):
    """Numbers below a bound."""
    return value < self.upper_bound


@_set(_Between)
def Interval(self, value):
    """Numbers between two bounds, which belong to it."""
    return (value >= self.lower_bound) & (value <= self.upper_bound)


@_set(Interval)
def HalfOpenInterval(self, value):
    """Numbers from a bound on and below another."""
    return (value >= self.lower_bound) & (value < self.upper_bound)


@_set(Interval, is_discrete=True)
def IntegerInterval(self, value):
    """Whole numbers between two bounds, which belong to it."""
    return _whole(value) & Interval.check(self, value)


@_set(GreaterThanEq, is_discrete=True)
def IntegerGreaterThan(self, value):
    """Whole numbers from a bound on."""
    return _whole(value) & (value >= self.lower_bound)


@_set(LessThan, is_discrete=True)
def IntegerLessThan(self, value):
    """Whole numbers up to a bound."""
    return _whole(value) & (value <= self.upper_bound)


@_set(event_dim=1)
def Simplex(self, value):
    """Vectors of numbers that are not negative and sum to 1."""
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


@_set(is_discrete=True, event_dim=1)
def OneHot(self, value):
    """Vectors with a single 1, else 0."""
    return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


@_set(_Below, is_discrete=True, event_dim=1, __repr__=Constraint.__repr__)
def Multinomial(self, value):
    """Vectors of counts whose sum is at most `upper_bound`."""
    return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


@_set(event_dim=2)
def LowerTriangular(self, value):
    """Square matrices with 0 above the diagonal."""
    return (value.tril() == value).flatten(-2).all(-1)


@_set(LowerTriangular)
def LowerCholesky(self, value):
    """Lower triangles with a positive diagonal."""
    above = value.diagonal(dim1=-2, dim2=-1) > 0
    return LowerTriangular.check(self, value) & above.all(-1)


@_set(LowerCholesky)
def CorrCholesky(self, value):
    """Lower triangles with a positive diagonal and rows of length 1."""
    tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
    lengths = torch.linalg.norm(value.detach(), dim=-1)
    return LowerCholesky.check(self, value) & ((lengths - 1).abs() <= tolerance).all(-1)


@_set(event_dim=2)
def Square(self, value):
    """Matrices with as many rows as columns."""
    found = value.shape[-1] == value.shape[-2]
    return torch.full(value.shape[:-2], found, dtype=torch.bool, device=value.device)


@_set(Square)
def Symmetric(self, value):
    """Square matrices that equal their transpose."""
    square = Square.check(self, value)
    if not square.all():
        return square
    return torch.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


@_set(Symmetric)
def PositiveSemidefinite(self, value):
    """Symmetric matrices without negative eigenvalues."""
    symmetric = Symmetric.check(self, value)
    return (torch.linalg.eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


@_set(Symmetric)
def PositiveDefinite(self, value):
    """Symmetric matrices whose eigenvalues are positive."""
    symmetric = Symmetric.check(self, value)
    return torch.linalg.cholesky_ex(value).info == 0 if symmetric.all() else symmetric


class _Of(Constraint):
    """A set made of another one."""

    def __init__(self, base_constraint):
        _check_constraints([base_constraint], "base_constraint")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)


def _check_constraints(found, name):
    for each in found:
        if not isinstance(each, Constraint):
            raise AssertionError(f"{name} must be a Constraint, got {type(each).__name__}")


class IndependentConstraint(_Of):
    """A set of arrays whose every element lies in `base_constraint`."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int >= 0, got {reinterpreted_batch_ndims!r}"
            )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        found, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if found.dim() < n:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return found.flatten(found.dim() - n).all(-1) if n else found

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Of):
    """The values that every component of a mixture takes."""

    def check(self, value):
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        batch = value.dim() - self.event_dim
        return found.reshape((*found.shape[:batch], -1)).all(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint})"


class _Parts(Constraint):
    """A set per part of an array along `dim`."""

    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim
        _check_constraints(self.cseq, "each of cseq")

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _check_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for value with {value.dim()} dimensions"
            )


class Cat(_Parts):
    """Arrays concatenated from parts of `lengths` along `dim`, each in its set."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(cseq)})")

    def check(self, value):
        self._check_dim(value)
        total = sum(self.lengths)
        parts = value.narrow(self.dim, 0, total).split(self.lengths, self.dim)
        return torch.cat([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


class Stack(_Parts):
    """Arrays stacked along `dim`, each in its set."""

    @property
    def event_dim(self):
        found = max(c.event_dim for c in self.cseq)
        return found + 1 if self.dim + found < 0 else found

    def check(self, value):
        self._check_dim(value)
        parts = value.unbind(self.dim)
        return torch.stack([c.check(v) for c, v in zip(self.cseq, parts)], self.dim)


dependent, dependent_property = Dependent(), DependentProperty
real, boolean, simplex, one_hot = Real(), Boolean(), Simplex(), OneHot()
positive, nonnegative = GreaterThan(0.0), GreaterThanEq(0.0)
unit_interval, nonnegative_integer = Interval(0.0, 1.0), IntegerGreaterThan(0)
positive_integer = IntegerGreaterThan(1)
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
independent, cat, stack = IndependentConstraint, Cat, Stack
real_vector = independent(real, 1)
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
corr_cholesky, square, symmetric = CorrCholesky(), Square(), Symmetric()
positive_semidefinite, positive_definite = PositiveSemidefinite(), PositiveDefinite()
multinomial = Multinomial


def __getattr__(name):
    """torch's classes begin with an underscore, by which packages name them."""
    found = globals().get(name[1:]) if name.startswith("_") else None
    if isinstance(found, type) and issubclass(found, Constraint):
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
