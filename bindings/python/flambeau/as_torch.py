"""`python -m flambeau.as_torch SCRIPT [args]`: runs a program written for torch on flambeau; with
`-m` a module, torch's own too: `-m torch.distributed.run train.py` is the launcher of processes.

A finder on the meta path answers for `torch` and everything below it with flambeau's module of the
same name, so that both spellings are one module object."""

import importlib
import importlib.abc
import importlib.util
import os
import runpy
import sys


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name != "torch" and not name.startswith("torch."):
            return None
        return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        name = "flambeau" + spec.name[len("torch") :]
        try:
            return _Keep.of(importlib.import_module(name))
        except ModuleNotFoundError as problem:
            if problem.name and (name + ".").startswith(problem.name + "."):
                raise ModuleNotFoundError(
                    f"No module named {spec.name!r} (flambeau has no {name!r})", name=spec.name
                ) from None
            raise

    def exec_module(self, module):
        _Keep.restore(module)

    def find_distributions(self, context=None):
        """What `importlib.metadata.version("torch")` asks; None: every distribution is listed."""
        if context is None or context.name in (None, "torch"):
            yield _distribution()


def _distribution():
    from importlib.metadata import Distribution  # slow to import, and seldom asked for

    import flambeau

    class Torch(Distribution):
        def read_text(self, filename):
            if filename == "METADATA":
                return f"Metadata-Version: 2.1\nName: torch\nVersion: {flambeau.__version__}\n"

        def locate_file(self, path):
            return os.path.join(os.path.dirname(flambeau.__file__), path)

    return Torch()


class _Keep:
    """The import system rewrites `__spec__` and `__loader__` of what create_module returns; these
    put the module's own back, for it is a finished module that flambeau keeps using."""

    saved = {}

    @classmethod
    def of(cls, module):
        cls.saved[id(module)] = module.__spec__, module.__loader__
        return module

    @classmethod
    def restore(cls, module):
        module.__spec__, module.__loader__ = cls.saved.pop(id(module))


def install():
    """From here on `import torch` gives flambeau in this process; refuses where torch is loaded
    already."""
    import flambeau
    from flambeau import _children

    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not flambeau:
        raise RuntimeError(
            "torch is loaded already; call flambeau.as_torch.install() before anything imports it"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        _children_too()
        _children.command[:] = ["-m", "flambeau.as_torch"]


def _children_too():
    """New interpreters that the standard library starts for a process read the script again, and
    so need the finder before they do."""
    from multiprocessing import spawn

    if hasattr(spawn, "_flambeau_command_line"):
        return
    spawn._flambeau_command_line = plain = spawn.get_command_line
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = f"import sys; sys.path.append({home!r}); import flambeau.as_torch as t; t.install(); "

    def command_line(**named):
        line = plain(**named)
        if "-c" in line:
            at = line.index("-c") + 1
            line[at] = start + line[at]
        return line

    spawn.get_command_line = command_line


def main(argv):
    """Runs argv[0] as `__main__` with the rest as its arguments."""
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m flambeau.as_torch (SCRIPT | -m MODULE) [args]")
        return 0 if argv else 2
    install()
    sys.argv = list(argv)
    if argv[0] == "-m" and len(argv) > 1:
        sys.argv = list(argv[1:])
        name = argv[1]
        if name.startswith("torch."):  # one that is finished, and imported by its own name
            name = "flambeau" + name[len("torch") :]
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return 0
    sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
    runpy.run_path(argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
