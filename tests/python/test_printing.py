"""Printing: what PyTorch 2 prints for the same expressions."""

import pytest

CASES = [
    ("torch.tensor(3)", "tensor(3)"),
    ("torch.tensor(2.5)", "tensor(2.5000)"),
    ("torch.tensor(True)", "tensor(True)"),
    ("torch.tensor([])", "tensor([])"),
    ("torch.tensor([1, 2, 3])", "tensor([1, 2, 3])"),
    ("torch.tensor([1.0, 2.0])", "tensor([1., 2.])"),
    ("torch.tensor([1.5, -2.25])", "tensor([ 1.5000, -2.2500])"),
    ("torch.tensor([1e10, 1.0])", "tensor([1.0000e+10, 1.0000e+00])"),
    ("torch.tensor([1e-5, 1.0])", "tensor([1.0000e-05, 1.0000e+00])"),
    ('torch.tensor([float("nan"), 1.0, float("inf")])', "tensor([nan, 1., inf])"),
    ("torch.tensor([[True, False]])", "tensor([[ True, False]])"),
    (
        "torch.zeros(2, 3, dtype=torch.float64)",
        "tensor([[0., 0., 0.],\n        [0., 0., 0.]], dtype=torch.float64)",
    ),
    ("torch.zeros(2, dtype=torch.int8)", "tensor([0, 0], dtype=torch.int8)"),
    (
        "torch.ones(2, 2, 2)",
        "tensor([[[1., 1.],\n         [1., 1.]],\n\n        [[1., 1.],\n         [1., 1.]]])",
    ),
    ("torch.zeros(0, 3)", "tensor([], size=(0, 3))"),
    ("torch.tensor([0.1, 100.0, 1000.0])", "tensor([1.0000e-01, 1.0000e+02, 1.0000e+03])"),
    ("torch.ones(2, requires_grad=True)", "tensor([1., 1.], requires_grad=True)"),
    ("torch.ones(2, requires_grad=True) * 2", "tensor([2., 2.], grad_fn=<MulBackward0>)"),
    ("torch.zeros(1001)", "tensor([0., 0., 0.,  ..., 0., 0., 0.])"),
    (
        "torch.zeros(30, 40)",
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        ...,\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.]])",
    ),
    ("torch.tensor([1.0, 2.0]).half()", "tensor([1., 2.], dtype=torch.float16)"),
    ("torch.tensor([123456789, 1])", "tensor([123456789,         1])"),
    ("torch.tensor([1e8, 2e8])", "tensor([1.0000e+08, 2.0000e+08])"),
]


@pytest.mark.parametrize("expression, expected", CASES, ids=[c for c, _ in CASES])
def test_repr(torch, expression, expected):
    assert repr(eval(expression, {"torch": torch})) == expected


def test_options(torch):
    try:
        torch.set_printoptions(precision=2, sci_mode=False)
        assert repr(torch.tensor([1.23456])) == "tensor([1.23])"
        torch.set_printoptions(edgeitems=1, threshold=4)
        assert repr(torch.zeros(6)) == "tensor([0.,  ..., 0.])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([1.23456])) == "tensor([1.2346])"


def test_parameter(torch):
    assert (
        str(torch.nn.Parameter(torch.ones(2)))
        == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_device_is_shown(torch, device):
    if device == "cpu":
        assert "device" not in repr(torch.ones(1))
    else:
        assert repr(torch.ones(1, device=device)) == f"tensor([1.], device='{device}:0')"


def test_many_dimensions(torch):
    text = repr(torch.zeros([1] * 40 + [2000]))
    assert text.count("[") == 41 and "..." in text
