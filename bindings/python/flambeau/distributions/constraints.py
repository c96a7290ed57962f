"""Sets that parameters and values must lie in; `check` gives a bool per element, or per vector
where `event_dim` is 1."""

import flambeau as torch


class Constraint:
    """A set of numbers or vectors."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__ + "()"


class Real(Constraint):
    """Every number but NaN."""

    def check(self, value):
        return value == value


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A set with bounds, which are shown."""

    def __init__(self, **bounds):
        self.__dict__.update(bounds)

    def __repr__(self):
        shown = ", ".join(f"{name}={_shown(bound)}" for name, bound in self.__dict__.items())
        return f"{type(self).__name__}({shown})"


def _shown(bound):
    return bound.item() if isinstance(bound, torch.Tensor) and bound.numel() == 1 else bound


class GreaterThan(_Bounded):
    """Numbers above a bound."""

    def __init__(self, lower_bound):
        super().__init__(lower_bound=lower_bound)

    def check(self, value):
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on."""

    def check(self, value):
        return value >= self.lower_bound


class LessThan(_Bounded):
    """Numbers below a bound."""

    def __init__(self, upper_bound):
        super().__init__(upper_bound=upper_bound)

    def check(self, value):
        return value < self.upper_bound


class Interval(_Bounded):
    """Numbers between two bounds, which belong to it."""

    def __init__(self, lower_bound, upper_bound):
        super().__init__(lower_bound=lower_bound, upper_bound=upper_bound)

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class IntegerInterval(Interval):
    """Whole numbers between two bounds, which belong to it."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class IntegerGreaterThan(GreaterThanEq):
    """Whole numbers from a bound on."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & super().check(value)


class Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class RealVector(Constraint):
    """Vectors without NaN."""

    event_dim = 1

    def check(self, value):
        return (value == value).all(-1)


class OneHot(Constraint):
    """Vectors with a single 1, else 0."""

    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Multinomial(Constraint):
    """Vectors of counts whose sum is at most `upper_bound`."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class LowerTriangular(Constraint):
    """Square matrices with 0 above the diagonal."""

    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class LowerCholesky(LowerTriangular):
    """Lower triangles with a positive diagonal."""

    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class Symmetric(Constraint):
    """Square matrices that equal their transpose."""

    event_dim = 2

    def check(self, value):
        if value.shape[-1] != value.shape[-2]:
            return torch.zeros(value.shape[:-2], dtype=torch.bool, device=value.device)
        return torch.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices whose eigenvalues are positive."""

    def check(self, value):
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return torch.linalg.cholesky_ex(value).info == 0


class Dependent(Constraint):
    """A set that depends on the other parameters; not checked by itself."""


class IndependentConstraint(Constraint):
    """A set of arrays whose every element lies in `base_constraint`."""

    def __init__(self, base_constraint, dims):
        self.base_constraint, self._dims = base_constraint, dims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + dims

    def check(self, value):
        found = self.base_constraint.check(value)
        return found.flatten(found.dim() - self._dims).all(-1)

    def __repr__(self):
        return f"Independent({self.base_constraint}, {self._dims})"


real, boolean, simplex = Real(), Boolean(), Simplex()
real_vector, one_hot, dependent = RealVector(), OneHot(), Dependent()
positive, nonnegative = GreaterThan(0.0), GreaterThanEq(0.0)
unit_interval, nonnegative_integer = Interval(0.0, 1.0), IntegerGreaterThan(0)
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, integer_interval, independent = Interval, IntegerInterval, IndependentConstraint
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
symmetric, positive_definite = Symmetric(), PositiveDefinite()
multinomial = Multinomial
