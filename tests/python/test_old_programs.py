"""Spellings that torch deprecated, with its warnings, or silently where torch is silent."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def told_anew():
    from flambeau import _deprecated

    _deprecated._told.clear()


def test_variables(torch, device):
    Variable = torch.autograd.Variable
    x = torch.ones(2, device=device, requires_grad=True)
    y = Variable(x)
    assert y is not x and not y.requires_grad and y.data_ptr() == x.data_ptr()
    assert Variable(x, requires_grad=True).requires_grad and isinstance(x, Variable)
    with pytest.warns(UserWarning, match="volatile was removed"):
        Variable(x, volatile=True)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert x.volatile is False
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        Variable([1])


def test_typed_constructors(torch):
    assert torch.ByteTensor([1, 2]).dtype is torch.uint8
    assert torch.FloatTensor([1, 2]).tolist() == [1, 2] and torch.LongTensor(3).shape == (3,)
    with pytest.warns(UserWarning, match="set_default_tensor_type"):
        torch.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert repr(type(torch.ones(1))) == "<class 'torch.Tensor'>"


def test_sizes_are_any_integers(torch):
    np = pytest.importorskip("numpy")
    assert torch.FloatTensor(np.int64(2), 3).shape == (2, 3)
    assert torch.LongTensor(np.int32(4)).shape == (4,)
    assert torch.Tensor(np.array(2)).shape == (2,) and torch.Tensor(np.array([2])).tolist() == [2]
    for value in (1.5, True, None):
        with pytest.raises(TypeError, match="data must be a sequence"):
            torch.FloatTensor(value)


def test_children_under_any_key_run(torch):
    class Blocks(torch.nn.Module):
        def add(self, block):
            self._modules[block] = block

        def forward(self, x):
            for block in self._modules.values():
                x = block(x)
            return x

    blocks = Blocks()
    blocks.add(torch.nn.Linear(2, 3))
    assert blocks(torch.ones(1, 2)).shape == (1, 3)


def flags(torch):
    F, x, y = torch.nn.functional, torch.ones(2), torch.zeros(2)
    classes = torch.tensor([0, 1])
    return [
        (lambda: F.mse_loss(x, y, False), 2.0),
        (lambda: F.mse_loss(x, y, size_average=False), 2.0),
        (lambda: torch.nn.MSELoss(False)(x, y), 2.0),
        (lambda: F.mse_loss(x, y, reduce=False), [1.0, 1.0]),
        (lambda: F.nll_loss(torch.ones(2, 3), classes, None, False), -2.0),
        (lambda: F.cross_entropy(torch.zeros(2, 3), classes, None, False, 1).item() > 1.0, True),
        (
            lambda: torch.nn.CrossEntropyLoss(None, True)(torch.zeros(2, 3), classes).item() > 1,
            True,
        ),
        (lambda: F.mse_loss(x, y, reduction="elementwise_mean"), 1.0),
    ]


@pytest.mark.parametrize("i", range(8))
def test_flags_of_losses(torch, i):
    call, value = flags(torch)[i]
    with pytest.warns(UserWarning, match="deprecated"):
        found = call()
    assert (found.tolist() if hasattr(found, "tolist") else found) == value


def test_losses_tell_of_targets_that_broadcast(torch):
    F = torch.nn.functional
    with pytest.warns(
        UserWarning, match=r"target size \(torch.Size\(\[3, 1\]\)\) that is different"
    ):
        F.mse_loss(torch.ones(3), torch.ones(3, 1))
    with pytest.raises(ValueError, match=r"Target size .* must be the same as input size"):
        F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3, 1))
    with pytest.raises(ValueError, match="avg is not a valid value for reduction"):
        torch.nn.MSELoss(reduction="avg")(torch.ones(3), torch.ones(3))
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        F.kl_div(torch.zeros(2, 2), torch.ones(2, 2))


def test_softmax_without_a_dimension(torch):
    F, nn = torch.nn.functional, torch.nn
    for call, dim in (
        (lambda x: F.softmax(x), 1),
        (lambda x: nn.Softmax()(x), 1),
        (lambda x: nn.LogSoftmax()(x), 1),
    ):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            found = call(torch.eye(2))
        assert torch.allclose(found.exp() if found.min() < 0 else found, torch.eye(2).softmax(dim))


def test_factors_before_tensors(torch, device):
    one = torch.ones(2, device=device)
    square = torch.ones(2, 2, device=device)
    with pytest.warns(UserWarning, match="This overload of add is deprecated"):
        assert torch.add(one, 2, one).tolist() == [3, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert one.clone().add_(-0.5, one).tolist() == [0.5, 0.5]
        assert one.clone().addcmul_(2, one, one).tolist() == [3, 3]
        assert one.clone().addcdiv_(-1, one, one).tolist() == [0, 0]
        assert torch.addmm(2, square, 3, square, square)[0].tolist() == [8, 8]
        assert square.addmm(2, square, square)[0].tolist() == [4, 4]
    torch.set_warn_always(True)
    try:
        for name, operands in ("sub", 1), ("addcmul", 2), ("addcdiv_", 2):
            with pytest.warns(UserWarning, match=f"This overload of {name} is deprecated"):
                getattr(one.clone(), name)(2, *[one] * operands)
    finally:
        torch.set_warn_always(False)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        torch.add(one, one, one)


def test_functions_of_old(torch):
    F = torch.nn.functional
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert torch.range(0, 1, 0.25).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert torch.ger(torch.ones(2), torch.ones(3)).shape == (2, 3)
    assert torch.subtract(torch.ones(1), 1).item() == 0
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert torch.ones(4).resize(2, 2).shape == (2, 2)
    rows, columns = torch.nonzero(torch.eye(2), as_tuple=True)
    assert rows.tolist() == columns.tolist() == [0, 1]
    assert F.sigmoid(torch.zeros(1)).item() == 0.5 and F.tanh(torch.zeros(1)).item() == 0
    with pytest.warns(UserWarning, match="x.T"):
        assert torch.ones(2, 3, 4).T.shape == (4, 3, 2)
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        assert torch.arange(3)[torch.ByteTensor([1, 0, 1])].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="uint8 condition"):
        assert torch.where(torch.ByteTensor([1, 0]), torch.ones(2), torch.zeros(2)).tolist() == [
            1,
            0,
        ]
    with pytest.warns(UserWarning, match="indexing argument"):
        torch.meshgrid(torch.ones(2), torch.ones(2))
