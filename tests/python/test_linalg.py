"""torch.linalg beside its operations' table: errors and their classes, tuples, old spellings."""

import flambeau as torch
import numpy as np
import pytest

L = torch.linalg
ZERO, EYE = torch.zeros(3, 3), torch.eye(3)


def test_what_has_no_factor_is_a_linalg_error():
    assert issubclass(L.LinAlgError, RuntimeError)
    order = r"the leading minor of order 1 is not positive-definite"
    with pytest.raises(L.LinAlgError, match=rf"linalg.cholesky: The factorization .*{order}"):
        L.cholesky(ZERO)
    with pytest.raises(L.LinAlgError, match=r"linalg.cholesky: \(Batch element 1\)"):
        L.cholesky(torch.stack([EYE, ZERO]))
    with pytest.raises(L.LinAlgError, match="torch.linalg.solve: The solver failed"):
        L.solve(ZERO, EYE)
    with pytest.raises(L.LinAlgError, match="linalg.inv: The diagonal element 1 is zero"):
        torch.inverse(ZERO)
    with pytest.raises(L.LinAlgError, match="failed to converge"):
        L.eigh(EYE * float("nan"))
    with pytest.raises(L.LinAlgError, match="non-finite"):
        L.svd(EYE * float("nan"))
    with pytest.raises(RuntimeError, match="A must be batches of square matrices"):
        L.cholesky(torch.zeros(2, 3))


def test_infos_say_which_matrix_failed():
    both = torch.stack([EYE, ZERO])
    assert L.cholesky_ex(both).info.tolist() == [0, 1]
    assert L.inv_ex(both).info.tolist() == [0, 1]
    assert L.solve_ex(both, EYE).info.tolist() == [0, 1]
    assert L.cholesky_ex(both).info.dtype == torch.int32


def test_singular_matrices_have_determinants():
    assert L.det(ZERO) == 0 and torch.logdet(ZERO) == -float("inf")
    sign, size = torch.slogdet(ZERO)
    assert sign == 0 and size == -float("inf")
    assert torch.logdet(-EYE).isnan() and L.cond(ZERO, 1) == float("inf")
    assert L.det(torch.zeros(0, 0)) == 1


def test_eigenvalues_of_general_matrices_are_unsupported():
    for f in (L.eig, L.eigvals):
        with pytest.raises(NotImplementedError, match="complex"):
            f(EYE)


def test_least_squares_return_what_the_driver_knows():
    a, b = torch.randn(2, 5, 3), torch.randn(2, 5, 4)
    shapes = {
        None: [(2, 3, 4), (0,), (2,), (0,)],
        "gels": [(2, 3, 4), (2, 4), (0,), (0,)],
        "gelsd": [(2, 3, 4), (2, 4), (2,), (2, 3)],
    }
    for driver, expected in shapes.items():
        found = L.lstsq(a, b, driver=driver)
        assert [tuple(t.shape) for t in found] == expected
    wanted = np.linalg.lstsq(a[0].numpy(), b[0].numpy(), rcond=None)
    np.testing.assert_allclose(found.solution[0].numpy(), wanted[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.residuals[0].numpy(), wanted[1], rtol=1e-3)
    assert found.rank.tolist() == [3, 3]


def test_norms_by_name_and_number():
    x = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert torch.norm(x) == torch.norm(x, p="fro") == x.norm() == L.norm(x) == L.matrix_norm(x) == 5
    assert x.norm("nuc") == L.norm(x, "nuc") == L.matrix_norm(x, ord="nuc") == 7
    assert L.vector_norm(x, ord=1) == 7
    assert L.norm(x, 2) == 4 and L.norm(x, ord=-2) == 3 and L.norm(x, 1, dim=0).tolist() == [3, 4]
    assert L.cond(x, "fro") == pytest.approx(5 * (1 / 9 + 1 / 16) ** 0.5)


def test_out_and_results():
    a = torch.randn(3, 3)
    out = torch.empty(0)
    assert L.inv(a, out=out) is out and out.shape == (3, 3)
    q, r = torch.empty(0), torch.empty(0)
    found = L.qr(a, out=(q, r))
    assert found.Q is q and torch.allclose(q @ r, a, atol=1e-5)
    assert torch.allclose(L.multi_dot([a, a, a]), torch.chain_matmul(a, a, a), atol=1e-4)


def test_old_spellings():
    a = torch.randn(4, 3, dtype=torch.float64)
    u, s, v = torch.svd(a)
    assert torch.allclose(u @ s.diag() @ v.mT, a) and a.svd().V.shape == (3, 3)
    assert torch.svd(a, compute_uv=False).U.shape == (4, 4)
    q, r = a.qr()
    assert torch.allclose(q @ r, a) and torch.allclose(torch.pinverse(a) @ a, torch.eye(3).double())
    m = a[:3].triu() + 4 * torch.eye(3).double()
    assert torch.allclose(m @ torch.triangular_solve(a[:3], m).solution, a[:3])
    assert torch.allclose(m @ torch.lu_solve(a[:3], *L.lu_factor(m)), a[:3])
    assert torch.equal(torch.ger(a[0], a[1]), torch.outer(a[0], a[1]))


def test_products_of_one_matrix_and_of_none():
    a, out = torch.randn(2, 3), torch.empty(0)
    assert torch.chain_matmul(a) is a and torch.chain_matmul([a, a.mT]).equal(a @ a.mT)
    assert torch.chain_matmul(a, out=out) is out and out.equal(a)
    for wrong, said in (((), "Expected one or more"), ((a[0],), "expected 2")):
        with pytest.raises(RuntimeError, match=said):
            torch.chain_matmul(*wrong)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_what_torch_has_removed_says_what_to_use(name):
    a = torch.eye(2)
    calls = [getattr(torch, name)] + ([] if name == "matrix_rank" else [getattr(a, name)])
    for call in calls:
        with pytest.raises(RuntimeError, match="deprecated since .* now removed.*torch.linalg"):
            call(a)


def test_norms_of_nothing_have_no_identity():
    for order in (-0.5, -1, -2, -float("inf"), float("inf")):
        for x, dim in ((torch.ones(0), None), (torch.ones(3, 0), 1), (torch.ones(0, 2), (0, 1))):
            with pytest.raises(RuntimeError, match="does not have an identity"):
                L.vector_norm(x, order, dim)
        assert L.vector_norm(torch.ones(0, 2), order, 1).shape == (0,)
    assert L.vector_norm(torch.ones(3, 0), 2, 1).tolist() == [0, 0, 0]


def test_condition_of_singular_matrices_among_others():
    a = torch.stack([torch.ones(2, 2), torch.eye(2)])
    for p in (1, -1, float("inf"), "fro", "nuc"):
        found = L.cond(a, p).tolist()
        assert found[0] == float("inf") and found[1] == pytest.approx(
            L.cond(torch.eye(2), p).item()
        )


def test_least_squares_of_no_right_sides_and_of_no_matrices():
    a = torch.eye(3, 2)
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        assert L.lstsq(a, torch.ones(3, 0), driver=driver).solution.shape == (2, 0)
        none = L.lstsq(a.expand(0, 3, 2), torch.ones(0, 3, 4), driver=driver)
        assert none.solution.shape == (0, 2, 4)
        assert none.residuals.shape == ((0,) if driver == "gelsy" else (0, 4))


def test_factors_without_a_gradient_say_so_in_backward():
    a = torch.randn(4, 3, requires_grad=True)
    for mode in ("complete", "r"):
        with pytest.raises(RuntimeError, match=f"mode='{mode}'"):
            L.qr(a, mode).R.sum().backward()
    b = torch.randn(4, 2, requires_grad=True)
    found = L.lstsq(a, b, driver="gels")
    (slope,) = torch.autograd.grad(found.residuals.sum(), b)
    assert torch.allclose(slope, 2 * (b - a @ found.solution), atol=1e-4)


def test_old_spellings_of_triangular_factors():
    a = torch.randn(3, 3, dtype=torch.float64)
    LU, pivots = torch.lu(a)
    P, lower, upper = torch.lu_unpack(LU, pivots)
    assert torch.allclose(P @ lower @ upper, a)
    assert torch.lu_unpack(LU, pivots, unpack_pivots=False).P.shape == (0,)
    assert torch.lu(torch.zeros(2, 2), get_infos=True)[2] == 1
    assert torch.zeros(2, 2).lu()[0].equal(torch.zeros(2, 2))  # torch checks nothing here either
    b = torch.randn(3, 2, dtype=torch.float64)
    assert torch.allclose(b.lu_solve(LU, pivots), torch.linalg.solve(a, b))


def test_ranks_with_a_tolerance_for_each_matrix():
    a = torch.diag_embed(torch.tensor([[1.0, 0.1, 0.01], [1.0, 0.1, 0.01]]))
    assert L.matrix_rank(a, atol=torch.tensor([0.05, 0.5])).tolist() == [2, 1]
    assert L.matrix_rank(a, rtol=torch.tensor([0.05, 0.001])).tolist() == [2, 3]
    assert L.matrix_rank(a, atol=torch.tensor([0.0, 0.5]), hermitian=True).tolist() == [3, 1]


def test_maps_of_several_dimensions():
    a = torch.eye(6).reshape(2, 3, 6) * 2
    assert torch.equal(L.tensorinv(a), torch.eye(6).reshape(6, 2, 3) / 2)
    assert torch.equal(L.tensorsolve(a, torch.ones(2, 3)), torch.full((6,), 0.5))
    assert L.vander(torch.tensor([1, 2, 3])).tolist() == [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    assert L.pinv(torch.eye(2), 0.1).tolist() == [[1, 0], [0, 1]]
    assert L.matrix_rank(torch.diag(torch.tensor([1.0, 0.01])), 0.1) == 1


def test_results_are_where_operands_are(device):
    a = torch.randn(3, 3)
    p = a @ a.T + EYE
    there = p.to(device)
    for f in (L.inv, L.cholesky, L.det, L.eigvalsh, L.svdvals):
        found = f(there)
        assert found.device == there.device
        torch.testing.assert_close(found.cpu(), f(p))
    assert torch.allclose(L.pinv(there).cpu() @ p, EYE, atol=1e-3)


@pytest.mark.parametrize("uplo", "LU")
def test_of_symmetric_matrices_one_triangle_is_read(device, uplo):
    a = torch.tensor([[2.0, float("nan")], [1.0, 2.0]], device=device)
    given = a if uplo == "L" else a.T
    assert torch.allclose(L.eigvalsh(given, UPLO=uplo).cpu(), torch.tensor([1.0, 3.0]))
    values, vectors = L.eigh(given, UPLO=uplo)
    assert values.isfinite().all() and vectors.isfinite().all()
    with pytest.raises(RuntimeError, match="failed to converge"):
        L.eigvalsh(given, UPLO="U" if uplo == "L" else "L")


def test_gradients_of_singular_determinants_do_not_depend_on_the_greatest_entry(device):
    a = torch.diag(torch.tensor([1e6, 1.0, 0.0], device=device)).requires_grad_()
    L.det(a).backward()
    assert torch.allclose(a.grad.cpu(), torch.diag(torch.tensor([0.0, 0.0, 1e6])), atol=1)


@pytest.mark.parametrize("name", ["det", "slogdet", "logdet"])
def test_a_written_operand_of_a_determinant_is_found(name):
    x = torch.eye(3, requires_grad=True) * 2
    made = getattr(torch, name)(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (made[1] if name == "slogdet" else made).backward()
