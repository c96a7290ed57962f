"""Ops that write to an operand beside their result: wholly, or not at all where they fail."""

import flambeau

from tests.harness import binding, faults

BATCH = [[1.0, 5.0], [3.0, 2.0], [2.0, 4.0]]


def batch_norm_parts(device):
    rows = [BATCH, [0.0, 0.0], [1.0, 1.0], [2.0, 3.0], [0.5, 0.5]]
    return [flambeau.tensor(r, device=device) for r in rows]


def test_batch_norm_updates_its_statistics(device):
    x, mean, var, weight, bias = batch_norm_parts(device)
    flambeau.nn.functional.batch_norm(x, mean, var, weight, bias, training=True, momentum=0.5)
    assert mean.tolist() == [1.0, (11 / 3) * 0.5] or abs(mean[1].item() - 11 / 6) < 1e-6
    assert abs(var[0].item() - 1.0) < 1e-6


def test_a_failing_batch_norm_leaves_its_statistics_alone(device):
    def prepare():
        parts = batch_norm_parts(device)
        f = flambeau.nn.functional.batch_norm
        return lambda: f(*parts, training=True), parts

    faults.survives(prepare, device, "batch_norm")


def test_both_statistics_are_on_the_operand_s_device():
    x, mean, var, weight, bias = batch_norm_parts("cpu")
    kept = binding.array(mean).copy()
    try:
        flambeau.nn.functional.batch_norm(x, mean, var.to("sim:0"), training=True)
    except RuntimeError as e:
        assert "same device" in str(e) and "running_var" in str(e)
    else:
        raise AssertionError("a statistic on another device was taken")
    assert (binding.array(mean) == kept).all()
