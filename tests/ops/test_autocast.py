"""Autocast: the result dtype of every op, as PyTorch answered (tests/harness/autocast.py)."""

import json

import pytest

from tests.harness import autocast
from tests.harness.gen import api

GOLDEN = json.loads(autocast.GOLDEN.read_text())
FUNCTIONS = autocast.functions()

# What has a rule in PyTorch under another name.
RULED_AS = {"cross_entropy": "nll_loss", "grid_sample": "grid_sampler", "square": "pow"}


def kind_of(device):
    return "cpu" if device == "cpu" else "cuda"


@pytest.mark.parametrize("lower", autocast.LOWER)
@pytest.mark.parametrize("name", sorted(GOLDEN["ops"]))
def test_result_dtype(name, lower, device):
    import flambeau

    want = GOLDEN["ops"][name][kind_of(device)][lower]
    call = autocast.call_of(name, FUNCTIONS[name], flambeau)
    scope = api.autocast_push(device.partition(":")[0], getattr(flambeau, lower))
    try:
        got = autocast.row(call, flambeau, device, lower)
    finally:
        api.scope_pop(scope)
    # What PyTorch refuses, flambeau may do: only banned ops are refused by rule. complex32 is none
    # of its dtypes.
    wanted = ["refused" if w == "complex32" else w for w in want.split()]
    got = ["refused" if w == "refused" and g == "error" else g for w, g in zip(wanted, got)]
    compared = [g if w in ("error", "-") else w for w, g in zip(wanted, got, strict=True)]
    assert got == compared, (
        f"{name}: {got}, PyTorch {want}, of operands in {', '.join(autocast.VARIANTS)}"
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_torch_has_a_rule_for_has_one_here(name):
    rules = FUNCTIONS[name].get("autocast", {})
    for kind in ("cpu", "cuda"):
        ruled = RULED_AS.get(name, name) in GOLDEN["ruled"][kind]
        assert kind in rules or not ruled, (
            f"flam_{name}: PyTorch has a rule for it on {kind}: add FLAM_AUTOCAST to its "
            "declaration, and run tests.harness.autocast with PyTorch"
        )


def test_banned_op_says_what_to_use(device):
    import flambeau

    scope = api.autocast_push("sim", flambeau.float16)
    try:
        p = flambeau.full((3,), 0.5, device="sim:0")
        with pytest.raises(RuntimeError, match="unsafe to autocast(.|\n)*with_logits"):
            flambeau.nn.functional.binary_cross_entropy(p, p)
    finally:
        api.scope_pop(scope)
