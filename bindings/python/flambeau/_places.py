"""Where the C side of this package is: in a wheel everything a C or C++ program needs lies below
the package, in a checkout the headers lie in `include` and the library in `build`."""

import os

from ._library import library_path

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.abspath(os.path.join(_HERE, "..", "..", ".."))

# What CMAKE_PREFIX_PATH is set to, so that find_package(flambeau) finds an installed package.
cmake_prefix_path = _HERE


def get_include():
    """The folder of `flambeau/flambeau.h`, for a C compiler's `-I`."""
    for root in (_HERE, _ROOT):
        if os.path.isfile(os.path.join(root, "include", "flambeau", "flambeau.h")):
            return os.path.join(root, "include")
    raise FileNotFoundError(f"there are no headers of flambeau in {_HERE} nor in {_ROOT}")


def get_library():
    """The path of the libflambeau that this process uses, which FLAMBEAU_LIBRARY tells C and Rust
    programs."""
    return os.path.abspath(library_path)
