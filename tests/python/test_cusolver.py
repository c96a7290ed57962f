"""Factorizations by cuSOLVER through the package, over the stand-in for it: nothing is copied to
the host, what it cannot do says so, and without it the host factors and says so once.
"""

import os
import pathlib
import shutil
import threading

import numpy as np
import pytest

from tests.harness import child

STANDIN = pathlib.Path(os.environ.get("FLAMBEAU_LIBRARY", "")).parent.absolute()


@pytest.fixture(autouse=True)
def standin(request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone shows what cuSOLVER was asked for, and can be absent")


@pytest.fixture
def L(torch):
    return torch.linalg


def definite(torch, *batch, n=5, dtype=None):
    torch.manual_seed(1)
    a = torch.randn(*batch, n, n, dtype=dtype or torch.float64)
    return (a @ a.mT + torch.eye(n, dtype=a.dtype)).to("cuda")


def copies(torch, f):
    """Names of the copies that a call makes, and their number."""
    torch.cuda.synchronize()
    with torch.profiler.profile() as found:
        f()
        torch.cuda.synchronize()
    return [e.name for e in found.events() if "DtoH" in e.name or "HtoD" in e.name]


def without_copies(torch):
    L, x = torch.linalg, definite
    one, two = x(torch), x(torch, 2)
    many, tall = x(torch, 40), torch.randn(7, 4, device="cuda")
    b, triangle = torch.randn(40, 5, 2, dtype=torch.float64, device="cuda"), torch.tril(one)
    return {
        "cholesky_ex": lambda: [L.cholesky_ex(a, upper=u) for a in (one, many) for u in (0, 1)],
        "lu_factor_ex": lambda: [L.lu_factor_ex(a) for a in (one, two, many, tall)],
        "lu": lambda: [L.lu(a) for a in (one, tall)],
        "inv_ex": lambda: [L.inv_ex(a) for a in (one, many)],
        "solve_ex": lambda: [L.solve_ex(a, b[0]) for a in (one, many)],
        "solve_triangular": lambda: [
            L.solve_triangular(a, b, upper=False) for a in (triangle, torch.tril(many))
        ],
        "transposed": lambda: L.solve_triangular(triangle.mT, b[0], upper=True),
        "det": lambda: [f(a) for a in (one, many) for f in (L.det, L.slogdet)],
        "qr": lambda: [
            L.qr(a, mode) for a in (tall, tall.mT) for mode in ("reduced", "r", "complete")
        ],
        "geqrf": lambda: torch.geqrf(tall),
        "cholesky_solve": lambda: torch.cholesky_solve(b[0], triangle),
    }


def test_no_host_copy_is_made(torch):
    for name, f in without_copies(torch).items():
        assert copies(torch, f) == [], name


def test_errors_cost_one_copy_of_their_flags(torch, L):
    a = definite(torch, 2)
    for f in (L.cholesky, L.lu_factor, L.inv, L.eigh, L.eigvalsh, L.svd, L.svdvals):
        assert len(copies(torch, lambda f=f: f(a))) == 1, f


def test_results_and_gradients_are_the_hosts(torch, L):
    b = torch.randn(3, 5, 2, dtype=torch.float64)
    cases = [
        lambda a, d: L.cholesky(a),
        lambda a, d: L.cholesky(a, upper=True),
        lambda a, d: L.inv(a),
        lambda a, d: L.solve(a, b.to(d)),
        lambda a, d: L.det(a),
        lambda a, d: L.slogdet(a).logabsdet,
        lambda a, d: L.lu_factor(a).LU,
        lambda a, d: L.qr(a).R.abs(),
        lambda a, d: L.eigvalsh(a),
        lambda a, d: L.svdvals(a[..., :3]),
        lambda a, d: L.svdvals(a[..., :3, :]),
        lambda a, d: L.solve_triangular(a, b.to(d), upper=True),
        lambda a, d: L.pinv(a),
    ]
    for batch in ((), (3,), (20,)):
        for i, f in enumerate(cases):
            found = []
            if batch == (20,) and i in (3, 11):
                continue  # b has another batch
            for device in ("cpu", "cuda"):
                a = definite(torch, *batch).to(device).requires_grad_()
                y = f(a, device)
                y.square().sum().backward()
                found.append((y.detach().cpu().numpy(), a.grad.cpu().numpy()))
            for here, there in zip(*found):
                np.testing.assert_allclose(
                    there, here, rtol=1e-7, atol=1e-9, err_msg=f"{i} {batch}"
                )


def test_a_vector_of_each_solution_lies_as_the_factor_does(torch, L):
    """Of both orders of memory, with gaps, and of broadcast matrices."""
    a = torch.tril(definite(torch))
    b = torch.randn(4, 5, 3, dtype=torch.float64, device="cuda")
    wide = torch.zeros(5, 9, dtype=a.dtype, device="cuda")
    wide[:, 2:7] = a
    for same in (a, a.mT.contiguous().mT, wide[:, 2:7], wide.mT.contiguous().mT[:, 2:7]):
        for right in (b[0], b):
            x = L.solve_triangular(same, right, upper=False)
            assert torch.allclose(a @ x, right.expand_as(x))


def test_what_has_no_factor_is_said_as_on_the_host(torch, L):
    eye = torch.eye(3, device="cuda")
    both = torch.stack([eye, 0 * eye])
    order = "leading minor of order 1 is not positive-definite"
    for f, a, text in (
        (L.cholesky, both, rf"\(Batch element 1\).*{order}"),
        (L.inv, 0 * eye, "diagonal element 1 is zero"),
        (L.lu_factor, 0 * eye, r"U\[1,1\] is zero"),
        (L.eigh, eye * float("nan"), "failed to converge"),
        (L.svd, torch.stack([eye, eye * float("inf")]), r"\(Batch element 1\).*non-finite"),
        (L.svdvals, torch.full((2, 3), float("nan"), device="cuda"), "non-finite"),
    ):
        with pytest.raises(L.LinAlgError, match=text):
            f(a)
    assert L.cholesky_ex(both).info.tolist() == [0, 1]
    assert L.inv_ex(both).info.tolist() == [0, 1]
    lu, pivots = L.lu_factor(eye)
    with pytest.raises(RuntimeError, match="smaller or equal to 3, got 7"):
        L.lu_solve(lu, pivots + 6 * (pivots == 1).int(), eye)


def test_a_capture_holds_triangles_and_refuses_factors(torch, L):
    a, b = torch.tril(definite(torch)), torch.ones(5, 2, dtype=torch.float64, device="cuda")
    L.solve_triangular(a, b, upper=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x = L.solve_triangular(a, b, upper=False)
    b.fill_(3)
    graph.replay()
    assert torch.allclose(a @ x, b)
    with pytest.raises(
        RuntimeError, match="cuSOLVER promises no factorization in a captured graph"
    ):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            L.cholesky_ex(a)
    assert torch.allclose(L.cholesky(a @ a.mT).abs(), a.abs())


def test_threads_and_streams_factor_at_once(torch, L):
    matrices = [definite(torch, n=n) for n in (3, 5, 8, 13)]
    wrong = []

    def factored(i):
        stream = torch.cuda.Stream() if i % 2 else torch.cuda.default_stream()
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):
                a = matrices[i % 4]
                factor = L.cholesky(a)
                values, vectors = L.eigh(a)
                good = torch.allclose(factor @ factor.mT, a)
                if not good or not torch.allclose((vectors * values) @ vectors.mT, a):
                    wrong.append(i)

    threads = [threading.Thread(target=factored, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not wrong and not any(t.is_alive() for t in threads)


FACTORED = """
import warnings
import flambeau as torch
a = torch.eye(4, device="cuda") * 4
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for f in (torch.linalg.cholesky, torch.linalg.svdvals):
        try:
            print(f(a).diagonal().tolist() if f is torch.linalg.cholesky else f(a).tolist())
        except Exception as e:
            print(type(e).__name__, e)
print(*(f"told: {w.message}" for w in told), sep="\\n")
"""


def test_failures_name_the_call_and_its_status():
    said = child.output(FACTORED, FLAMBEAU_STANDIN_CUSOLVER="fails", timeout=60)
    assert "cuSOLVER: potrf failed with CUSOLVER_STATUS_INTERNAL_ERROR" in said
    assert "cuSOLVER: gesvd failed with CUSOLVER_STATUS_INTERNAL_ERROR" in said
    said = child.output(FACTORED, FLAMBEAU_STANDIN_CUSOLVER="endless", timeout=60)
    assert "[2.0, 2.0, 2.0, 2.0]" in said
    assert (
        "LinAlgError linalg.svd: The algorithm failed to converge because the input matrix is ill"
        in said
    )


PRESSED = """
import flambeau as torch
x = torch.zeros(10 << 20, device="cuda")
del x
print(torch.linalg.cholesky(torch.eye(4, device="cuda")).sum().item())
print(torch.cuda.memory_reserved() < 40 << 20)
"""


def test_the_cache_makes_room_for_a_handle():
    pressed = {"FLAMBEAU_STANDIN_CUSOLVER": "memory"} | child.gpus("devices=1,memory=64MiB")
    assert child.output(PRESSED, timeout=60, **pressed) == "4.0\nTrue\n"


def test_without_the_library_the_host_factors_and_says_so_once(tmp_path):
    names = ("libcusolver.so.12", "libcusolver.so.11")
    for name in names:
        if not child.python("-c", f"__import__('ctypes').CDLL('{name}')").returncode:
            pytest.skip(f"this system has {name}")
    # A copy: beside the file that a link leads to, libraries are looked for, too.
    shutil.copy(STANDIN / "libflambeau.so.0", tmp_path)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libcublasLt.so.13"):
        (tmp_path / name).symlink_to(STANDIN / name)
    here = {"FLAMBEAU_LIBRARY": str(tmp_path / "libflambeau.so.0"), "LD_LIBRARY_PATH": ""}
    said = child.output(FACTORED, timeout=60, **here)
    assert "[2.0, 2.0, 2.0, 2.0]\n[4.0, 4.0, 4.0, 4.0]" in said
    assert said.count("told: Matrices are factored on the host") == 1
    assert "pip install nvidia-cusolver" in said
    assert said.index("libcusolver.so.12") < said.index("libcusolver.so.11")
