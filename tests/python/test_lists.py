"""Every function that takes a list of tensors: given a list, a tuple and an empty list, and what
can be iterated but is no list, such as a tensor or a generator, whose parts C would read when they
are gone. Functions are found by the record."""

import inspect
import json
import pathlib

import flambeau as torch
import pytest

RECORD = pathlib.Path(__file__).resolve().parents[2] / "bindings" / "api.jsonl"
SPACES = {"torch": torch, "torch.linalg": torch.linalg, "F": torch.nn.functional}


def takers():
    """Spelling, and whether the list may be spread over the arguments."""
    found = {"torch.einsum": True, "torch.cartesian_prod": True, "torch.chain_matmul": True}
    for line in RECORD.read_text().splitlines():
        row = json.loads(line)
        operands = row.get("operands", ())
        if operands and operands[0]["kind"] == "tensors":
            for spelling in row.get("torch", ()):
                space, _, name = spelling.rpartition(".")
                if space in SPACES:
                    given = inspect.signature(getattr(SPACES[space], name)).parameters.values()
                    found[spelling] = any(p.kind is p.VAR_POSITIONAL for p in given)
    return found


TAKERS = takers()
SQUARE = torch.rand(2, 2)
ROW = torch.rand(2)


def call(spelling, *lists):
    space, _, name = spelling.rpartition(".")
    function = getattr(SPACES[space], name)
    return function("ij,jk->ik", *lists) if name == "einsum" else function(*lists)


def same(a, b):
    return all(map(torch.equal, a, b)) if isinstance(a, (tuple, list)) else torch.equal(a, b)


def test_the_record_has_them():
    assert {"torch.cat", "torch.hstack", "torch.meshgrid", "torch.block_diag"} <= set(TAKERS)


@pytest.mark.parametrize("spelling", TAKERS)
def test_lists_and_tuples(spelling):
    for part in SQUARE, ROW:
        try:
            want = call(spelling, [part, part])
        except RuntimeError:
            continue
        assert same(call(spelling, (part, part)), want)
        if TAKERS[spelling]:
            assert same(call(spelling, part, part), want)
        return
    pytest.fail(f"{spelling}: no operands here fit")


@pytest.mark.parametrize("spelling", TAKERS)
def test_what_is_no_list_of_tensors(spelling):
    wrong = [(t for t in (SQUARE, SQUARE)), iter([SQUARE]), {"a": SQUARE}.values(), 3, None, "ab"]
    wrong += [[SQUARE, None], [1, 2], (SQUARE, "a"), [[SQUARE]]]
    if not TAKERS[spelling]:
        wrong += [SQUARE, torch.rand(2, 2, 2)]
    for value in wrong:
        with pytest.raises(TypeError):
            call(spelling, value)


@pytest.mark.parametrize("spelling", TAKERS)
def test_an_empty_list(spelling):
    try:
        found = call(spelling, [])
    except (RuntimeError, ValueError, TypeError):
        return
    assert isinstance(found, (torch.Tensor, tuple, list))


@pytest.mark.parametrize("spelling", TAKERS)
def test_parts_may_be_views_that_nobody_else_holds(spelling):
    """The list is all that keeps them."""
    for _ in range(20):
        try:
            call(spelling, [torch.rand(3, 3)[:2, :2] for _ in range(3)])
        except RuntimeError:
            pass
