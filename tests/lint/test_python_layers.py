"""The rule on the Python package's imports sees what it forbids, in functions and tables too."""

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "python_layers", Path(__file__).with_name("python_layers.py")
)
layers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(layers)


def faults(root, **modules):
    """What the rule says of a package with these files; `nn__conv` is nn/conv.py."""
    files = []
    for name, text in modules.items():
        path = layers.PACKAGE / (name.replace("__", "/") + ".py")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        files.append(path)
    return layers.check(root, files)


def test_the_package_is_in_order():
    root = Path(__file__).resolve().parents[2]
    assert layers.check(root, [p.relative_to(root) for p in root.rglob("flambeau/**/*.py")]) == []


@pytest.mark.parametrize(
    "text",
    [
        "from . import _torch",
        "from ._torch import empty",
        "import flambeau._torch",
        "def f():\n    from . import _torch",
        'import_module("flambeau._torch")',
        'importlib.import_module(name="._torch", package=__package__)',
        '__import__("flambeau._torch")',
        '_LAZY = {"_torch": "empty"}',
    ],
)
def test_upward_imports_are_faults(tmp_path, text):
    assert "does not see _torch" in faults(tmp_path, _tensor=text, _torch="")[0]
    assert faults(tmp_path, _torch="", fx=text) == []


@pytest.mark.parametrize(
    "name", ['f"flambeau.{kind}"', "name", '"." + name, __package__', "name=folder"]
)
def test_names_that_are_computed_are_faults(tmp_path, name):
    text = f"def f(name):\n    return importlib.import_module({name})"
    found = faults(tmp_path, _functions=text)
    assert len(found) == 1 and "_functions.py:2: " in found[0] and "computed" in found[0]
    assert faults(tmp_path, _functions="", _on_demand=text, as_torch=text) == []
    assert faults(tmp_path, fx='_PARTS = "a b".split()\n' + text, a="", b="") == []


def test_circles_are_faults(tmp_path):
    late = "def f():\n    from .a import x"
    found = faults(tmp_path, nn__a="from . import b", nn__b=late)
    assert len(found) == 1 and {"nn.a", "nn.b"} <= set(found[0].split(" -> ") + found[0].split())
    assert faults(tmp_path, nn__a="from . import b", nn__b="") == []


def test_a_table_of_modules_that_are_not_there(tmp_path):
    assert "there is no module nn.gone" in faults(tmp_path, nn__a='_LAZY = {"gone": "x"}')[0]
