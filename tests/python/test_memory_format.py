"""Orders of dimensions: results lie with their channels last where operands do, as in torch."""

import itertools

import flambeau as torch
import pytest
from flambeau.nn import functional as F

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
X = {4: torch.randn(2, 4, 6, 6), 5: torch.randn(2, 4, 6, 6, 6)}
W = {4: torch.randn(4, 4, 3, 3), 5: torch.randn(4, 4, 3, 3, 3)}


def both(n, name):
    return lambda x: getattr(F, f"{name}{n - 2}d")(x, 2)


# Operations, and the numbers of dimensions in which they keep the order.
KEEP = {
    "max_pool": (both, (4, 5)),
    "avg_pool": (both, (4,)),
    "adaptive_avg_pool": (both, (4,)),
    "adaptive_max_pool": (both, (4,)),
    "interpolate": (lambda n, _: lambda x: F.interpolate(x, scale_factor=2), (4, 5)),
    "group_norm": (lambda n, _: lambda x: F.group_norm(x, 2), (4, 5)),
    "batch_norm": (lambda n, _: lambda x: F.batch_norm(x, None, None, training=True), (4, 5)),
    "instance_norm": (lambda n, _: F.instance_norm, ()),
    "pad": (lambda n, _: lambda x: F.pad(x, (1, 2)), (4, 5)),
    "cat": (lambda n, _: lambda x: torch.cat([x, x], 1), (4, 5)),
    "cat_mixed": (lambda n, _: lambda x: torch.cat([x, x.contiguous()], 1), ()),
    "roll": (lambda n, _: lambda x: torch.roll(x, 1, 2), (4, 5)),
    "channel_shuffle": (lambda n, _: lambda x: F.channel_shuffle(x, 2), (4, 5)),
    "dropout": (lambda n, _: lambda x: F.dropout(x, 0.0), (4, 5)),
    "conv": (lambda n, _: lambda x: getattr(F, f"conv{n - 2}d")(x, W[n]), (4, 5)),
    "conv_transpose": (
        lambda n, _: lambda x: getattr(F, f"conv_transpose{n - 2}d")(x, W[n]),
        (4, 5),
    ),
}


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("name", KEEP)
def test_an_operation_keeps_the_order_and_the_values(name, n):
    make, kept = KEEP[name]
    f, x = make(n, name), X[n]
    y, wanted = f(x.contiguous(memory_format=FORMATS[n])), f(x)
    assert y.is_contiguous(memory_format=FORMATS[n]) == (n in kept)
    assert wanted.is_contiguous()
    torch.testing.assert_close(y.contiguous(), wanted)


def test_the_weight_alone_decides_too_and_gradients_follow():
    x, w = X[4].clone().requires_grad_(), W[4].clone().requires_grad_()
    last = w.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    y = F.conv2d(x, last)
    assert y.is_contiguous(memory_format=torch.channels_last)
    found = torch.autograd.grad(y.square().sum(), (x, last))
    wanted = torch.autograd.grad(F.conv2d(x, w).square().sum(), (x, w))
    assert all(g.is_contiguous(memory_format=torch.channels_last) for g in found)
    for g, h in zip(found, wanted):
        torch.testing.assert_close(g.contiguous(), h, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dim", range(5))
def test_images_are_stacked_as_they_are_joined(dim):
    x = X[4].contiguous(memory_format=torch.channels_last)
    y = torch.stack([x, -x], dim)
    assert y.equal(torch.stack([X[4], -X[4]], dim))
    joined = torch.cat([x, -x], min(dim, 3))
    assert y.is_contiguous() if dim == 4 else y.flatten(dim, dim + 1).stride() == joined.stride()


def test_volumes_of_doubles_are_convolved_in_c_order():
    x = X[5].double().contiguous(memory_format=torch.channels_last_3d)
    assert F.conv3d(x, W[5].double()).is_contiguous()


@pytest.mark.parametrize("cast", "float double half bfloat16 int long short char byte bool".split())
def test_casts_take_a_format(cast):
    y = getattr(X[4], cast)(memory_format=torch.channels_last)
    assert y.stride() == (144, 1, 24, 4)
    kept = getattr(y, cast)(memory_format=torch.preserve_format)
    assert kept.stride() == y.stride()


def test_a_module_moves_to_a_format():
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    m.to(memory_format=torch.channels_last)
    assert m[0].weight.stride() == (27, 1, 9, 3) and m[1].weight.stride() == (1,)
    y = m(torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("shape, stride", [((2, 4, 1, 1), (4, 1, 4, 4)), ((2, 1, 3, 3), None)])
def test_ambiguous_strides_are_told_by_the_batch(shape, stride):
    x = torch.randn(shape)
    x = x if stride is None else torch.as_strided(x, shape, stride)
    y = F.pad(x, (1, 1))
    assert y.is_contiguous(memory_format=torch.channels_last) == (stride is not None or 1 in shape)


def test_dropout_keeps_the_order_in_place_and_in_the_gradient():
    x = torch.ones(2, 4, 5, 5).contiguous(memory_format=torch.channels_last)
    y = F.dropout(x.requires_grad_(), 0.5)
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.equal(y.detach()) and y.stride() == x.stride()
    z = x.detach().clone()
    assert F.dropout(z, 0.5, inplace=True) is z
    assert z.stride() == x.stride() and set(z.flatten().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("order", itertools.permutations(range(4)))
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("p", [1e-9, 0.5, 1.0])
def test_dropout_lies_as_a_product_does(order, start, p):
    """Where the operand is a part of memory too, whose steps are larger than those of the
    result."""
    x = torch.ones(2, 3, 4, 5).permute(order).contiguous()
    x = x.permute([order.index(d) for d in range(4)])[start:, start:].detach().requires_grad_()
    y = F.dropout(x, p)
    assert y.stride() == (x.detach() * 2).stride()
    y.sum().backward()
    assert x.grad.equal(y.detach()) and set(y.flatten().tolist()) <= {0.0, 1.0, 2.0}


ORDERED = {
    "group_norm": lambda x: F.group_norm(x, 2),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "reflect": lambda x: F.pad(x, (1, 2) * (x.dim() - 2), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2) * (x.dim() - 2), mode="replicate"),
}


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("name", ORDERED)
def test_results_and_gradients_lie_as_the_operand_does(name, n):
    f, x = ORDERED[name], X[n].clone().requires_grad_()
    last = X[n].contiguous(memory_format=FORMATS[n]).requires_grad_()
    y, wanted = f(last), f(x)
    dy = torch.randn_like(wanted)
    (found,), (slope,) = torch.autograd.grad(y, last, dy), torch.autograd.grad(wanted, x, dy)
    assert all(t.is_contiguous(memory_format=FORMATS[n]) for t in (y, found))
    assert wanted.is_contiguous() and slope.is_contiguous()
    torch.testing.assert_close(y.contiguous(), wanted)
    torch.testing.assert_close(found.contiguous(), slope)


@pytest.mark.parametrize("sides", [(1, 2), (1, 2, 0, 3)])
@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
def test_the_gradient_of_a_pad_is_dense_and_no_view(sides, order):
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=order).requires_grad_()
    y = F.pad(x, sides)
    dy = torch.randn_like(y)
    (found,) = torch.autograd.grad(y, x, dy)
    assert found.is_contiguous(memory_format=order) and found._base is None
    before = dy.clone()
    found.zero_()
    assert dy.equal(before)


@pytest.mark.parametrize("batch", [[], [1], [2]])
def test_maxima_of_a_volume_lie_as_it_does(batch):
    last = torch.randn(*batch, 6, 5, 5, 4).movedim(-1, len(batch))
    y, at = F.max_pool3d(last, 2, return_indices=True)
    wanted, places = F.max_pool3d(last.contiguous(), 2, return_indices=True)
    assert y.equal(wanted) and at.equal(places) and wanted.is_contiguous()
    assert y.movedim(len(batch), -1).is_contiguous() and at.stride() == y.stride()


def test_gradients_of_what_replaces_a_view_of_memory(torch):
    """Memory between the rows of the operand has no gradient, an expanded one's adds up."""
    base = torch.arange(12.0).view(3, 4)
    gaps = base[:, 1:3].detach().requires_grad_()
    part = torch.zeros(2, requires_grad=True)
    y = torch.as_strided_scatter(gaps, part, (2,), (2,), 1)  # of which the second is in a gap
    x_grad, part_grad = torch.autograd.grad(y.sum(), (gaps, part))
    assert part_grad.tolist() == [1, 0] and x_grad.tolist() == [[0, 1], [1, 1], [1, 1]]
    row = torch.ones(1, 3).expand(2, 3).detach().requires_grad_()
    y = torch.as_strided_scatter(row, part, (2,), (1,), 0)
    x_grad, part_grad = torch.autograd.grad(y.sum(), (row, part))
    assert part_grad.tolist() == [2, 2] and x_grad.tolist() == [[0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize("shape", [(8, 1, 3, 3), (8, 4, 1, 1), (8, 4, 3, 3)])
def test_steps_say_which_order_was_asked_for_where_several_fit(shape):
    """A convolution reads them: of one channel, or of one position, the elements do not tell."""
    n, c, h, w = shape
    last = (c * h * w, 1, c * w, c)
    x = torch.randn(shape, requires_grad=True)
    for made in x.to(memory_format=FORMATS[4]), x.clone(memory_format=FORMATS[4]):
        assert made.stride() == last and torch.equal(made, x)
        (slope,) = torch.autograd.grad((made * made).sum(), x)
        torch.testing.assert_close(slope, 2 * x.detach())
    assert x.stride() == (c * h * w, h * w, w, 1)
    module = torch.nn.Conv2d(c, n, (h, w)).to(memory_format=FORMATS[4])
    assert module.weight.stride() == last
    y = module(torch.randn(2, c, 5, 5))
    assert y.is_contiguous(memory_format=FORMATS[4])


LIKE = {
    "clone": torch.clone, "double": torch.Tensor.double,
    "full_like": lambda x: torch.full_like(x, 2.0),
    "randint_like": lambda x: torch.randint_like(x, 3),
    **{n: getattr(torch, n) for n in ("empty_like", "zeros_like", "ones_like", "rand_like")},
    "randn_like": torch.randn_like,
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("sizes", [(8, 1, 3, 3), (8, 3, 1, 1), (1, 1, 3, 3), (2, 3, 4, 4)])
def test_what_is_made_like_a_tensor_has_its_strides(name, sizes):
    x = torch.rand(sizes)
    for like in x, x.to(memory_format=torch.channels_last), x.transpose(0, 1):
        assert LIKE[name](like).stride() == like.stride()


FILLED = {
    "exp": lambda x, out: torch.exp(x, out=out),
    "eq": lambda x, out: torch.eq(x, 0, out=out),
    "add": lambda x, out: torch.add(x, torch.randn(x.shape[-1]), out=out),
    "add before": lambda x, out: torch.add(torch.randn(x.shape[-1]), x, out=out),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_destination_that_is_resized_gets_the_order_of_the_operands(name):
    for order in itertools.permutations(range(3)):
        for x in (torch.randn(2, 3, 4), torch.randn(2, 3, 8)[..., ::2]):
            step, x = x.stride(-1), x.permute(order)
            out = FILLED[name](x, torch.empty(0, dtype=torch.bool if name == "eq" else x.dtype))
            assert out.stride() == tuple(s // step for s in x.stride()), order
            kept = torch.empty(x.shape, dtype=out.dtype)
            assert FILLED[name](x, kept).is_contiguous()


@pytest.mark.parametrize("kind", [torch.channels_last, torch.contiguous_format])
def test_strides_of_single_elements_are_those_of_the_operand_that_broadcasts(kind):
    x, bias = torch.rand(10, 3, 1, 1).to(memory_format=kind), torch.rand(3, 1, 1)
    assert (x + bias).stride() == (bias + x).stride() == x.stride()
    assert torch.equal(bias + x, x.contiguous() + bias)


@pytest.mark.parametrize("n", [4, 5])
def test_a_row_takes_the_order_of_what_it_is_resized_as(n):
    like = X[n].contiguous(memory_format=FORMATS[n])
    row = torch.randn(like.numel())
    assert row.resize_as_(like, memory_format=torch.preserve_format).stride() == like.stride()
    assert torch.randn(1).resize_as_(X[n], memory_format=torch.preserve_format).is_contiguous()
