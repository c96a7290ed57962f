"""The names that public programs use most (tests/api) resolve, and each is tested: its operation
has a row in the op table, or a test of this folder names it."""

import ast
import importlib
import inspect
import pathlib
import re

import pytest

from tests.harness import ledger

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = "seeds", "first", "second"
# Name -> why it is not there or has no test; at most 3 % of the names.
EXEMPT = {}


def listed():
    lines = [
        line
        for name in LISTS
        for line in (ROOT / "tests" / "api" / f"{name}.txt").read_text().splitlines()
    ]
    return list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


NAMES = listed()


def owners(torch):
    """What the first part of a name stands for: an instance where attributes are made with it."""
    module = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return {
        "torch": torch,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "optim": torch.optim,
        "utils": torch.utils,
        "distributed": torch.distributed,
        "Tensor": torch.randn(2, 2, requires_grad=True),
        "Module": module,
        "Optimizer": optimizer,
        "LRScheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1),
    }


def resolved(owner, parts):
    for part in parts:
        if not hasattr(owner, part) and inspect.ismodule(owner):
            importlib.import_module(f"{owner.__name__}.{part}")
        owner = getattr(owner, part)
    return owner


@pytest.mark.parametrize("name", NAMES)
def test_resolves(torch, name):
    if name in EXEMPT:
        return
    plain, _, keywords = name.partition("(")
    first, *rest = plain.split(".")
    found = resolved(owners(torch)[first], rest)
    for keyword in keywords.rstrip(")").split(", ") if keywords else ():
        assert keyword in inspect.signature(found).parameters


def in_the_op_table():
    """Spellings of operations; tests/ops/test_table.py sees to it that each has a row."""
    return {s for f in ledger.ops().values() for s in [*f["torch"], *ledger.in_place(f)]}


def texts_of_tests():
    """(text of a test with what parametrizes it, or of a table of golden cases)."""
    for path in sorted((ROOT / "tests" / "python").glob("test_*.py")):
        if path.name != pathlib.Path(__file__).name:
            text = path.read_text()
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.FunctionDef, ast.Assign)):
                    yield ast.get_source_segment(text, node)
    for path in (ROOT / "tests" / "golden").glob("*.py"):
        yield path.read_text()


def pattern(name):
    """How a test spells a name: methods on any object, functions and classes with their module."""
    *space, last = name.partition("(")[0].split(".")
    if space[0] in ("Tensor", "Module", "Optimizer", "LRScheduler") or space == ["nn", "Module"]:
        return rf"\.{last}\b"
    if space == ["nn"]:
        return rf"\bnn\.{last}\b|\"{last}\""
    return rf"\b{space[-1]}\.{last}\b|\b{last}\("


def test_each_is_tested():
    table, texts = in_the_op_table(), "\n".join(texts_of_tests())
    absent = [
        name
        for name in NAMES
        if name not in table and name not in EXEMPT and not re.search(pattern(name), texts)
    ]
    assert not absent, f"neither a row of the op table nor a test: {', '.join(absent)}"
    assert len(EXEMPT) <= 0.03 * len(NAMES)


def test_exemptions_are_of_names_in_the_lists():
    assert set(EXEMPT) <= set(NAMES)


def public(space):
    """Functions, classes and properties that a namespace shows."""
    for name in dir(space):
        kept = inspect.getattr_static(space, name) if isinstance(space, type) else None
        value = kept if isinstance(kept, property) else getattr(space, name)
        if name[0] != "_" and (callable(value) or isinstance(value, property)):
            yield name, value


def test_every_public_member_is_described(torch):
    spaces = torch, torch.Tensor, torch.nn, torch.nn.functional, torch.linalg, torch.special
    bare = [f"{s.__name__}.{n}" for s in spaces for n, value in public(s) if not value.__doc__]
    assert not bare


def test_signatures_show_names_of_torch_alone(torch):
    seen = 0
    for space in torch, torch.Tensor, torch.nn.functional, torch.linalg, torch.special, torch.fft:
        for name, value in public(space):
            if isinstance(value, (type, property)):
                continue
            told = inspect.signature(value)
            seen += 1
            private = {"keepdims", "_named", "_more"} & set(told.parameters)
            assert not private and "object at 0x" not in str(told), f"{space}.{name}{told}"
    assert seen > 1400
    assert str(inspect.signature(torch.softmax)) == "(input, dim, *, dtype=None, out=None)"
    assert str(inspect.signature(torch.ones(2).softmax)) == "(dim, *, dtype=None, out=None)"
    assert "data" in dir(torch.utils)
