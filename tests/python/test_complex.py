"""Complex tensors: NumPy's values, finite differences for gradients, PyTorch's words for what there
is none of."""

import copy
import io
import pickle

import numpy as np
import pytest

TYPES = ("complex64", "complex128")
UNARY = {
    "abs": np.abs,
    "angle": np.angle,
    "conj": np.conj,
    "conj_physical": np.conj,
    "exp": np.exp,
    "log": np.log,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "sgn": lambda z: z / np.abs(z),
    "sqrt": np.sqrt,
    "square": np.square,
}
BINARY = {
    "add": np.add,
    "div": np.divide,
    "mul": np.multiply,
    "sub": np.subtract,
}


def numbers(shape, seed=0, dtype="complex128"):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def close(got, want, dtype="complex128"):
    tolerance = 2e-6 if dtype in ("complex64", "float32") else 1e-14
    np.testing.assert_allclose(got.detach().cpu().numpy(), want, tolerance, tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(torch, device, name, dtype):
    z = numbers((3, 5), 1, dtype)
    got = getattr(torch, name)(torch.from_numpy(z).to(device))
    assert got.dtype == (getattr(torch, dtype).to_real() if name in ("abs", "angle") else
                         getattr(torch, dtype))  # fmt: skip
    close(got, UNARY[name](z.astype("complex128")), dtype)
    turned = torch.from_numpy(z).to(device).t()
    close(getattr(torch, name)(turned), UNARY[name](z.T.astype("complex128")), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(torch, device, name, dtype):
    a, b = numbers((4, 3), 2, dtype), numbers((3,), 3, dtype)
    real = np.linspace(1, 2, 3).astype("float64" if dtype == "complex128" else "float32")
    on = lambda v: torch.from_numpy(v).to(device)  # noqa: E731
    f, ref = getattr(torch, name), BINARY[name]
    close(f(on(a), on(b)), ref(a, b), dtype)
    close(f(on(a), on(real)), ref(a, real), dtype)
    close(f(on(real), on(a)), ref(real, a), dtype)
    for number in (2, 0.5, 1.5 - 2j):
        close(f(on(a), number), ref(a, number), dtype)
    z = on(a).clone()
    assert getattr(z, name + "_")(on(b)) is z
    close(z, ref(a, b), dtype)
    out = torch.empty(0, dtype=getattr(torch, dtype), device=device)
    f(on(a), on(b), out=out)
    close(out, ref(a, b), dtype)


def test_operators_with_numbers_of_python(torch, device):
    x = torch.arange(3.0, device=device)
    assert ((x + 1j) * 2j).tolist() == [-2 + 0j, -2 + 2j, -2 + 4j]
    assert (1j - x).tolist() == [1j, -1 + 1j, -2 + 1j]
    assert (2 / (x + 1j))[0].item() == -2j
    assert ((1 + x) / 1j).tolist() == [-1j, -2j, -3j]
    z = x + 1j
    z *= 1j
    assert z.tolist() == [-1 + 0j, -1 + 1j, -1 + 2j]
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        x *= 1j
    assert (z == -1).tolist() == [True, False, False] and (z != -1 + 1j).sum() == 2
    assert z.dtype == torch.complex64 and (x.double() * 1j).dtype == torch.complex128


KEPT = {
    "mul": lambda z: z * z,
    "mul by a number": lambda z: z * 2j,
    "mul of a row": lambda z: z * z[:, :1, :1, :1],
    "div": lambda z: z / z,
    "div of a number": lambda z: 2 / z,
    "exp": lambda z: z.exp(),
    "log": lambda z: z.log(),
    "sqrt": lambda z: z.sqrt(),
    "sgn": lambda z: z.sgn(),
    "conj": lambda z: z.conj_physical(),
    "square": lambda z: z.square(),
    "pow": lambda z: z**3,
    "reciprocal": lambda z: z.reciprocal(),
    "real times imaginary": lambda z: z.real * 1j,
}


@pytest.mark.parametrize("name", KEPT)
def test_results_lie_as_their_operands_do(torch, device, name):
    z = torch.from_numpy(numbers((2, 3, 4, 5))).to(device)
    dense = KEPT[name](z)
    assert dense.is_contiguous()
    for lie in (lambda t: t.to(memory_format=torch.channels_last), lambda t: t.permute(3, 0, 2, 1)):
        t = lie(z)
        got = KEPT[name](t)
        assert got.stride() == t.stride()
        assert torch.equal(got, KEPT[name](t.contiguous()))


def test_what_is_written_where_it_belongs_may_lie_in_any_way(torch, device):
    z = torch.from_numpy(numbers((2, 3, 4, 5))).to(device)
    want, image = z * z, z.to(memory_format=torch.channels_last)
    out = torch.zeros_like(image)
    assert torch.mul(z, z, out=out) is out and out.stride() == image.stride()
    grown = torch.mul(image, image, out=torch.empty(0, dtype=z.dtype, device=device))
    columns = torch.zeros(2, 3, 4, 10, dtype=z.dtype, device=device)[..., ::2]
    torch.mul(z, z, out=columns)
    over = image.clone(memory_format=torch.channels_last).mul_(z)
    crossed = z[..., :4].transpose(2, 3)
    crossed = torch.mul(crossed, z[..., :4], out=z[..., :4].clone())
    for got in (out, grown, columns, over):
        assert torch.equal(got, want)
    assert torch.equal(crossed, z[..., :4].transpose(2, 3) * z[..., :4])
    mirrored = z[0, 0, :, :4]
    want = mirrored.t() * mirrored
    torch.mul(mirrored.t(), mirrored, out=mirrored)  # which it reads
    assert torch.equal(mirrored, want)


def test_quotients_and_roots_at_their_ends(torch):
    big = 1e300
    values = [complex(big, big), complex(-big, big), 1e-300j, 0j, -4 + 0j, complex(-4, -0.0)]
    z = torch.tensor(values, dtype=torch.complex128)
    close(z.sqrt(), np.sqrt(z.numpy()))
    close(z[:3] / z[:3], np.ones(3))
    assert (torch.tensor([1 + 1j]) / 0).isinf().item()
    assert torch.tensor(0j).sgn().item() == 0 and torch.tensor(0j).angle().item() == 0
    assert torch.tensor(complex(np.inf, np.nan)).abs().isinf()
    assert torch.tensor(complex(-4, -0.0), dtype=torch.complex128).sqrt().item() == -2j


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, -1, -2, 0.5])
def test_powers(torch, exponent):
    z = numbers((5,), 4)
    np.testing.assert_allclose(torch.from_numpy(z).pow(exponent).numpy(), z**exponent, 1e-13)
    np.testing.assert_allclose((torch.from_numpy(z) ** exponent).numpy(), z**exponent, 1e-13)
    with pytest.raises(NotImplementedError, match="pow"):
        torch.from_numpy(z) ** 0.3


def test_sums_and_truth(torch, device):
    z = numbers((3, 4, 2), 5)
    t = torch.from_numpy(z).to(device)
    close(t.sum(), z.sum())
    close(t.sum(1), z.sum(1))
    close(t.sum((0, -1), keepdim=True), z.sum((0, -1), keepdims=True))
    close(t.transpose(0, 1).mean(0), z.mean(1))
    close(t.cumsum(1), z.cumsum(1))
    close(t[:, :, 0].trace(), z[:, :, 0].trace())
    close(torch.ones(2, device=device).sum(dtype=torch.complex128), 2)
    marks = torch.tensor([0j, 1j, complex(np.nan, 0), complex(0, np.inf)], device=device)
    assert marks.isnan().tolist() == [False, False, True, False]
    assert marks.isinf().tolist() == [False, False, False, True]
    assert marks.isfinite().tolist() == [True, True, False, False]
    assert marks.bool().tolist() == [False, True, True, True] and marks.any() and not marks.all()
    assert torch.count_nonzero(marks).item() == 3
    assert torch.allclose(t, t + 1e-12) and not torch.allclose(t, t + 1e-2j)
    assert torch.equal(t, t.clone()) and not torch.equal(t, t.conj())
    assert torch.isreal(torch.tensor([1 + 0j, 1j])).tolist() == [True, False]


def test_matrices(torch, device):
    a, b, v = numbers((3, 4), 6), numbers((4, 2), 7), numbers((4,), 8)
    batch = numbers((2, 4, 5), 9)
    A, B, V, C = (torch.from_numpy(m).to(device) for m in (a, b, v, batch))
    close(A @ B, a @ b)
    close(A @ V, a @ v)
    close(torch.matmul(A, C), a @ batch)
    close(torch.dot(V, V), v @ v)
    close(torch.vdot(V, V), np.vdot(v, v))
    close(torch.outer(V, V), np.outer(v, v))
    close(torch.einsum("ij,jk->ki", A, B), (a @ b).T)
    close(torch.nn.functional.linear(C.mT, A, A[:, 0]), batch.swapaxes(1, 2) @ a.T + a[:, 0])
    close(torch.addmm(A[:, :2], A, B, beta=2, alpha=3), 2 * a[:, :2] + 3 * a @ b)
    close(A.mH, a.conj().T)
    close(A.H @ A, a.conj().T @ a)
    close(A.adjoint(), a.conj().T)


MOVES = [
    ("t[1]", "z[1]"),
    ("t[:, 1:3]", "z[:, 1:3]"),
    ("t[torch.tensor([2, 0])]", "z[[2, 0]]"),
    ("t[:, torch.tensor([2, 0]), 0]", "z[:, [2, 0], 0]"),
    ("t[t.real > 0]", "z[z.real > 0]"),
    ("t.masked_select(t.imag > 0)", "z[z.imag > 0]"),
    ("t.index_select(1, torch.tensor([3, 3]))", "z[:, [3, 3]]"),
    ("t.gather(1, torch.zeros(3, 2, 2, dtype=torch.int64))", "z[:, [0, 0]]"),
    ("t.take(torch.tensor([5, 1]))", "z.reshape(-1)[[5, 1]]"),
    ("t.flip(0, 2)", "z[::-1, :, ::-1]"),
    ("t.roll(1, 1)", "np.roll(z, 1, 1)"),
    ("t.permute(2, 0, 1)", "z.transpose(2, 0, 1)"),
    ("t.reshape(2, -1)", "z.reshape(2, -1)"),
    ("t.transpose(0, 2).reshape(-1)", "z.transpose(2, 1, 0).reshape(-1)"),
    ("t[:1].expand(4, -1, -1)", "np.broadcast_to(z[:1], (4, 4, 2))"),
    ("torch.cat([t, t.conj()], 1)", "np.concatenate([z, z.conj()], 1)"),
    ("torch.cat([t, t.real], 1)", "np.concatenate([z, z.real], 1)"),
    ("torch.stack([t, t])", "np.stack([z, z])"),
    ("torch.where(t.real > 0, t, 1j)", "np.where(z.real > 0, z, 1j)"),
    ("t.masked_fill(t.real > 0, 2 - 1j)", "np.where(z.real > 0, 2 - 1j, z)"),
    ("t.repeat(2, 1, 1)", "np.tile(z, (2, 1, 1))"),
    ("t[0].diagonal()", "z[0].diagonal()"),
    ("torch.full((2,), 1 + 1j, dtype=t.dtype)", "np.full(2, 1 + 1j)"),
    ("torch.zeros_like(t).copy_(t.real)", "z.real + 0j"),
    ("t.to(torch.complex64).to(torch.complex128)", "z.astype('complex64')"),
    ("torch.ones(2, dtype=t.dtype).to(torch.complex64)", "np.ones(2)"),
    ("torch.zeros_like(t).index_put_((torch.tensor([0, 0]),), t[:2], accumulate=True)",
     "np.concatenate([z[:1] + z[1:2], np.zeros((2, 4, 2))])"),
    ("torch.zeros(3, 4, 2, dtype=t.dtype).index_add_(0, torch.tensor([1, 1]), t[:2])",
     "np.concatenate([np.zeros((1, 4, 2)), z[:1] + z[1:2], np.zeros((1, 4, 2))])"),
    ("torch.zeros_like(t).scatter_add(0, torch.ones(2, 4, 2, dtype=torch.int64), t)",
     "np.concatenate([np.zeros((1, 4, 2)), z[:1] + z[1:2], np.zeros((1, 4, 2))])"),
    ("torch.chunk(t, 2, 1)[1]", "z[:, 2:]"),
    ("t.unbind(1)[2]", "z[:, 2]"),
    ("torch.empty_like(t).fill_(3j)", "np.full((3, 4, 2), 3j)"),
    ("t.clone().zero_()", "np.zeros((3, 4, 2))"),
    ("t.squeeze().unsqueeze(0)", "z[None]"),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ours, numpys", MOVES)
def test_moves(torch, ours, numpys, dtype):
    z = numbers((3, 4, 2), 10, dtype)
    t = torch.from_numpy(z.copy())
    want = eval(numpys, dict(z=z, np=np))
    close(eval(ours, dict(t=t, torch=torch)), want, "complex64" if "64" in ours else dtype)


def test_parts_are_views(torch, device):
    z = torch.zeros(2, 3, dtype=torch.complex64, device=device)
    z.real.fill_(1)
    z.imag[1] = 2
    assert z.tolist() == [[1 + 0j] * 3, [1 + 2j] * 3]
    z.imag = z.real
    pairs = torch.view_as_real(z)
    assert pairs.shape == (2, 3, 2) and pairs.stride() == (6, 2, 1)
    assert pairs.data_ptr() == z.data_ptr() and torch.equal(torch.view_as_complex(pairs), z)
    version = z._version
    pairs.mul_(2)
    assert z._version == version + 1 and z.tolist() == [[2 + 2j] * 3] * 2
    for wrong, text in (
        (torch.zeros(3), "last dimension of size 2"),
        (torch.zeros(2, 3).t(), "last dimension with stride 1"),
        (torch.zeros(4, 3)[:, :2], "stride divisible by 2"),
        (torch.zeros(8)[1:3], "storage_offset divisible by 2"),
        (torch.zeros(4, 2, dtype=torch.int64), "only supported for"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.view_as_complex(wrong)
    with pytest.raises(RuntimeError, match="only supported for complex tensors"):
        torch.view_as_real(torch.zeros(2))


# Losses of leaves a, b: each has a gradient by finite differences of the leaves' parts.
LOSSES = [
    "(a * b).abs().sum()",
    "(a / b).real.sum()",
    "a.exp().imag.sum()",
    "a.log().real.sum() + a.log().imag.sum()",
    "a.sqrt().imag.sum()",
    "a.square().real.sum()",
    "a.reciprocal().imag.sum()",
    "(a ** 3).real.sum()",
    "(a ** -2).imag.sum()",
    "a.angle().sum()",
    "(a.sgn() * b).real.sum()",
    "(a.conj() * b).imag.sum()",
    "(a.real * b.imag).sum()",
    "(a + 2 * b - b.real).abs().sum()",
    "(a.t() @ b).abs().sum()",
    "torch.vdot(a[0], b[0]).real",
    "torch.view_as_complex(torch.view_as_real(a) * 2).exp().real.sum()",
    "torch.polar(a.abs(), b.angle()).real.sum()",
    "torch.complex(a.real, b.imag).abs().sum()",
    "torch.where(a.real > 0, a, b).abs().sum()",
    "torch.cat([a, b.real]).cumsum(0).abs().sum()",
    "a[:, torch.tensor([1, 1, 0])].mean(1).abs().sum()",
    "a.expand(2, 3, 2).sum((0, 2)).abs().sum()",
    "a.to(torch.complex64).to(torch.complex128).real.sum() * 0 + a.abs().sum()",
    "(a.clone().mul_(b).add_(1j)).abs().sum()",
    "torch.einsum('ij,kj->ik', a, b).abs().sum()",
]


def test_gradients_are_those_of_both_parts(torch):
    for loss in LOSSES:
        parts = [torch.from_numpy(numbers((3, 2), s)) for s in (11, 12)]

        def f(a, b, loss=loss):
            return eval(loss, dict(a=a, b=b, torch=torch))

        leaves = [p.clone().requires_grad_() for p in parts]
        grads = torch.autograd.grad(f(*leaves), leaves, allow_unused=True)
        for i, g in enumerate(grads):
            for at in np.ndindex(3, 2):
                for step in (1e-6, 1e-6j):
                    moved = []
                    for sign in (1, -1):
                        shifted = [p.clone() for p in parts]
                        shifted[i][at] += sign * step
                        moved.append(f(*shifted).item())
                    slope = (moved[0] - moved[1]) / 2e-6
                    got = 0 if g is None else g[at].item()
                    part = got.real if step.imag == 0 else complex(got).imag
                    assert part == pytest.approx(slope, abs=1e-6, rel=1e-5), (loss, i, at, step)


def test_second_derivatives(torch):
    z = torch.tensor([1 + 2j, -0.5 + 1j], dtype=torch.complex128, requires_grad=True)
    (g,) = torch.autograd.grad((z * z.conj() * z).real.sum(), z, create_graph=True)
    (h,) = torch.autograd.grad(g.abs().square().sum(), z)
    step = 1e-6

    def slope(at):
        w = at.clone().requires_grad_()
        (g,) = torch.autograd.grad((w * w.conj() * w).real.sum(), w)
        return g.abs().square().sum().item()

    for i in range(2):
        for d in (step, 1j * step):
            up, down = z.detach().clone(), z.detach().clone()
            up[i] += d
            down[i] -= d
            got = h[i].item()
            part = got.real if d == step else got.imag
            assert part == pytest.approx((slope(up) - slope(down)) / (2 * step), rel=1e-5)


def test_writes_through_parts_reach_the_graph(torch):
    base = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    z = base * 1
    torch.view_as_real(z).mul_(torch.tensor([2.0, 3.0]))
    z.abs().square().sum().backward()
    assert base.grad.tolist() == [2 * 4 + 2 * 9 * 1j, 2 * 4 * 2 - 2 * 9 * 1j]
    pairs = torch.ones(2, 2, requires_grad=True)
    seen = (pairs * 1).reshape(2, 2)
    torch.view_as_complex(seen).mul_(1j)  # (re, im) -> (-im, re)
    (seen * torch.tensor([1.0, 10.0])).sum().backward()
    assert pairs.grad.tolist() == [[10.0, -1.0]] * 2
    view = base.detach().clone().requires_grad_() * 1
    real = view.real
    view.mul_(1j)
    real.sum().backward()


def test_backward_begins_with_a_real_number(torch):
    z = torch.tensor([1j], requires_grad=True)
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        (z * 2).sum().backward()
    (z * 2).sum().backward(torch.tensor(1 + 1j))
    assert z.grad.item() == 2 + 2j
    saved = torch.tensor([1j], requires_grad=True) * 1
    product = saved * saved
    saved.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.real.sum().backward()


def test_dtypes(torch):
    assert torch.promote_types(torch.complex64, torch.float64) is torch.complex128
    assert torch.promote_types(torch.complex64, torch.int64) is torch.complex64
    assert torch.result_type(torch.ones(2, dtype=torch.float64), 1j) is torch.complex128
    assert (
        torch.result_type(torch.ones(2), torch.tensor(1j, dtype=torch.complex128))
        is torch.complex64
    )
    assert torch.can_cast(torch.float64, torch.complex64)
    assert not torch.can_cast(torch.complex64, torch.float64)
    assert torch.complex64.to_real() is torch.float32 and torch.complex64.itemsize == 8
    assert torch.float64.to_complex() is torch.complex128
    assert torch.is_complex(torch.zeros(1, dtype=torch.cdouble))
    assert torch.zeros(1, dtype=complex).dtype is torch.complex128
    assert torch.tensor([1, 2.5, 1j]).dtype is torch.complex64
    assert torch.zeros(1, dtype=torch.cfloat).type() == "torch.ComplexFloatTensor"
    assert torch.tensor([2 + 1j]).to(torch.float32).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(2).fill_(1j)
    with pytest.raises(RuntimeError, match="without overflow"):
        float(torch.tensor(1j))
    assert float(torch.tensor(2 + 0j)) == 2.0 and complex(torch.tensor(1j)) == 1j


def test_text(torch):
    assert str(torch.tensor([1 + 2j, 3])) == "tensor([1.+2.j, 3.+0.j])"
    text = "tensor([    inf+1.j, -2.2500-3.j])"
    assert str(torch.tensor([complex(np.inf, 1), -2.25 - 3j])) == text
    text = "tensor([1.5000+0.0000e+00j, 2.0000-1.0000e-05j])"
    assert str(torch.tensor([1.5, 2 - 1e-5j])) == text
    text = "tensor([[1.0000+2.j],\n        [2.5000-1.j]], dtype=torch.complex128)"
    assert str(torch.tensor([[1 + 2j], [2.5 - 1j]], dtype=torch.complex128)) == text
    text = "tensor([1.+2.j, 3.+0.j], requires_grad=True)"
    assert str(torch.tensor([1 + 2j, 3], requires_grad=True)) == text


def test_in_and_out(torch, tmp_path):
    z = numbers((2, 3), 13, "complex64")
    t = torch.from_numpy(z)
    assert t.numpy() is not z and t.data_ptr() == z.ctypes.data
    assert torch.equal(torch.from_dlpack(t), t)
    np.testing.assert_array_equal(np.from_dlpack(t), z)
    for again in (copy.deepcopy(t), pickle.loads(pickle.dumps(t)), torch.tensor(t.tolist())):
        assert torch.equal(again, t) and again.dtype == t.dtype
    file = io.BytesIO()
    torch.save({"z": t, "w": t.to(torch.complex128)}, file)
    file.seek(0)
    found = torch.load(file)
    assert torch.equal(found["z"], t) and found["w"].dtype is torch.complex128
    path = tmp_path / "z.safetensors"
    from flambeau.safetensors import load_file, save_file

    save_file({"z": t}, path)
    assert torch.equal(load_file(path)["z"], t)
    with pytest.raises(NotImplementedError, match="no dtype for"):
        save_file({"z": t.to(torch.complex128)}, path)
    assert torch.equal(load_file(path)["z"], t)


def test_modules_and_autocast_leave_them_alone(torch, device):
    module = torch.nn.Module()
    module.register_buffer("z", torch.ones(3, dtype=torch.complex64) * 1j)
    module.to(device).half()
    assert module.z.dtype is torch.complex64 and module.z.device.type == device
    with torch.autocast(device):
        assert (module.z * module.z).dtype is torch.complex64
        assert torch.outer(module.z, module.z).dtype is torch.complex64


def test_gradcheck_looks_at_both_parts(torch):
    z = torch.from_numpy(numbers((2, 2), 14)).requires_grad_()
    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradcheck
    assert check(lambda z, x: (z * x).exp(), (z, x))
    assert torch.autograd.gradgradcheck(lambda z: z * z.conj() * z, (z,))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z * 1j

        @staticmethod
        def backward(ctx, g):
            return g * 1j  # not conjugated

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        check(Wrong.apply, (z,))
