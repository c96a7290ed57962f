"""Autocast: the result dtype of every op, as PyTorch answered (tests/harness/autocast.py)."""

import json

import pytest
from flambeau._gen import api

from tests.harness import autocast

GOLDEN = json.loads(autocast.GOLDEN.read_text())
FUNCTIONS = autocast.functions()

# What has a rule in PyTorch under another name, or within an op that flambeau has as one.
RULED_AS = {
    "cross_entropy": {"cpu": "cross_entropy_loss", "cuda": "nll_loss"},
    "norm": {"cpu": "", "cuda": "linalg_vector_norm"},
    "square": {"cpu": "", "cuda": "pow"},
    "hstack": {"cpu": "cat", "cuda": ""},
    "vstack": {"cpu": "cat", "cuda": ""},
    "dstack": {"cpu": "cat", "cuda": ""},
}


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
    # What PyTorch refuses, flambeau may do: only banned ops are refused by rule.
    compared = [g if w in ("error", "-") else w for w, g in zip(want.split(), got, strict=True)]
    assert got == compared, (
        f"{name}: {got}, PyTorch {want}, of operands in {', '.join(autocast.VARIANTS)}"
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_rules_are_those_of_torch(name):
    rules = FUNCTIONS[name].get("autocast", {})
    for kind in ("cpu", "cuda"):
        known = RULED_AS.get(name, {}).get(kind, name)
        expected = known in GOLDEN["ruled"][kind]
        assert expected == (kind in rules), (
            f"flam_{name}: PyTorch has {'a' if expected else 'no'} rule for it on {kind}: "
            f"{'add' if expected else 'take away'} FLAM_AUTOCAST at its declaration"
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
