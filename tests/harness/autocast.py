"""What autocast makes of every op: the calls, which run with PyTorch and with flambeau alike, and
the recording of PyTorch's answers.

    python -m tests.harness.autocast        with an interpreter that has PyTorch 2.15

writes tests/golden/autocast.json: by op and kind of device, for autocast to each lower dtype, the
result dtypes of operands that are all float32, all lower, and lower with float32; and the names
that PyTorch has autocast rules for. PyTorch's list for cuda is asked with fake tensors, which need
no GPU.
"""

import contextlib
import json
import pathlib
import sys

from . import ledger

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "autocast.json"
LOWER = ("bfloat16", "float16")
VARIANTS = ("float32", "lower", "mixed")

# Without biases: one layer, no dropout, not in training, one direction, the length first.
PLAIN_RNN = (False, 1, 0.0, False, False, False)

# Ops whose first torch name takes more than float tensors of one shape.
CALLS = {
    "adaptive_avg_pool1d": lambda f, m: f(m.t(1, 2, 6), 2),
    "adaptive_avg_pool2d": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "adaptive_avg_pool3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2),
    "adaptive_max_pool1d": lambda f, m: f(m.t(1, 2, 6), 2),
    "adaptive_max_pool2d": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "adaptive_max_pool3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2),
    "addbmm": lambda f, m: f(m.t(3, 4), m.t(2, 3, 5), m.t(2, 5, 4)),
    "addmm": lambda f, m: f(m.t(3, 3), m.t(3, 4), m.t(4, 3)),
    "addmv": lambda f, m: f(m.t(3), m.t(3, 4), m.t(4)),
    "addr": lambda f, m: f(m.t(3, 4), m.t(3), m.t(4)),
    "affine_grid": lambda f, m: f(m.t(2, 2, 3), (2, 1, 3, 4), align_corners=False),
    "alpha_dropout": lambda f, m: f(m.t(3, 4), 0.5, True),
    "as_strided": lambda f, m: f(m.t(3, 4), (2, 2), (1, 2)),
    "as_strided_scatter": lambda f, m: f(m.t(3, 4), m.t(2, 2), (2, 2), (1, 2)),
    "atleast_1d": lambda f, m: f(m.t(3)),
    "avg_pool1d": lambda f, m: f(m.t(1, 2, 6), 2),
    "avg_pool2d": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "avg_pool3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2),
    "baddbmm": lambda f, m: f(m.t(2, 3, 3), m.t(2, 3, 4), m.t(2, 4, 3)),
    "batch_norm": lambda f, m: f(m.t(4, 2), m.s(2), m.s(2), m.t(2), m.t(2), True),
    "bernoulli": lambda f, m: f(m.t(3, 4)),
    "bilinear": lambda f, m: f(m.t(3, 4), m.t(3, 5), m.t(2, 4, 5), m.t(2)),
    "block_diag": lambda f, m: f(m.t(2, 2), m.t(2, 2)),
    "bmm": lambda f, m: f(m.t(2, 3, 4), m.t(2, 4, 3)),
    "broadcast_tensors": lambda f, m: f(m.t(3), m.t(1)),
    "broadcast_to": lambda f, m: f(m.t(4), (3, 4)),
    "cartesian_prod": lambda f, m: f(m.t(2), m.t(2)),
    "cat": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "channel_shuffle": lambda f, m: f(m.t(1, 4, 3, 3), 2),
    "cholesky_inverse": lambda f, m: f(m.eye(3)),
    "cholesky_solve": lambda f, m: f(m.t(3, 2), m.eye(3)),
    "chunk": lambda f, m: f(m.t(4, 4), 2),
    "clamp": lambda f, m: f(m.t(3, 4), 0.25, 0.75),
    "col2im": lambda f, m: f(m.t(1, 4, 9), (4, 4), 2),
    "column_stack": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "combinations": lambda f, m: f(m.t(4)),
    "conv1d": lambda f, m: f(m.t(1, 2, 6), m.t(3, 2, 3), m.t(3)),
    "conv2d": lambda f, m: f(m.t(1, 2, 6, 6), m.t(3, 2, 3, 3), m.t(3)),
    "conv3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), m.t(3, 2, 3, 3, 3), m.t(3)),
    "conv_transpose1d": lambda f, m: f(m.t(1, 2, 6), m.t(2, 3, 3), m.t(3)),
    "conv_transpose2d": lambda f, m: f(m.t(1, 2, 6, 6), m.t(2, 3, 3, 3), m.t(3)),
    "conv_transpose3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), m.t(2, 3, 3, 3, 3), m.t(3)),
    "cosine_embedding_loss": lambda f, m: f(m.t(3, 4), m.t(3, 4), m.i(3)),
    "cross_entropy": lambda f, m: f(m.t(3, 4), m.i(3)),
    "ctc_loss": lambda f, m: f(m.t(5, 2, 4), m.i(2, 3), m.i(2), m.i(2)),
    "cummax": lambda f, m: f(m.t(3, 4), 0),
    "cummin": lambda f, m: f(m.t(3, 4), 0),
    "cumprod": lambda f, m: f(m.t(3, 4), 0),
    "cumsum": lambda f, m: f(m.t(3, 4), 0),
    "cumulative_trapezoid": lambda f, m: f(m.t(3, 4), m.t(3, 4)),
    "diagonal_scatter": lambda f, m: f(m.t(3, 4), m.t(3)),
    "dot": lambda f, m: f(m.t(4), m.t(4)),
    "dropout": lambda f, m: f(m.t(3, 4), 0.5, True),
    "dsplit": lambda f, m: f(m.t(2, 2, 4), 2),
    "dsplit_at": lambda f, m: f(m.t(2, 2, 4), (1, 3)),
    "dstack": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "embedding": lambda f, m: f(m.i(3), m.t(4, 2)),
    "embedding_renorm_": lambda f, m: f(m.t(4, 3), m.i(2), 1.0),
    "expand": lambda f, m: f(m.t(1, 4), 3, 4),
    "feature_alpha_dropout": lambda f, m: f(m.t(2, 3, 4), 0.5, True),
    "feature_dropout": lambda f, m: f(m.t(2, 3, 4), 0.5, True),
    "fill_": lambda f, m: f(m.t(3, 4), 2.0),
    "fill_diagonal_": lambda f, m: f(m.t(3, 3), 1.0),
    "flip": lambda f, m: f(m.t(3, 4), (0,)),
    "fractional_max_pool2d": lambda f, m: f(m.t(1, 2, 6, 6), 2, (3, 3)),
    "fractional_max_pool3d": lambda f, m: f(m.t(1, 2, 6, 6, 6), 2, (3, 3, 3)),
    "full_like": lambda f, m: f(m.t(3, 4), 2.0),
    "gather": lambda f, m: f(m.t(3, 4), 0, m.i(3, 4)),
    "gelu": lambda f, m: f(m.t(3, 4)),
    "grid_sample": lambda f, m: f(m.t(1, 2, 4, 4), m.t(1, 3, 3, 2), align_corners=False),
    "group_norm": lambda f, m: f(m.t(2, 4, 3), 2, m.t(4), m.t(4)),
    "gru": lambda f, m: f(m.t(3, 2, 4), m.t(1, 2, 3), [m.t(9, 4), m.t(9, 3)], *PLAIN_RNN),
    "gru_cell": lambda f, m: f(m.t(2, 4), m.t(2, 3), m.t(9, 4), m.t(9, 3)),
    "hsplit": lambda f, m: f(m.t(2, 4), 2),
    "hsplit_at": lambda f, m: f(m.t(2, 4), (1, 3)),
    "hstack": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "im2col": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "index_add": lambda f, m: f(m.t(3, 4), 0, m.i(2), m.t(2, 4)),
    "index_copy": lambda f, m: f(m.t(3, 4), 0, m.i(2), m.t(2, 4)),
    "index_fill": lambda f, m: f(m.t(3, 4), 0, m.i(2), 2.0),
    "index_put": lambda f, m: f(m.t(3, 4), (m.i(2),), m.t(2, 4)),
    "index_reduce": lambda f, m: f(m.t(3, 4), 0, m.i(2), m.t(2, 4), "amax"),
    "index_select": lambda f, m: f(m.t(3, 4), 0, m.i(2)),
    "instance_norm": lambda f, m: f(m.t(2, 4, 3)),
    "kthvalue": lambda f, m: f(m.t(3, 4), 1),
    "layer_norm": lambda f, m: f(m.t(3, 4), (4,), m.t(4), m.t(4)),
    "lerp": lambda f, m: f(m.t(3, 4), m.t(3, 4), 0.5),
    "linalg_cholesky": lambda f, m: f(m.eye(3)),
    "linalg_cholesky_ex": lambda f, m: f(m.eye(3)),
    "linalg_cond": lambda f, m: f(m.eye(3)),
    "linalg_cond_by_name": lambda f, m: f(m.eye(3), "fro"),
    "linalg_cross": lambda f, m: f(m.t(4, 3), m.t(4, 3)),
    "linalg_det": lambda f, m: f(m.eye(3)),
    "linalg_eigh": lambda f, m: f(m.eye(3)),
    "linalg_eigvalsh": lambda f, m: f(m.eye(3)),
    "linalg_householder_product": lambda f, m: f(m.t(3, 2), m.t(2)),
    "linalg_inv": lambda f, m: f(m.eye(3)),
    "linalg_inv_ex": lambda f, m: f(m.eye(3)),
    "linalg_lstsq": lambda f, m: f(m.eye(3), m.t(3, 2)),
    "linalg_lu": lambda f, m: f(m.eye(3)),
    "linalg_lu_factor": lambda f, m: f(m.eye(3)),
    "linalg_lu_factor_ex": lambda f, m: f(m.eye(3)),
    "linalg_lu_solve": lambda f, m: f(m.eye(3), m.i(3).int(), m.t(3, 2)),
    "linalg_matrix_exp": lambda f, m: f(m.t(3, 3)),
    "linalg_matrix_norm": lambda f, m: f(m.t(3, 4), 1),
    "linalg_matrix_power": lambda f, m: f(m.eye(3), 2),
    "linalg_matrix_rank": lambda f, m: f(m.eye(3)),
    "linalg_multi_dot": lambda f, m: f([m.t(3, 4), m.t(4, 2)]),
    "linalg_norm_by_name": lambda f, m: f(m.t(3, 4), "fro"),
    "linalg_slogdet": lambda f, m: f(m.eye(3)),
    "linalg_solve": lambda f, m: f(m.eye(3), m.t(3, 2)),
    "linalg_solve_ex": lambda f, m: f(m.eye(3), m.t(3, 2)),
    "linalg_solve_triangular": lambda f, m: f(m.eye(3), m.t(3, 2), upper=True),
    "linear": lambda f, m: f(m.t(3, 4), m.t(2, 4), m.t(2)),
    "local_response_norm": lambda f, m: f(m.t(2, 4, 3), 3),
    "log_softmax": lambda f, m: f(m.t(3, 4), 1),
    "logcumsumexp": lambda f, m: f(m.t(3, 4), 0),
    "logdet": lambda f, m: f(m.eye(3)),
    "logsumexp": lambda f, m: f(m.t(3, 4), 0),
    "lp_pool1d": lambda f, m: f(m.t(1, 2, 6), 2.0, 2),
    "lp_pool2d": lambda f, m: f(m.t(1, 2, 4, 4), 2.0, 2),
    "lp_pool3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2.0, 2),
    "lstm": lambda f, m: f(
        m.t(3, 2, 4), [m.like(1, 2, 3)] * 2, [m.like(12, 4), m.like(12, 3)], *PLAIN_RNN
    ),
    "lstm_cell": lambda f, m: f(m.t(2, 4), [m.t(2, 3), m.t(2, 3)], m.t(12, 4), m.t(12, 3)),
    "masked_fill": lambda f, m: f(m.t(3, 4), m.mask(3, 4), 2.0),
    "masked_scatter": lambda f, m: f(m.t(3, 4), m.mask(3, 4), m.t(3, 4)),
    "masked_select": lambda f, m: f(m.t(3, 4), m.mask(3, 4)),
    "matmul": lambda f, m: f(m.t(3, 4), m.t(4, 3)),
    "max_pool1d": lambda f, m: f(m.t(1, 2, 6), 2),
    "max_pool1d_with_indices": lambda f, m: f(m.t(1, 2, 6), 2),
    "max_pool2d": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "max_pool2d_with_indices": lambda f, m: f(m.t(1, 2, 4, 4), 2),
    "max_pool3d": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2),
    "max_pool3d_with_indices": lambda f, m: f(m.t(1, 2, 4, 4, 4), 2),
    "mm": lambda f, m: f(m.t(3, 4), m.t(4, 3)),
    "movedim": lambda f, m: f(m.t(3, 4), 0, 1),
    "multi_margin_loss": lambda f, m: f(m.t(3, 4), m.i(3)),
    "multilabel_margin_loss": lambda f, m: f(m.t(3, 4), m.i(3, 4)),
    "multinomial": lambda f, m: f(m.t(3, 4), 1),
    "mv": lambda f, m: f(m.t(3, 4), m.t(4)),
    "mvlgamma": lambda f, m: f(m.t(3, 4), 1),
    "nanquantile": lambda f, m: f(m.t(3, 4), 0.5),
    "narrow": lambda f, m: f(m.t(3, 4), 0, 0, 2),
    "nll_loss": lambda f, m: f(m.t(3, 4), m.i(3)),
    "norm": lambda f, m: f(m.t(3, 4)),
    "norm_by_name": lambda f, m: f(m.t(3, 4), "fro"),
    "one_hot": lambda f, m: f(m.i(3)),
    "ormqr": lambda f, m: f(m.t(3, 2), m.t(2), m.t(3, 4)),
    "outer": lambda f, m: f(m.t(3), m.t(4)),
    "pad": lambda f, m: f(m.t(3, 4), (1, 1)),
    "permute": lambda f, m: f(m.t(3, 4), (1, 0)),
    "pixel_shuffle": lambda f, m: f(m.t(1, 4, 2, 2), 2),
    "pixel_unshuffle": lambda f, m: f(m.t(1, 1, 4, 4), 2),
    "polygamma": lambda f, m: f(1, m.t(3, 4)),
    "pow": lambda f, m: f(m.t(3, 4), 2.5),
    "prelu": lambda f, m: f(m.t(2, 3, 4), m.t(3)),
    "quantile": lambda f, m: f(m.t(3, 4), 0.5),
    "renorm": lambda f, m: f(m.t(3, 4), 2, 0, 1.0),
    "repeat": lambda f, m: f(m.t(3, 4), 2, 1),
    "repeat_interleave": lambda f, m: f(m.t(3, 4), 2),
    "repeat_interleave_each": lambda f, m: f(m.t(3, 4), m.i(3), 0),
    "reshape": lambda f, m: f(m.t(3, 4), (4, 3)),
    "rms_norm": lambda f, m: f(m.t(3, 4), (4,), m.t(4)),
    "rnn_relu": lambda f, m: f(m.t(3, 2, 4), m.t(1, 2, 3), [m.t(3, 4), m.t(3, 3)], *PLAIN_RNN),
    "rnn_relu_cell": lambda f, m: f(m.t(2, 4), m.t(2, 3), m.t(3, 4), m.t(3, 3)),
    "rnn_tanh": lambda f, m: f(m.t(3, 2, 4), m.t(1, 2, 3), [m.t(3, 4), m.t(3, 3)], *PLAIN_RNN),
    "rnn_tanh_cell": lambda f, m: f(m.t(2, 4), m.t(2, 3), m.t(3, 4), m.t(3, 3)),
    "roll": lambda f, m: f(m.t(3, 4), 1),
    "scatter": lambda f, m: f(m.t(3, 4), 0, m.i(3, 4), m.t(3, 4)),
    "scatter_add": lambda f, m: f(m.t(3, 4), 0, m.i(3, 4), m.t(3, 4)),
    "scatter_reduce": lambda f, m: f(m.t(3, 4), 0, m.i(2, 4), m.t(2, 4), "sum"),
    "select": lambda f, m: f(m.t(3, 4), 0, 1),
    "select_scatter": lambda f, m: f(m.t(3, 4), m.t(3), 1, 2),
    "softmax": lambda f, m: f(m.t(3, 4), 1),
    "split": lambda f, m: f(m.t(4, 4), 2),
    "split_with_sizes": lambda f, m: f(m.t(4, 4), [1, 3]),
    "squeeze": lambda f, m: f(m.t(1, 4)),
    "stack": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "swapaxes": lambda f, m: f(m.t(3, 4), 0, 1),
    "take": lambda f, m: f(m.t(3, 4), m.i(2)),
    "take_along_dim": lambda f, m: f(m.t(3, 4), m.i(3, 4), 0),
    "tensor_split": lambda f, m: f(m.t(4, 4), 2),
    "tensor_split_at": lambda f, m: f(m.t(4, 4), (1, 2)),
    "threshold": lambda f, m: f(m.t(3, 4), 0.25, 0.0),
    "tile": lambda f, m: f(m.t(3, 4), (2, 1)),
    "topk": lambda f, m: f(m.t(3, 4), 2),
    "transpose": lambda f, m: f(m.t(3, 4), 0, 1),
    "transpose_": lambda f, m: f(m.t(3, 4), 0, 1),
    "trapezoid": lambda f, m: f(m.t(3, 4), m.t(3, 4)),
    "unbind": lambda f, m: f(m.t(3, 4)),
    "unflatten": lambda f, m: f(m.t(3, 4), 1, (2, 2)),
    "unfold": lambda f, m: f(m.t(3, 4), 0, 2, 1),
    "unfold_dim": lambda f, m: f(m.t(3, 4), 0, 2, 1),
    "unsqueeze": lambda f, m: f(m.t(3, 4), 0),
    "unsqueeze_": lambda f, m: f(m.t(3, 4), 0),
    "vander": lambda f, m: f(m.t(4)),
    "vdot": lambda f, m: f(m.t(4), m.t(4)),
    "view": lambda f, m: f(m.t(3, 4), 4, 3),
    "vsplit": lambda f, m: f(m.t(4, 2), 2),
    "vsplit_at": lambda f, m: f(m.t(4, 2), (1, 3)),
    "vstack": lambda f, m: f([m.t(3, 4), m.t(3, 4)]),
    "where": lambda f, m: f(m.mask(3, 4), m.t(3, 4), m.t(3, 4)),
}


class Maker:
    """Operands of one call, in a variant's dtypes."""

    def __init__(self, torch, device, lower, variant):
        self.torch, self.device, self.lower, self.variant = torch, device, lower, variant
        self.floats = 0

    def _full(self, shape, value, dtype):
        dtype = getattr(self.torch, dtype)
        return self.torch.full(shape, value, dtype=dtype, device=self.device)

    def t(self, *shape):
        """A float operand: in the mixed variant the first one is lower."""
        lower = self.variant == "lower" or (self.variant == "mixed" and self.floats == 0)
        self.floats += 1
        return self._full(shape, 0.5, self.lower if lower else "float32")

    def like(self, *shape):
        """A float operand of the first one's dtype, where PyTorch takes no other."""
        return self._full(shape, 0.5, "float32" if self.variant == "float32" else self.lower)

    def eye(self, n):
        """A float operand that has every factor."""
        t = self.t(n, n)
        return self.torch.eye(n, dtype=t.dtype, device=self.device)

    def s(self, *shape):
        """State that stays float32."""
        return self._full(shape, 0.5, "float32")

    def i(self, *shape):
        """Indices."""
        return self._full(shape, 1, "int64")

    def mask(self, *shape):
        """A bool tensor."""
        return self._full(shape, True, "bool")


def functions():
    """Ops of the header that have a name in torch."""
    return {name: f for name, f in ledger.ops().items() if f["torch"]}


def call_of(name, function, torch):
    """How to call an op; None where it takes no tensors."""
    spelling = function["torch"][0]
    head, _, rest = spelling.partition(".")
    if head == "Tensor":
        resolved = lambda x, *args: getattr(x, rest)(*args)  # noqa: E731
    else:
        resolved = torch if head == "torch" else torch.nn.functional
        for part in rest.split("."):
            resolved = getattr(resolved, part)
    if name in CALLS:
        return lambda m: CALLS[name](resolved, m)
    count = sum(p["kind"] == "tensor" and not p.get("optional") for p in function["operands"])
    return (lambda m: resolved(*[m.t(3, 4) for _ in range(count)])) if count else None


def tensors(value, torch):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors(v, torch)] if isinstance(value, (tuple, list)) else []


def dtypes(call, torch, device, lower, variant):
    """The result's dtypes in one text, `error` where the call fails, `-` where the variant is no
    call of its own."""
    maker = Maker(torch, device, lower, variant)
    try:
        found = tensors(call(maker), torch)
    except Exception:
        return "error"
    if variant == "mixed" and maker.floats < 2:
        return "-"
    return ",".join(str(t.dtype).rpartition(".")[2] for t in found) or "-"


def row(call, torch, device, lower):
    return [dtypes(call, torch, device, lower, v) for v in VARIANTS]


def _registered(torch, key):
    """Names that PyTorch has a rule for; one that passes through has none."""
    names = torch._C._dispatch_get_all_op_names()
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return sorted({n.split("::")[1].split(".")[0] for n in names if has(n, key)})


@contextlib.contextmanager
def _autocast(torch, kind, lower):
    torch.set_autocast_enabled(kind, True)
    torch.set_autocast_dtype(kind, getattr(torch, lower))
    try:
        yield
    finally:
        torch.set_autocast_enabled(kind, False)


def _answers(name, call, torch, lower, ruled):
    """PyTorch's answers for the cpu and for cuda. Fake tensors take what kernels would refuse: an
    op without a rule is refused where the cpu refuses it without autocast."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    plain = row(call, torch, "cpu", lower)
    with _autocast(torch, "cpu", lower):
        cpu = row(call, torch, "cpu", lower)
    with _autocast(torch, "cuda", lower), FakeTensorMode(allow_non_fake_inputs=True):
        cuda = row(call, torch, "cuda", lower)
    if name not in ruled["cuda"]:
        cuda = ["error" if p == "error" else c for p, c in zip(plain, cuda, strict=True)]
    return {"cpu": cpu, "cuda": cuda}


def record():
    import logging
    import warnings

    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)  # fake tensors report every refusal
    ruled = {k: _registered(torch, "Autocast" + k.upper()) for k in ("cpu", "cuda")}
    answers = {}
    for name, function in sorted(functions().items()):
        try:
            call = call_of(name, function, torch)
        except AttributeError:
            continue  # PyTorch has no such name
        if call is None:
            continue
        found = {lower: _answers(name, call, torch, lower, ruled) for lower in LOWER}
        answers[name] = {
            kind: {lower: " ".join(found[lower][kind]) for lower in LOWER}
            for kind in ("cpu", "cuda")
        }
    lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(a)}" for n, a in answers.items())
    return (
        f'{{\n "torch": {json.dumps(torch.__version__)},\n'
        f' "ruled": {json.dumps(ruled)},\n "ops": {{\n{lines}\n }}\n}}\n'
    )


if __name__ == "__main__":
    GOLDEN.write_text(record())
    print(f"wrote {GOLDEN.relative_to(ROOT)}")
    sys.exit(0)
