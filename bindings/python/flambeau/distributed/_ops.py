"""`ReduceOp`: how the ranks' tensors become one, with torch's names and numbers."""

import enum

from .._deprecated import warn


class ReduceOp(enum.Enum):
    """How the ranks' tensors become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __init__(self, number):
        self._word, self.factor = self.name.lower(), 1.0


ReduceOp.RedOpType = ReduceOp  # torch's name for the class of the members


class _Premultiplied:
    """PREMUL_SUM with its factor; equals the member, as in torch."""

    op, _word = ReduceOp.PREMUL_SUM, ReduceOp.PREMUL_SUM._word

    def __init__(self, factor):
        self.factor = factor

    def __eq__(self, other):
        if isinstance(other, _Premultiplied):
            return self.factor == other.factor
        return other is self.op

    def __hash__(self):
        return hash(self.op)


def _make_nccl_premul_sum(factor):
    """The sum of what is multiplied by `factor`, a number or a tensor of one element, before."""
    return _Premultiplied(float(factor))


def words_of(op):
    """A reduction as the library takes it: its word and its factor."""
    try:
        return op._word, op.factor
    except AttributeError:
        pass
    raise TypeError(
        f"expected the op as a torch.distributed.ReduceOp, such as ReduceOp.SUM, but got {op!r}"
    )


def supports_complex(reduceOp):
    """Whether a reduction has a meaning for complex numbers, which have no order."""
    ordered = ("MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR")
    return reduceOp not in [ReduceOp[name] for name in ordered]


class _Old:
    """The reductions by torch's old name."""

    def __getattribute__(self, name):
        warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` "
            "instead",
            FutureWarning,
        )
        return getattr(ReduceOp, name)


reduce_op = _Old()
