"""`torch.hub`: entry points of a folder on this machine, and files by their address.

A folder's `hubconf.py` is run as it is. Repositories on GitHub are not fetched."""

import hashlib
import importlib.util
import os
import re
import sys
import urllib.request
from urllib.parse import urlparse  # torch.hub has this name, and programs import it from there

from ._errors import UnsupportedError

_folder = None
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home():  # a private name of torch's that packages call
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """Where downloads are kept: `set_dir`, TORCH_HOME/hub, or ~/.cache/torch/hub."""
    return _folder if _folder is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Sets where downloads are kept."""
    global _folder
    _folder = os.path.expanduser(d)


def _entry_points(repo_or_dir, source):
    if source != "local":
        raise UnsupportedError(
            "torch.hub: repositories are not fetched; clone it and pass source='local'"
        )
    path = os.path.join(repo_or_dir, "hubconf.py")
    sys.path.insert(0, os.path.abspath(repo_or_dir))
    try:
        spec = importlib.util.spec_from_file_location("hubconf", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.abspath(repo_or_dir))
    return module


def list(github, force_reload=False, skip_validation=False, trust_repo=None, source="github"):
    """The names of a folder's entry points."""
    found = vars(_entry_points(github, source))
    return [name for name, f in found.items() if callable(f) and not name.startswith("_")]


def _entry_point(repo_or_dir, model, source):
    found = getattr(_entry_points(repo_or_dir, source), model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def help(github, model, source="github", **options):
    """The documentation of an entry point."""
    return _entry_point(github, model, source).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo=None, **kwargs):
    """Calls an entry point of a folder's `hubconf.py`."""
    for option in "force_reload", "verbose", "skip_validation":
        kwargs.pop(option, None)
    return _entry_point(repo_or_dir, model, source)(*args, **kwargs)


def _bar(total=None, disable=False, unit=None, **settings):
    """Of tqdm, where that is not installed, what downloads need: flambeau's own bar."""
    from .utils.progress import Progress

    return Progress(total or 0, unit, out=None if disable else sys.stderr)


def __getattr__(name):
    if name != "tqdm":  # packages take it from torch.hub
        raise AttributeError(f"module 'torch.hub' has no attribute '{name}' in flambeau")
    try:
        from tqdm import tqdm
    except ImportError:
        return _bar
    return tqdm


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Writes what is at `url` to a file; with `hash_prefix` its SHA-256 must begin so. A failure
    leaves no file."""
    from .serialization import _whole_file

    with urllib.request.urlopen(url) as source, _whole_file(dst) as file:
        digest = hashlib.sha256()
        while chunk := source.read(1 << 20):
            digest.update(chunk)
            file.write(chunk)
        found = digest.hexdigest()
        if hash_prefix and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True,
                             check_hash=False, file_name=None, weights_only=False):  # fmt: skip
    """`torch.load` of the file at `url`, which is kept in `model_dir` for the next time."""
    from .serialization import load as load_file

    model_dir = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        marked = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, marked.group(1) if marked else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)
