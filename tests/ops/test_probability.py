"""Functions of probability theory where their rows' samples do not go."""

import flambeau as torch
import numpy as np
import pytest
from scipy import special

GREAT = [1.5e7, 1e10, 1e16, 1e20, 1e300]


@pytest.mark.parametrize("a", GREAT)
def test_incomplete_gamma_of_great_concentrations(a, device):
    """Steps of a series or fraction would never end there."""
    deviations = np.array([-9.0, -1.0, 0.0, 0.5, 3.0])
    x = a + deviations * np.sqrt(a)
    # Half a unit in x's last place is this much of a deviation.
    unit = np.spacing(a) / np.sqrt(a)
    want = special.gammainc(np.full(5, a), x) if a <= 1e10 else special.ndtr(deviations)
    operands = [torch.tensor(t, device=device) for t in (np.full(5, a), x)]
    below = torch.special.gammainc(*operands).cpu().numpy()
    above = torch.special.gammaincc(*operands).cpu().numpy()
    limit = 1e-12 + 2 * unit + (1 / np.sqrt(a) if a > 1e10 else 0)
    if a > 1e30:  # no deviation can be told from another
        assert np.all((below >= 0) & (below <= 1))
    else:
        assert np.abs(below - want).max() <= limit
    assert np.abs(below + above - 1).max() <= 1e-15
    far = [torch.tensor([t], dtype=torch.float64, device=device) for t in (a, 2 * a, a / 2)]
    assert torch.special.gammainc(far[0], far[1]).item() == 1
    assert torch.special.gammainc(far[0], far[2]).item() == 0


@pytest.mark.parametrize("name, shift", [("xlogy", 1.0), ("xlog1py", 0.0)])
def test_slope_of_a_logarithm_times_zero(name, shift, device):
    x = torch.zeros(5, dtype=torch.float64, device=device, requires_grad=True)
    y = torch.tensor([-0.5, 0.5, 3.0, -1.0, -2.0], dtype=torch.float64, device=device) + shift
    z = getattr(torch.special, name)(x, y)
    z.sum().backward()
    assert z.tolist() == [0.0] * 5
    want = [*np.log1p([-0.5, 0.5, 3.0]), 0.0, 0.0]
    assert np.allclose(x.grad.cpu().numpy(), want, rtol=1e-14)
