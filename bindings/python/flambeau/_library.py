"""Finds and opens libflambeau, checks its version, and loads the extension's modules over it.

The library is looked for in FLAMBEAU_LIBRARY, beside this package (`lib/`), and in the source
tree's `build/`; the extension file beside the package or where the library was found. The extension
names libflambeau by its soname only: opening the library first, by path, decides which file it
gets."""

import importlib.machinery
import importlib.util
import os
import sys

import _cffi_backend

_HERE = os.path.dirname(os.path.abspath(__file__))
_SONAME = "libflambeau.so.0"
_EXTENSION = "_flambeau.abi3.so"


def _build_folders():
    """The source tree's build folders, newest first."""
    root = os.path.abspath(os.path.join(_HERE, "..", "..", "..", "build"))
    below = os.listdir(root) if os.path.isdir(root) else ()  # glob would import re
    found = [os.path.join(root, folder) for folder in below]
    found += [os.path.join(folder, "lib") for folder in found]
    return sorted(
        (f for f in (root, *found) if os.path.isfile(os.path.join(f, _SONAME))),
        key=lambda f: -os.path.getmtime(os.path.join(f, _SONAME)),
    )


def _find_library():
    named = os.environ.get("FLAMBEAU_LIBRARY")
    if named:
        path = os.path.join(named, _SONAME) if os.path.isdir(named) else named
        if not os.path.isfile(path):
            raise ImportError(f"FLAMBEAU_LIBRARY names {named!r}, where there is no {_SONAME}")
        return path
    looked = [os.path.join(_HERE, "lib"), *_build_folders()]
    for folder in looked:
        path = os.path.join(folder, _SONAME)
        if os.path.isfile(path):
            return path
    raise ImportError(
        f"{_SONAME} was not found in {', '.join(looked)} nor in the source tree's build folder.\n"
        "  build it with `make build`, or set FLAMBEAU_LIBRARY to its path"
    )


def _find_extension(library):
    folder = os.path.dirname(os.path.realpath(library))
    looked = [_HERE, os.path.join(folder, "python"), folder]
    looked += [p for f in _build_folders() for p in (f, os.path.join(f, "python"))]
    for place in looked:
        path = os.path.join(place, _EXTENSION)
        if os.path.isfile(path):
            return path
    raise ImportError(
        f"{_EXTENSION} was not found in {', '.join(dict.fromkeys(looked))}.\n"
        "  build it with `make build`; it needs the headers of Python (python3-dev)"
    )


def _load(name, path):
    """The module `flambeau.<name>` out of the shared extension file."""
    full = f"flambeau.{name}"
    spec = importlib.util.spec_from_loader(
        full, importlib.machinery.ExtensionFileLoader(full, path), origin=path
    )
    module = sys.modules[full] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


library_path = _find_library()
_library = _cffi_backend.FFI().dlopen(library_path, _cffi_backend.FFI.RTLD_LAZY)
# Lazy binding: against an older library the version check below must speak, not an unresolved
# symbol.
_flags = sys.getdlopenflags()
sys.setdlopenflags(os.RTLD_LAZY)
try:
    extension_path = _find_extension(library_path)
    _fast_module = _load("_flambeau_fast", extension_path)
    _blocking_module = _load("_flambeau_blocking", extension_path)
    owner = _load("_flambeau_owner", extension_path)
    scope = _load("_flambeau_scope", extension_path)
finally:
    sys.setdlopenflags(_flags)

ffi, fast, blocking = _fast_module.ffi, _fast_module.lib, _blocking_module.lib

if fast.flam_version_require(fast.FLAM_VERSION_MAJOR, fast.FLAM_VERSION_MINOR):
    _found = fast.flam_version()
    fast.flam_error_clear()
    raise ImportError(
        f"{library_path} is version {_found >> 16}.{_found >> 8 & 255}.{_found & 255}; this "
        "package needs "
        f"{fast.FLAM_VERSION_MAJOR}.{fast.FLAM_VERSION_MINOR} or newer of the same major version.\n"
        "  build or install a newer libflambeau, or set FLAMBEAU_LIBRARY to one"
    )

# On simulated devices a host access to device memory ends the process: standard error says why.
if os.environ.get("FLAMBEAU_SIM"):
    fast.flam_sim_report_host_access(2)
