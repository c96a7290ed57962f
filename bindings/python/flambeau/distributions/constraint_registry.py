"""Transforms from all real numbers to a set, looked up by the set's kind: `biject_to` bijections,
`transform_to` what suits unconstrained optimization."""

from . import constraints, transforms


class ConstraintRegistry:
    """Makers of transforms by kinds of constraints."""

    def __init__(self):
        self._makers = {}

    def register(self, constraint, factory=None):
        """Keeps the function that makes a transform for a kind of constraint, or decorates it."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._makers[kind] = factory
        return factory

    def __call__(self, constraint):
        if type(constraint) not in self._makers:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._makers[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _for_both(*kinds):
    """Decorates a maker that takes the registry too, for parts that it looks up there."""

    def keep(maker):
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, lambda c, r=registry: maker(c, r))
        return maker

    return keep


@_for_both(constraints.real)
def _real(constraint, registry):
    return transforms.identity_transform


@_for_both(constraints.independent)
def _independent(constraint, registry):
    base = registry(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _half_line(bound, sign):
    moved = transforms.AffineTransform(bound, sign)
    return transforms.ComposeTransform([transforms.ExpTransform(), moved])


@_for_both(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint, registry):
    return _half_line(constraint.lower_bound, 1)


@_for_both(constraints.less_than)
def _less(constraint, registry):
    return _half_line(constraint.upper_bound, -1)


@_for_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint, registry):
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(v, (int, float)) for v in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    moved = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), moved])


@_for_both(constraints.corr_cholesky)
def _correlations(constraint, registry):
    return transforms.CorrCholeskyTransform()


@_for_both(constraints.cat)
def _cat(constraint, registry):
    parts = [registry(c) for c in constraint.cseq]
    return transforms.CatTransform(parts, constraint.dim, constraint.lengths)


@_for_both(constraints.stack)
def _stack(constraint, registry):
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda c: transforms.PositiveDefiniteTransform())
