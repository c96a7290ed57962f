"""Every family of kernels with a rule keeps it, in the code for each GPU."""

import pytest
from rules import GPUS, RULES, judged


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kernels.strip("\\b<"))
def test_the_machine_code_keeps_the_rule(found, rule, gpu):
    faults = judged(rule, gpu, found[gpu])
    assert not faults, "\n".join(faults)
