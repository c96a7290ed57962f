"""Views that custom functions return: writes to them in place would go round the function's own
gradient and are refused, with what else is refused for views. Results that are returned twice, and
operands that are written. And results whose gradient nobody has derived, which fail where it is
asked for."""

import pytest

from tests.harness.functions import function

IN_FUNCTION = "Output 0 of Made is a view and is being modified inplace. This view was created insi"
VIEWS = {
    "view": lambda ctx, x: x[:],
    "view of a view": lambda ctx, x: x[:][:2],
    "view of a temporary": lambda ctx, x: x.clone()[:],
    "operand": lambda ctx, x: x,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_returned_view_is_not_written(torch, name):
    x = torch.ones(2).requires_grad_()
    y = function(VIEWS[name])(x * 1)
    for write in (lambda: y.add_(1), lambda: y[:1].zero_(), lambda: y.copy_(x)):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            write()
    with pytest.raises(RuntimeError, match=IN_FUNCTION):
        y.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_fresh_result_is_written(torch):
    x = torch.ones(2).requires_grad_()
    y = function(lambda ctx, x: x.clone())(x)
    y.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_views_among_several_results_are_not_written(torch):
    x = torch.ones(2).requires_grad_()
    y, z = function(lambda ctx, x: (x[:], x * 2))(x * 1)
    with pytest.raises(RuntimeError, match="a function that returns multiple views"):
        y.add_(1)
    z.add_(1)
    (y + z).sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("times", [2, 3])
def test_a_result_returned_several_times_is_one(torch, times):
    x = torch.ones(2).requires_grad_()
    given = []
    several = function(
        lambda ctx, x: (x * 2,) * times, lambda ctx, *g: given.append(g) or sum(g) * 2
    )
    first, *rest = several(x)
    assert all(y is first for y in rest) and first.output_nr == times - 1
    (first * 3).sum().backward()
    assert x.grad.tolist() == [6, 6]
    assert [g.tolist() for g in given[0]] == [[0, 0]] * (times - 1) + [[3, 3]]
    one, other = function(lambda ctx, x: (x, x), lambda ctx, g, h: g + h)(x)  # each a view
    assert one is not other and [one.output_nr, other.output_nr] == [0, 1]


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_written_is_returned(torch, recorded):
    def lost(ctx, x):
        ctx.mark_dirty(x.add_(1))
        return x.clone()

    x = torch.ones(2, requires_grad=recorded) * 1
    with pytest.raises(RuntimeError, match="marked as dirty .* not returned as output"):
        function(lost)(x)


def test_what_is_marked_as_written_is_an_operand(torch):
    def fresh(ctx, x):
        y = x * 3
        ctx.mark_dirty(y.add_(1))
        return y

    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="dirty that was not an input"):
        y = function(fresh, lambda ctx, g: g * 3)(x)
    y.sum().backward()
    assert y.tolist() == [4, 4] and x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("name", ["view", "operand"])
def test_a_view_of_what_needs_no_gradient(torch, name):
    """Written with what needs one it is refused, else it is a tensor as any other."""
    x, b = torch.ones(2), torch.ones(2).requires_grad_()
    y = function(VIEWS[name])(x)
    y.add_(1)
    assert x.tolist() == [2, 2]
    for write in (lambda: y.add_(b), lambda: y.copy_(b)):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            write()
    with torch.no_grad():
        y.copy_(b)
    assert x.tolist() == [1, 1]


def test_a_view_made_without_recording(torch):
    x = torch.ones(2).requires_grad_()
    with torch.no_grad():
        y, same = function(VIEWS["view"])(x), x[:]
        y.add_(1)
    assert y.requires_grad is same.requires_grad is True and x.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        y.zero_()


def test_a_base_that_was_written_since(torch):
    x = torch.ones(2).requires_grad_() * 1
    y = function(VIEWS["view"])(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modif"):
        y.sum()


@pytest.mark.parametrize(
    "make", [
        lambda torch, x: torch.unique(x),
        lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True)[0],
        lambda torch, x: x.unique(dim=0),
        lambda torch, x: torch.unique_consecutive(x, return_counts=True)[0],
    ],
)  # fmt: skip
def test_the_missing_gradient_of_unique_is_no_silent_zero(torch, make):
    x = torch.ones(3).requires_grad_()
    y = make(torch, x)
    assert y.requires_grad and not torch.unique(x.detach()).requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for .* is not implemented"):
        (y.sum() + x.sum()).backward()


def test_positions_and_counts_carry_no_gradient(torch):
    x = torch.ones(3).requires_grad_()
    _, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert not inverse.requires_grad and not counts.requires_grad
    assert not torch.unique(torch.arange(3)).requires_grad


def test_what_cannot_be_deleted_of_a_tensor(torch):
    x = torch.ones(2).requires_grad_()
    del x.grad
    assert x.grad is None
    for name in ("data", "requires_grad"):
        with pytest.raises(RuntimeError):
            delattr(x, name)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        x.data = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(x.sum(), [])
