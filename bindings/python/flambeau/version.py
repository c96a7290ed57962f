"""`torch.version`: which CUDA the library was made for, as programs ask."""

from . import __version__

cuda = None
hip = None
debug = False
git_version = __version__
