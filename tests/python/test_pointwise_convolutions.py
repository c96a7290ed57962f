"""Convolutions whose window is one position are products by the library on a GPU, forward and for
both gradients, of images that lie in either way; what a product does not serve is a convolution's.
"""

import flambeau as torch
import pytest
from flambeau.nn import functional as F
from flambeau.profiler import profile

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-14, torch.float16: 4e-3, torch.bfloat16: 3e-2}
OWN = {"convolution_kernel", "conv_transpose_kernel", "conv_weight_gradient_kernel"}
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def drawn(*sizes, seed, dtype):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=made).to(dtype)


def passes(function, device, dtype, operands, last, **options):
    """A result, its gradients, and the names of what both launched."""
    ours = [t.to(device, dtype) for t in operands]
    if last:
        ours[0] = ours[0].contiguous(memory_format=LAST[ours[0].dim()])
    ours = [t.requires_grad_() for t in ours]
    with profile() as found:
        y = function(*ours, **options)
        slopes = torch.autograd.grad(y, ours, torch.cos(y.detach().to("cpu")).to(device))
    return [y.detach(), *slopes], {k.name for e in found.events() for k in e.kernels}


def check(function, sizes, device, dtype, last=False, bias=True, **options):
    operands = [drawn(*s, seed=i, dtype=dtype) for i, s in enumerate(sizes[: 2 + bias])]
    found, names = passes(function, device, dtype, operands, last, **options)
    wanted, _ = passes(function, "cpu", torch.float64, operands, last, **options)
    for ours, ideal in zip(found, wanted, strict=True):
        allowed = TOLERANCE[dtype] * float(ideal.abs().max())
        torch.testing.assert_close(ours.cpu().double(), ideal, rtol=0, atol=allowed)
    return names, found[0]


@pytest.fixture
def launched(request):
    """Whether the library made them, but for what our own kernels are named for; without a
    stand-in nobody says."""

    def by(names, *own):
        if request.config.getoption("--device") == "standin":
            assert "cublasLtMatmul" in names and names & OWN == set(own), names

    return by


# Volumes of doubles lie as torch's do, with channels first.
IMAGES = [
    (size, dtype)
    for size in [(4, 6), (1, 1), (2, 3, 4)]
    for dtype in TOLERANCE
    if (len(size), dtype) != (3, torch.float64)
]


@pytest.mark.parametrize("size, dtype", IMAGES, ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_pixels_are_rows(size, bias, dtype, device, launched):
    function = F.conv2d if len(size) == 2 else F.conv3d
    sizes = ((3, 8, *size), (5, 8, *[1] * len(size)), (5,))
    names, y = check(function, sizes, device, dtype, True, bias)
    assert y.is_contiguous(memory_format=LAST[y.dim()])
    launched(names)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("size", [(4, 4), (16,)], ids=str)
def test_planes_are_a_batch(size, bias, dtype, device, launched):
    function = F.conv2d if len(size) == 2 else F.conv1d
    names, y = check(
        function, ((3, 8, *size), (5, 8, *[1] * len(size)), (5,)), device, dtype, False, bias
    )
    assert y.is_contiguous()
    launched(names, "conv_weight_gradient_kernel", *["convolution_kernel"] * bias)


@pytest.mark.parametrize("last", [False, True])
def test_transposed(last, device, launched):
    sizes = ((2, 8, 4, 4), (8, 5, 1, 1), (5,))
    names, _ = check(F.conv_transpose2d, sizes, device, torch.float32, last)
    own = [] if last else ["conv_transpose_kernel", "conv_weight_gradient_kernel"]
    launched(names, *own)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    "options", [{"stride": 2}, {"padding": 1}, {"groups": 2}], ids=lambda o: next(iter(o))
)
def test_others_are_convolutions(options, last, device, request):
    groups = options.get("groups", 1)
    sizes = ((2, 16, 5, 5), (16, 16 // groups, 1, 1), (16,))
    names, _ = check(F.conv2d, sizes, device, torch.float32, last, **options)
    if request.config.getoption("--device") == "standin":
        assert names & OWN == OWN


def test_rows_of_planes_that_are_not_aligned(device):
    check(F.conv2d, ((2, 8, 3, 3), (4, 8, 1, 1), (4,)), device, torch.float16)


def test_a_transposed_window_that_reaches_further(device):
    options = {"dilation": 2, "output_padding": 1}
    check(F.conv_transpose2d, ((2, 8, 4, 4), (8, 5, 1, 1), (5,)), device, torch.float32, **options)


@pytest.mark.parametrize("channels", [1, 4])
def test_what_is_expanded_is_not_read_as_if_it_lay_there(channels, device):
    x, w = (drawn(*s, seed=1, dtype=torch.float32) for s in ((2, 8, 4, 4), (channels, 8, 1, 1)))
    pixel = drawn(1, 8, 1, 1, seed=2, dtype=torch.float32)
    ours = [t.to(device).requires_grad_() for t in (x, w, pixel)]
    ideal = [t.detach().double().requires_grad_() for t in (x, w, pixel)]
    for a, b, one in (ours, ideal):
        F.conv2d(a, b).sum().backward()  # of one gradient for all places
        F.conv2d(one.expand(1, 8, 4, 4), b).square().sum().backward()
    for found, wanted in zip(ours, ideal, strict=True):
        torch.testing.assert_close(found.grad.cpu().double(), wanted.grad, rtol=1e-5, atol=1e-4)


def test_parts_of_images(device):
    x = drawn(2, 12, 6, 8, seed=0, dtype=torch.float32)
    w = drawn(5, 8, 1, 1, seed=1, dtype=torch.float32)
    for cut in (lambda t: t[:, 2:10], lambda t: t[:, :8, 1:5], lambda t: t[:, :8, :, ::2]):
        for form in (torch.contiguous_format, torch.channels_last):
            there = cut(x.to(device).contiguous(memory_format=form))
            found = F.conv2d(there, w.to(device))
            wanted = F.conv2d(cut(x).double(), w.double())
            torch.testing.assert_close(found.cpu().double(), wanted, rtol=0, atol=1e-5)
