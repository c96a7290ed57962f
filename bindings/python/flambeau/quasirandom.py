"""`torch.quasirandom`: unsupported, and here by name."""

from . import _refused

SobolEngine = _refused.kind(
    "torch.quasirandom",
    "SobolEngine",
    "flambeau holds no direction numbers; scipy.stats.qmc.Sobol draws the same points, and "
    "torch.from_numpy takes them",
)
