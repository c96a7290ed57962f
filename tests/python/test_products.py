"""Every form of a matrix product is the library's on a GPU: operands that lie otherwise than it
takes them are copied, and flambeau's own kernel, several times slower, is not asked.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

OURS = "matmul mm bmm mv dot addmm baddbmm linear einsum scaled_dot_product_attention".split()


def drawn(*sizes, seed=0, dtype=torch.float32):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made).to(dtype)


def heads(seed):
    """[2, 3, 6, 4] as projections give it: [batch, length, heads, features] with its dimensions
    1 and 2 exchanged."""
    return drawn(2, 6, 3, 4, seed=seed).transpose(1, 2)


def many(seed, *, length=5):
    """[20, 18, length, 4], whose batch is one of two strides, neither of them few."""
    return drawn(20, length, 18, 4, seed=seed).transpose(1, 2)


A, B, C = drawn(6, 8), drawn(8, 5, seed=1), drawn(6, 5, seed=2)
BATCH, OTHERS, ADDED = drawn(3, 6, 8), drawn(3, 8, 5, seed=1), drawn(3, 6, 5, seed=2)
ROW, COLUMN = drawn(5, seed=3), drawn(6, 1, seed=4)
W = drawn(5, 8, seed=5)
Q, K, V = heads(6), heads(7), heads(8)


FORMS = {
    "matmul": (torch.matmul, A, B),
    "matmul, left transposed": (lambda a, b: a.T @ b, A.T.contiguous(), B),
    "matmul, right transposed": (lambda a, b: a @ b.T, A, W),
    "matmul, both transposed": (lambda a, b: a.T @ b.T, A.T.contiguous(), W),
    "matmul of every second column": (lambda a, b: a[:, ::2] @ b, drawn(6, 16), B),
    "matmul by every third row and second column": (lambda a, b: a @ b, A, drawn(24, 10)[::3, ::2]),
    "matmul of one row repeated": (lambda a, b: a.expand(6, 8) @ b, drawn(1, 8), B),
    "matmul by a number repeated": (lambda a, b: a @ b.expand(8, 5), A, drawn(1, 1)),
    "matmul, a batch by one matrix": (torch.matmul, BATCH, B),
    "matmul, one matrix by a batch": (torch.matmul, A, OTHERS),
    "matmul, batches that broadcast": (torch.matmul, drawn(3, 1, 6, 8), drawn(1, 2, 8, 5)),
    "matmul by a vector": (torch.matmul, A, drawn(8)),
    "mv of a transposed matrix": (lambda a, x: torch.mv(a.T, x), drawn(8, 6), drawn(8)),
    "dot": (torch.dot, drawn(9), drawn(9, seed=1)),
    "bmm": (torch.bmm, BATCH, OTHERS),
    "bmm, batch last": (torch.bmm, drawn(6, 8, 3).permute(2, 0, 1), OTHERS),
    "addmm with a bias": (torch.addmm, ROW, A, B),
    "addmm with a column": (torch.addmm, COLUMN, A, B),
    "addmm with a scaled row": (lambda x, a, b: torch.addmm(x, a, b, beta=2, alpha=3), ROW, A, B),
    "addmm with a matrix": (lambda x, a, b: torch.addmm(x, a, b, beta=0.5), C, A, B),
    "addmm with a transposed matrix": (torch.addmm, C.T.contiguous().T, A, B),
    "addmm in place": (lambda x, a, b: x.clone().addmm_(a, b, beta=2), C, A, B),
    "addmm in place, transposed": (lambda x, a, b: x.clone().T.addmm_(b.T, a.T), C, A, B),
    "baddbmm": (torch.baddbmm, ADDED, BATCH, OTHERS),
    "baddbmm with a row": (torch.baddbmm, ROW, BATCH, OTHERS),
    "baddbmm with a row for each": (torch.baddbmm, drawn(3, 1, 5), BATCH, OTHERS),
    "linear of a vector": (F.linear, drawn(8), W, ROW),
    "linear of rows": (F.linear, A, W, ROW),
    "linear of a batch": (F.linear, BATCH, W, ROW),
    "linear in four dimensions": (F.linear, drawn(2, 3, 6, 8), W, ROW),
    "linear without a bias, transposed": (lambda x, w: F.linear(x, w.T), A, B),
    "einsum ij,jk": (lambda a, b: torch.einsum("ij,jk->ik", a, b), A, B),
    "einsum bij,bkj": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), BATCH, drawn(3, 5, 8)),
    "einsum bhid,bhjd": (lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k), Q, K),
    "einsum bihd,bjhd": (
        lambda q, k: torch.einsum("bihd,bjhd->bhij", q.transpose(1, 2), k.transpose(1, 2)),
        Q,
        K,
    ),
    "scores of heads": (lambda q, k: q @ k.transpose(-2, -1), Q, K),
    "scores of many heads": (lambda q, k: q @ k.transpose(-2, -1), many(1), many(2)),
    "scores of heads that share keys": (
        lambda q, k: q @ k[:, :1].expand(2, 3, 6, 4).transpose(-2, -1),
        Q,
        K,
    ),
    "scores of many heads that share keys": (
        lambda q, k: q @ k[:, :1].expand(20, 18, 5, 4).transpose(-2, -1),
        many(1),
        many(2),
    ),
    "values of heads": (torch.matmul, drawn(2, 3, 6, 6), V),
    "values into heads that lie apart": (
        lambda w, v, out: torch.matmul(w, v, out=out.transpose(1, 2)),
        drawn(2, 3, 6, 6),
        V,
        torch.zeros(2, 6, 3, 4),
    ),
    "values of many heads into heads that lie apart": (
        lambda w, v, out: torch.matmul(w, v, out=out.transpose(1, 2)),
        drawn(20, 18, 5, 5),
        many(3),
        torch.zeros(20, 5, 18, 4),
    ),
    "mm into columns": (lambda a, b, out: torch.mm(a, b, out=out.T), A, B, torch.zeros(5, 6)),
    "mm into every second column": (
        lambda a, b, out: torch.mm(a, b, out=out[:, ::2]),
        A,
        B,
        torch.zeros(6, 10),
    ),
    "addmm into every second row, with a column": (
        lambda x, a, b, out: torch.addmm(x, a, b, out=out[::2]),
        COLUMN,
        A,
        B,
        torch.zeros(12, 5),
    ),
}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-2, torch.bfloat16: 0.15}


def kernels(call):
    """What a call gives, and the names of the kernels that it ran."""
    with profile() as found:
        y = call()
    return y, [k.name for e in found.events() for k in e.kernels]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_products_are_the_librarys(form, dtype, device, request):
    call, *operands = FORMS[form]
    operands = [x.to(dtype) for x in operands]

    def there(x):
        """Laid out on the device as it is here."""
        y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device)
        return y.copy_(x) if 0 not in x.stride() else x.to(device)

    ours = [there(x) for x in operands]
    y, names = kernels(lambda: call(*ours))
    wanted = call(*[x.double() for x in operands])
    torch.testing.assert_close(y.cpu().double(), wanted, rtol=0, atol=TOLERANCE[dtype])
    if request.config.getoption("--device") != "standin":
        return
    assert "cublasLtMatmul" in names
    assert not {f"{op}_kernel" for op in OURS} & {*names}
    assert names.count("cublasLtMatmul") <= 16


@pytest.mark.parametrize("dtype", [*TOLERANCE, "tf32"], ids=str)
def test_gradients_of_a_layer_take_one_pass_each(dtype, device, request):
    """That of the weight makes the bias's, too; in double precision the library makes one without
    the other."""
    tf32, dtype = dtype == "tf32", torch.float32 if dtype == "tf32" else dtype
    tolerance = 2e-2 if tf32 else 4 * TOLERANCE[dtype]
    operands = [x.to(dtype) for x in (drawn(2, 3, 6, 8), W, ROW)]
    slope = drawn(2, 3, 6, 5, seed=9).to(dtype)

    def gradients(there, kind):
        x, w, b = (t.detach().to(there, kind).requires_grad_() for t in operands)
        y, dy = F.linear(x, w, b), slope.to(there, kind)
        return kernels(lambda: torch.autograd.grad(y, (x, w, b), dy))

    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        found, names = gradients(device, dtype)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    for y, wanted in zip(found, gradients("cpu", torch.float64)[0]):
        torch.testing.assert_close(y.cpu().double(), wanted, rtol=0, atol=tolerance)
    if request.config.getoption("--device") != "standin":
        return
    assert names.count("cublasLtMatmul") == 2
    assert len(names) == (3 if dtype == torch.float64 else 2), names


def test_gradients_of_gradients_of_a_layer(device):
    x, w, b = (t.to(device).requires_grad_() for t in (A.half(), W.half(), ROW.half()))
    y = F.linear(x, w, b)
    first = torch.autograd.grad(y, (w, b), torch.ones_like(y), create_graph=True)
    (second,) = torch.autograd.grad(first[0].sum(), x)
    assert second.tolist() == [[5] * 8] * 6
    assert first[1].tolist() == [6] * 5


def test_gradients_of_a_layer_without_rows(device):
    x, w, b = (t.to(device).requires_grad_() for t in (drawn(0, 8).half(), W.half(), ROW.half()))
    F.linear(x, w, b).sum().backward()
    assert w.grad.tolist() == [[0] * 8] * 5 and b.grad.tolist() == [0] * 5
