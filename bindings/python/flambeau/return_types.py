"""`torch.return_types`: the classes of results that have several parts, as of `max` and `sort`."""

from ._call import RESULTS as _results
from ._deprecated import linalg as _linalg  # noqa: F401  it has made some

globals().update(_results)
