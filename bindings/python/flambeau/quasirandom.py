"""`torch.quasirandom`: points that fill the unit cube more evenly than random ones.

The sequence is SciPy's (`scipy.stats.qmc.Sobol`, with the direction numbers of Joe and Kuo, 2008),
which has PyTorch's points; a scrambled one has the same law, and other draws than PyTorch's."""

import inspect

import numpy as np

from . import _torch as torch

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws points [n, dimension] of [0, 1)^dimension, in order. `scramble` adds a random linear
    map of the digits and a shift, of `seed` or of the default generator."""

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}], got {dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        if scramble and seed is None:
            seed = torch.randint(2**62, (), device="cpu").item()
        self._seed = seed
        self.reset()

    def reset(self):
        """Begins the sequence, the same one, anew."""
        self._sequence, self.num_generated = _sequence(self), 0
        return self

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points."""
        if n < 0:
            raise ValueError(f"n must be non-negative, but got {n}")
        dtype = dtype or (torch.get_default_dtype() if out is None else out.dtype)
        if dtype not in (torch.float32, torch.float64):
            raise NotImplementedError(f"SobolEngine draws float32 and float64, not {dtype}")
        points = np.concatenate([self._next(part) for part in _parts(self.num_generated, n)])
        self.num_generated += n
        found = torch.from_numpy(points).to(dtype)
        return found if out is None else out.resize_(found.shape).copy_(found)

    def _next(self, n):
        return self._sequence.random(n) if n else np.empty((0, self.dimension))

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points, where these and those drawn before are a power of two."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def fast_forward(self, n):
        """Leaves out the next `n` points."""
        if n:
            self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self):
        told = ", scramble=True" if self.scramble else ""
        told += f", seed={self.seed}" if self.seed is not None else ""
        return f"{type(self).__name__}(dimension={self.dimension}{told})"


def _parts(before, n):
    """SciPy warns of a first draw that is no power of two; its next ones are drawn in silence."""
    first = 1 if before == 0 and n & (n - 1) else 0
    return (first, n - first)


def _sequence(engine):
    try:
        from scipy.stats import qmc
    except ImportError as problem:
        raise ImportError(
            "SobolEngine draws by SciPy, which is not installed\n  pip install scipy"
        ) from problem
    # The name of the seed changed with SciPy 1.15.
    word = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"
    given = {word: np.random.default_rng(engine._seed)}
    return qmc.Sobol(engine.dimension, scramble=bool(engine.scramble), bits=engine.MAXBIT, **given)
