"""Ready-made parametrizations: weight norm, spectral norm and orthogonal matrices."""

from ... import linalg
from ..._tensor import Tensor
from ..._torch import allclose, cat, eye, finfo, geqrf, randn, where, zeros_like
from ...autograd import no_grad
from ..modules import Module
from . import parametrize
from ._norms import as_matrix, check_iterations, grown, norm_except_dim, unit, weight_of


class _WeightNorm(Module):
    """A length per slice times a direction. Source: Salimans and Kingma, 2016, arXiv
    1602.07868."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Splits a weight into lengths (`original0`) and directions (`original1`)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def old_names(module, state_dict, prefix, *_):
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if g in state_dict and v in state_dict:
            for i, key in enumerate((g, v)):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module.register_load_state_dict_pre_hook(old_names)
    return module


class _SpectralNorm(Module):
    """A weight over its greatest singular value, estimated by power iteration. Source: Miyato et
    al., 2018, arXiv 1802.05957."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        check_iterations(n_power_iterations)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, unit(start, eps))
            self._iterate(matrix, 15)

    @no_grad()
    def _iterate(self, matrix, times):
        grown(self._u, self._v, matrix, times, self.eps)

    def forward(self, weight):
        if weight.ndim == 1:
            return unit(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # a later forward changes them
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value):
        return value


def _tensor_of(module, name):
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a weight by its greatest singular value."""
    weight = _tensor_of(module, name)
    if dim is None:
        dim = int("ConvTranspose" in type(module).__name__)
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, made)
    return module


_MAPS = "matrix_exp", "cayley", "householder"


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where it is wide: of a skew-symmetric one the
    exponential or the Cayley transform, or a product of reflections; with `base`, times a fixed
    one, so that the start can be any. Source: Lezcano-Casado 2019, arXiv 1909.09501."""

    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        q = self._reflected(x) if self.orthogonal_map == "householder" else self._turned(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _turned(self, x):
        n, k = x.shape[-2:]
        x = x.tril()
        x = cat([x, x.new_zeros((*x.shape[:-1], n - k))], -1) if n != k else x
        skew = x - x.mT
        if self.orthogonal_map == "matrix_exp":
            q = linalg.matrix_exp(skew)
        else:
            one = eye(n, dtype=x.dtype, device=x.device)
            q = linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :k]

    def _reflected(self, x):
        a = x.tril(-1)
        q = linalg.householder_product(a, 2 / (1 + (a * a).sum(-2)))
        # The diagonal holds the columns' signs.
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {q.shape}."
            )
        given, wide = q, q.size(-2) < q.size(-1)
        q = q.mT if wide else q
        n, k = q.shape[-2:]
        if not hasattr(self, "base"):
            return self._reflections(q, wide)
        if n != k:
            q = cat([q, randn((*q.shape[:-1], n - k), dtype=q.dtype, device=q.device)], -1)
        self.base = q.clone() if n == k and _is_orthogonal(q) else _made_orthogonal(q)
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    def _reflections(self, q, wide):
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        a, tau = geqrf(q)
        signs = a.diagonal(dim1=-2, dim2=-1).sign()
        a.diagonal(dim1=-2, dim2=-1).copy_(where(tau == 0, -signs, signs))
        return a.mT if wide else a


def _is_orthogonal(q):
    n = q.size(-1)
    one = eye(n, dtype=q.dtype, device=q.device)
    return allclose(q.mT @ q, one.expand(q.shape), atol=10 * n * finfo(q.dtype).eps)


def _made_orthogonal(a):
    """The Q of a QR decomposition whose R has a positive diagonal."""
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Makes a weight orthogonal. `orthogonal_map`: "matrix_exp" (the default of square ones),
    "cayley" or "householder" (of the others)."""
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
