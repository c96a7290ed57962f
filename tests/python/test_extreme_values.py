"""What tensors of places, lengths and targets hold, and sizes and counts in lists: values at the
ends of int64, and others that a double rounds, in a child process. Each call ends, with a result or
an error that is no internal one. What arguments themselves are is tests/extreme's."""

import pytest

from tests.harness import child

VALUES = 2**63 - 1, -(2**63), 2**63 - 512, 2**62, 2**40, 2**31, -1, -(2**31)

CALLS = """
gather: T.gather(x(), 0, row)
scatter: x().scatter_(0, row, 1.0)
scatter_add: x().scatter_add_(0, row, T.ones(1, 3))
scatter_reduce: x().scatter_reduce_(0, row, T.ones(1, 3), "mean")
index_select: x().index_select(0, at)
index_select of nothing: T.zeros(0, 4).index_select(1, at)
index_add: x().index_add_(0, at, T.ones(2, 3))
index_copy: x().index_copy_(0, at, T.ones(2, 3))
index_fill: x().index_fill_(0, at, 1.0)
index_reduce: x().index_reduce_(0, at, T.ones(2, 3), "mean")
take: T.take(x(), at)
put: x().put_(at, T.ones(2), accumulate=True)
take_along_dim: T.take_along_dim(x(), row, 0)
index: x()[at, at]
index_put: x().index_put_((at,), T.ones(3), accumulate=True)
embedding: F.embedding(at, x().requires_grad_(), max_norm=0.1).sum().backward()
embedding_bag: F.embedding_bag(at, x(), T.tensor([0]))
bags: F.embedding_bag(T.tensor([0, 1]), x(), at, mode="max")
bags' ends: F.embedding_bag(T.tensor([0, 1]), x(), T.tensor([0, 1, v]), include_last_offset=True)
nll_loss: F.nll_loss(x()[:2], at, ignore_index=2)
cross_entropy: F.cross_entropy(x()[:2].requires_grad_(), at, label_smoothing=0.1).backward()
linear_cross_entropy: F.linear_cross_entropy(x()[:2], T.ones(5, 3), at)
one_hot: F.one_hot(at, 3)
bincount: T.bincount(at, T.ones(2))
searchsorted: T.searchsorted(T.tensor([1, 2]), T.tensor([9, 0, 2]), sorter=at)
repeat_interleave: T.repeat_interleave(T.ones(2), at)
lengths: T.segment_reduce(T.ones(4), "sum", lengths=at)
offsets: T.segment_reduce(T.ones(4), "sum", offsets=at)
unravel_index: T.unravel_index(at, (4, 3))
max_unpool: F.max_unpool1d(T.ones(1, 1, 2), at.reshape(1, 1, 2), 2)
multi_margin: F.multi_margin_loss(x()[:2], at)
multilabel_margin: F.multilabel_margin_loss(T.ones(2), at)
ctc's labels: F.ctc_loss(T.zeros(4, 1, 3), T.tensor([[1, v]]), T.tensor([4]), T.tensor([2]))
ctc's inputs: F.ctc_loss(T.zeros(4, 1, 3), T.tensor([[1, 2]]), T.tensor([v]), T.tensor([2]))
ctc's targets: F.ctc_loss(T.zeros(4, 2, 3), T.tensor([1, 2, 1]), T.tensor([4, 4]), at)
tensor_split: T.tensor_split(T.ones(4), at)
packed: R.pack_padded_sequence(T.ones(4, 2, 1), at, enforce_sorted=False)
divided: (at // -1, at % -1, T.fmod(at, -1), T.div(at, T.tensor(-1), rounding_mode="trunc"))
shifted: (at << at, at >> at, T.gcd(at, at), T.lcm(at, at), at ** at.abs())
pad: F.pad(x(), (v, v))
pad both ways: F.pad(x(), (v, -1))
replicated: F.pad(x()[None], (v, v), mode="replicate")
as_strided: T.as_strided(x(), (2, 2), (v, 1), 1)
roll: T.roll(x(), (v, v), (0, 1))
repeat: x().repeat(v, 2)
"""

CHILD = """
import resource, signal, sys
import flambeau as T
F, R, calls = T.nn.functional, T.nn.utils.rnn, sys.stdin.read()
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
v = int(sys.argv[1])
at, row, x = T.tensor([0, v]), T.tensor([[0, v, 1]]), lambda: T.arange(12.0).reshape(4, 3)
for line in calls.strip().splitlines():
    name, code = line.split(": ", 1)
    print(name, flush=True)
    signal.alarm(10)
    try:
        eval(code)
    except Exception as error:
        assert type(error).__name__ not in ("InternalError", "NameError", "SyntaxError"), error
"""


@pytest.mark.parametrize("value", VALUES)
def test_values_out_of_bounds_end_no_process(value):
    done = child.python("-c", CHILD, value, text=CALLS)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"{last}: {done.returncode} {done.stderr[-500:]}"
    assert len(done.stdout.splitlines()) == len(CALLS.strip().splitlines())
