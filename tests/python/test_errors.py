"""Errors: their classes, their texts, and that nothing stays pending."""

import pytest


def test_classes(torch):
    assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError and issubclass(
        torch.OutOfMemoryError, RuntimeError
    )
    with pytest.raises(torch.ShapeError) as found:
        torch.ones(3) + torch.ones(4)
    assert isinstance(found.value, RuntimeError) and found.value.code == 2
    with pytest.raises(IndexError):
        torch.ones(2).sum(5)
    assert (torch.ones(1) + 1).item() == 2


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda torch, x: torch.add(x, "a"),
            r"add\(\): argument 'other' \(position 2\) must be Tensor, not str",
        ),
        (
            lambda torch, x: x.sum("a"),
            r"sum\(\): argument 'dim' \(position 2\) must be tuple of ints, not str",
        ),
        (lambda torch, x: x.unsqueeze(), r"missing.*'dim'"),
        (
            lambda torch, x: torch.max(x, "a"),
            r"max\(\) received an invalid combination of arguments - got \(Tensor, str\)",
        ),
        (
            lambda torch, x: torch.zeros(2, shape=3),
            r"zeros\(\) got an unexpected keyword argument 'shape'",
        ),
    ],
)
def test_type_errors_name_the_argument(torch, call, text):
    with pytest.raises(TypeError, match=text):
        call(torch, torch.ones(2))


def test_enum_words(torch):
    with pytest.raises(
        ValueError, match=r"argument 'reduction' must be one of 'none', 'mean', 'sum'.*, not 'avg'"
    ):
        torch.nn.functional.mse_loss(torch.ones(1), torch.ones(1), reduction="avg")


def test_no_gpu_says_why(torch):
    if torch.cuda.is_available():
        assert torch.cuda.unavailable_reason() == ""
    else:
        assert torch.cuda.unavailable_reason()
        with pytest.raises(torch.DeviceError, match="cuda is not available"):
            torch.zeros(1, device="cuda")


def test_device_mismatch(torch, device):
    if device == "cpu":
        with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, sim device type"):
            torch.device("gpu")
        return
    with pytest.raises(torch.DeviceMismatchError, match="other: f32\\[2\\] on cpu"):
        torch.ones(2, device=device) + torch.ones(2)
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        torch.ones(2, device=device).numpy()


def test_unknown_names(torch):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = torch.nothing
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'abacus'"):
        torch.amp.autocast("abacus")
