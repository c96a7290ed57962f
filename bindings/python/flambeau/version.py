"""`torch.version`: the version, and which CUDA the library was made for, as programs ask."""

__version__ = "2.15.0+flambeau.0.2.0"  # programs compare it with torch's
cuda = None
hip = None
debug = False
git_version = __version__
