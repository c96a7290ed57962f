"""Operands at the edges of what kernels take in one way: strides, sizes and numbers that are far
from usual ones have the results of their plain forms.
"""

import flambeau as torch
import pytest

F = torch.nn.functional


@pytest.mark.parametrize("name", ["gru", "lstm"])
@pytest.mark.parametrize("strided", ["bias", "h", "c"])
def test_recurrent_operands_in_any_strides(device, name, strided):
    gates = {"gru": 3, "lstm": 4}[name]

    def run(apart):
        torch.manual_seed(0)

        def made(kind, *sizes):
            t = torch.randn(*sizes) * (0.2 if kind == "w" else 1)
            if apart and kind == strided:  # the same numbers, every second of a longer line
                t = torch.stack((t, t * 9), -1)[..., 0]
            return t.to(device).detach().requires_grad_()

        x, h, c = made("x", 6, 5, 8), made("h", 1, 5, 32), made("c", 1, 5, 32)
        weights = [made("w", gates * 32, 8), made("w", gates * 32, 32)]
        biases = [made("bias", gates * 32), made("bias", gates * 32)]
        if apart and strided == "bias":
            assert biases[0].stride() == (2,) or device != "cpu"
        state = h if name == "gru" else (h, c)
        y, *last = getattr(torch, name)(
            x, state, weights + biases, True, 1, 0.0, False, False, False
        )
        ((y * y).sum() + sum((s * s).sum() for s in last)).backward()
        leaves = [x, h, *([c] if name == "lstm" else []), *weights, *biases]
        return [y, *(leaf.grad for leaf in leaves)]

    for ours, plain in zip(run(True), run(False), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("distance", [20, 1000, 1 << 40])
def test_taps_that_miss_the_image_cost_nothing(device, distance):
    x = torch.randn(1, 32, 8, 8).to(device).requires_grad_()
    w = torch.randn(4, 32, 3, 3).to(device).requires_grad_()
    y = F.conv2d(x, w, padding=distance, dilation=distance)
    only = F.conv2d(x, w[:, :, 1:2, 1:2])
    torch.testing.assert_close(y, only, rtol=1e-5, atol=1e-4)
    grad = torch.randn(1, 4, 8, 8).to(device)
    for of_all, of_one in zip(
        torch.autograd.grad(y, (x, w), grad), torch.autograd.grad(only, (x, w), grad), strict=True
    ):
        torch.testing.assert_close(of_all, of_one, rtol=1e-5, atol=1e-4)


def test_positions_as_far_apart_as_numbers_go(device):
    x, w = torch.ones(1, 2, 5).to(device), torch.ones(2, 2, 2).to(device)
    y = F.conv1d(x, w, stride=2**57, padding=2**56)
    assert y.shape == (1, 2, 2) and y.sum().item() == 0


def test_what_no_tap_reads_is_in_no_gradient(device):
    x = torch.ones(1, 8, 6, 12).to(device)
    x[..., -1] = float("inf")
    w = torch.ones(16, 2, 3, 3).to(device).requires_grad_()
    y = F.conv2d(x, w, groups=4)
    (grad,) = torch.autograd.grad(y, w, torch.zeros_like(y))
    assert grad[..., :2].isfinite().all() and grad[..., 2].isnan().any()


def test_wide_windows_take_no_tables(device):
    x = torch.arange(20000, dtype=torch.float64).reshape(1, 1, -1).to(device)
    y = F.avg_pool1d(x, 10000, 1)
    expected = torch.arange(10001, dtype=torch.float64).reshape(1, 1, -1) + 4999.5
    torch.testing.assert_close(y.cpu(), expected)


@pytest.mark.parametrize("taps", [3, 5])
@pytest.mark.parametrize(
    "kind", ["dense", "outliers", "one pixel", "border", "one gradient", "not finite"]
)
def test_tiles_add_no_rounding_of_what_is_not_seen(device, taps, kind):
    torch.manual_seed(0)
    x, w = torch.randn(2, 24, 17, 34, dtype=torch.float64), torch.randn(40, 24, taps, taps).double()
    grad = torch.randn(2, 40, 17, 34, dtype=torch.float64) * (torch.rand(2, 40, 17, 34) < 0.25)
    if kind == "outliers":
        x[0, 3, 10, 10], x[1, 5, 12, 20] = 1e6, -1e6
    elif kind == "one pixel":
        x *= torch.arange(34) == 7
        x[:, :, 1:] = 0
    elif kind == "border":
        x[:, :, :4] = x[:, :, :, -4:] = 0
    elif kind == "one gradient":
        grad *= torch.arange(17 * 34).reshape(17, 34) == 200
    elif kind == "not finite":
        x[0, 0, 9, 9] = float("inf")

    def run(x, w, grad, place="cpu"):
        x, w = x.to(place).requires_grad_(), w.to(place).requires_grad_()
        y = F.conv2d(x, w, padding=taps // 2)
        return [t.cpu() for t in (y.detach(), *torch.autograd.grad(y, (x, w), grad.to(place)))]

    found = run(x.float(), w.float(), grad.float(), device)
    x, w, grad = x.float().double(), w.float().double(), grad.float().double()
    for of, expected, terms in zip(
        found, run(x, w, grad), run(x.abs(), w.abs(), grad.abs()), strict=True
    ):
        finite = terms.isfinite()
        assert ((of - expected).abs() <= 1e-5 * terms)[finite].all()
        assert not of[~finite].isfinite().any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_running_sums_stay_finite_where_every_sum_is(device, dtype):
    huge = 1.5e308 if dtype == torch.float64 else 3e38
    x = torch.tensor([-huge, huge, huge, -huge, -huge, huge] * 8, dtype=dtype).to(device)
    assert torch.cumsum(x, 0).isfinite().all()
    ends = torch.tensor([-huge, huge, huge, float("inf")], dtype=dtype).to(device)
    assert torch.cumsum(ends, 0).isfinite().tolist() == [True, True, True, False]


def test_running_products_come_back_from_small_numbers(device):
    x = torch.tensor([2.0**127] * 8 + [2.0**-149] * 8 + [2.0**127] * 8).to(device)
    assert torch.cumprod(x, 0)[16:18].tolist() == [2.0**-49, 2.0**78]
    zeros = torch.tensor([0.0, 1e200, 1e200] + [1.0] * 300 + [1e200, 1e200], dtype=torch.float64)
    assert not torch.cumprod(zeros.to(device), 0).any()


def test_a_long_row_of_the_identity_has_its_one(device):
    if device != "cpu":
        pytest.skip("three gigabytes, for a loop of the host's")
    assert torch.eye(1, 3037000500, dtype=torch.bool)[0, 0]


def test_small_sigmoids_and_zeros_keep_their_kind(device):
    x = torch.tensor([-709.6, -745.0], dtype=torch.float64).to(device)
    assert 6.67e-309 < torch.sigmoid(x)[0].item() < 6.68e-309 and torch.sigmoid(x)[1].item() > 0
    zero = F.logsigmoid(torch.tensor([710.0]).to(device))
    assert zero.item() == 0 and not torch.signbit(zero).item()


def test_heads_of_nothing_share_nothing(device):
    q, none = torch.ones(1, 2, 3, 4).to(device), torch.ones(1, 0, 3, 4).to(device)
    with pytest.raises(RuntimeError, match="must divide"):
        F.scaled_dot_product_attention(q, none, none, enable_gqa=True)


def test_the_first_bad_index_is_the_one_told():
    index = torch.zeros(2_000_000, dtype=torch.int64)
    index[60000], index[66000], index[131080] = 50, 99, 77
    for _ in range(20):
        with pytest.raises(IndexError, match="50"):
            torch.zeros(10).index_fill_(0, index, 1.0)


def test_gradients_of_normalisation_in_eval_round_once(device):
    norm = torch.nn.BatchNorm2d(1).half().eval()
    with torch.no_grad():
        norm.running_var.fill_(0)
        norm.weight.fill_(300)
    norm = norm.to(device)
    x = torch.ones(1, 1, 2, 2, dtype=torch.float16).to(device).requires_grad_()
    y = norm(x)
    (grad,) = torch.autograd.grad(y, x, torch.full_like(y, 1e-3))
    assert grad.isfinite().all() and abs(grad[0, 0, 0, 0].item() - 94.9) < 0.2


@pytest.mark.parametrize("rows,n", [(4, 64), (4, 16), (16, 64)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_norms_over_rows_are_sums(device, rows, n, dtype):
    column = torch.tensor([1e8, 1, -1e8, 1] * (rows // 4), dtype=dtype)
    huge = torch.tensor([3e38, 3e38, -3e38, -3e38] * (rows // 4), dtype=dtype)
    for dy in (column, huge):
        bias = torch.zeros(n, dtype=dtype).to(device).requires_grad_()
        x = torch.randn(rows, n, dtype=dtype).to(device)
        slope = dy.reshape(-1, 1).expand(rows, n).contiguous().to(device)
        y = F.layer_norm(x, (n,), None, bias)
        (of_bias,) = torch.autograd.grad(y, bias, slope)
        assert of_bias.tolist() == slope.cpu().double().sum(0).tolist() or device != "cpu"


def test_gradients_of_norms_pass_sums_beyond_float(device):
    x = (torch.arange(64).reshape(1, 64) / 8).to(device).requires_grad_()
    dy = torch.zeros(1, 64)
    dy[0, 8], dy[0, 24], dy[0, 40], dy[0, 56] = 2e38, 2e38, -2e38, -2e38
    (dx,) = torch.autograd.grad(F.layer_norm(x, (64,)), x, dy.to(device))
    assert dx.isfinite().all() or device != "cpu"


def test_closed_gates_let_nothing_through(device):
    x, h = torch.zeros(1, 4).to(device), torch.zeros(1, 8).to(device)
    c, w, u = torch.full((1, 8), 3e38), torch.zeros(32, 4), torch.zeros(32, 8)
    bias = torch.zeros(32)
    bias[8:16] = -float("inf")
    operands = [t.to(device) for t in (w, u, bias, bias)]
    after = torch.lstm_cell(x, [h, c.to(device)], *operands)[1]
    assert after.tolist() == [[0.0] * 8]
