"""`torch.testing`: comparisons for tests, with torch's tolerances and reports."""

from ._compare import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]
