"""Launches of whole training steps: as many as the page beside PyTorch's bound says
(`tests/bench/launches.py`), and that page is what the bound's rules say today.
"""

import json
import re
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))

import launches  # noqa: E402
from launch_models import MODELS  # noqa: E402

STEPS = [(model, dtype) for model in MODELS for dtype in launches.DTYPES]
THEIRS = json.loads(launches.RECORDED.read_text())["steps"]


def kept(model, dtype):
    """The page's count of ours and of PyTorch's."""
    row = rf"\| {re.escape(model)} \| {dtype} \| step \| (\d+) \| (\d+) \|"
    return [int(n) for n in re.search(row, launches.PAGE.read_text()).groups()]


@pytest.mark.parametrize("model, dtype", STEPS)
def test_the_page_is_the_bound(model, dtype):
    assert sum(launches.bound(THEIRS[model][dtype]).values()) == kept(model, dtype)[1]


@pytest.mark.parametrize("model, dtype", STEPS)
def test_a_step_launches_what_the_page_says(model, dtype, request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone says what was launched, and no more")
    found = launches.ours(MODELS[model], dtype)
    assert sum(of.total() for of in found.values()) == kept(model, dtype)[0], found


def test_an_operation_without_a_rule_is_no_bound():
    with pytest.raises(KeyError, match="unheard_of"):
        launches.least("unheard_of")
    assert launches.least("convolution_backward 2") == 2
    assert launches.least("_foreach_add_ cpu") == 0
