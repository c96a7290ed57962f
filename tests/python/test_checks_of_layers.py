"""What layers refuse: with the words and the classes of exceptions that programs written for torch
match, from the modules and from the functions alike."""

import gc
import re

import pytest

X = {n: (1, 3, *(4,) * n) for n in (1, 2, 3)}


def mask(shape, **named):
    def call(torch):
        x = torch.randn(shape)
        made = {name: torch.zeros(size, dtype=torch.bool) for name, size in named.items()}
        return torch.nn.MultiheadAttention(4, 4)(x, x, x, **made)

    return call


def attend(*shapes):
    return lambda torch: torch.nn.MultiheadAttention(4, 4)(*map(torch.randn, shapes))


def convolve(n, kernel, **options):
    def call(torch):
        f = getattr(torch.nn.functional, f"conv{n}d")
        return f(torch.randn(X[n]), torch.randn(2, 3, *kernel), **options)

    return call


def score(name, x, *target, **options):
    def call(torch):
        labels = torch.ones(target, dtype=torch.int64)
        return getattr(torch.nn.functional, name)(torch.randn(x), labels, **options)

    return call


def shares(name, x, target):
    return lambda torch: getattr(torch.nn.functional, name)(torch.rand(x), torch.rand(target))


def fractions(n, window, out):
    def call(torch):
        f = getattr(torch.nn.functional, f"fractional_max_pool{n}d")
        return f(torch.randn(2, *(7,) * n), window, out)

    return call


def fold(shape, *args, **options):
    return lambda torch: torch.nn.Fold(*args, **options)(torch.randn(shape))


def unfold(shape, *args, **options):
    return lambda torch: torch.nn.Unfold(*args, **options)(torch.randn(shape))


def resample(*args, **options):
    return lambda torch: torch.nn.functional.interpolate(torch.randn(1, 1, 4, 4), *args, **options)


def sample(**words):
    def call(torch):
        f = torch.nn.functional.grid_sample
        return f(torch.randn(1, 1, 4, 4), torch.randn(1, 2, 2, 2), align_corners=False, **words)

    return call


def reflecting(n):
    return lambda torch: getattr(torch.nn, f"ConvTranspose{n}d")(1, 1, 1, padding_mode="reflect")


def normalized(dims, training, eps):
    def call(torch):
        x, ones = torch.randn(3, 2, *[2] * (dims - 2)), torch.ones(2)
        return torch.nn.functional.batch_norm(x, ones, ones, training=training, eps=eps)

    return call


def pooled(n, dims):
    return lambda t: getattr(t.nn.functional, f"max_pool{n}d")(t.randn([3] * dims), 2)


def cell(kind, size, hidden):
    def call(torch):
        h = torch.randn(3, hidden)
        return getattr(torch.nn, kind)(2, 3)(torch.randn(3, size), (h, h) if "LSTM" in kind else h)

    return call


def of_states(kind):
    def call(torch):
        h = torch.randn(3, 1, 1, 3)
        return getattr(torch.nn, kind)(2, 3)(torch.randn(3, 2), (h, h) if "LSTM" in kind else h)

    return call


def made(kind, *args, **options):
    return lambda torch: getattr(torch.nn, kind)(*args, **options)


def of_doubles(kind):
    return lambda t: getattr(t.nn, kind)(3, 5)(t.randn(2, 4, 3, dtype=t.float64))


BATCH, ONE = (4, 3, 4), (4, 4)
NETS = "RNN", "LSTM", "GRU"
CELLS = "RNNCell", "LSTMCell", "GRUCell"
POSITIVE = "eps must be positive during training, but got "
WHOLE = "expected size to be one of int or Tuple[int]"
BATCHED, SINGLE = "For batched (3-D) `query`, expected ", "For unbatched (2-D) `query`, expected "
VECTOR = "Expected non-empty vector or matrix"
PADDED = "Calculated padded input size per channel: "
BLOCKS = "calculated shape of the array of sliding blocks as "

CALLS = [
    (
        lambda torch: torch.nn.functional.conv2d(torch.ones(2, 1, 8, 8), torch.ones(8, 3, 3, 3)),
        RuntimeError,
        "Given groups=1, weight of size [8, 3, 3, 3], expected input[2, 1, 8, 8] to have 3 "
        "channels, but got 1 channels instead",
    ),
    (convolve(1, (9,)), RuntimeError, PADDED + "(4). Kernel size: (9). Kernel size can't be"),
    (convolve(2, (9, 3), padding=(1, 2)), RuntimeError, PADDED + "(6 x 8). Kernel size: (9 x 3)"),
    (convolve(3, (2, 9, 2)), RuntimeError, PADDED + "(4 x 4 x 4). Kernel size: (2 x 9 x 2)"),
    (convolve(2, (2, 3), dilation=4), RuntimeError, PADDED + "(4 x 4). Kernel size: (5 x 9)"),
    (convolve(2, (2, 2), stride=-1), RuntimeError, "non-positive stride is not supported"),
    (convolve(1, (2,), padding=-1), RuntimeError, "negative padding is not supported"),
    (convolve(2, (2, 2), groups=0), RuntimeError, "non-positive groups is not supported"),
    (convolve(3, (2, 2, 2), dilation=0), RuntimeError, "dilation should be greater than zero"),
    *(
        (reflecting(n), ValueError, f'Only "zeros" padding mode is supported for ConvTranspose{n}d')
        for n in (1, 2, 3)
    ),
    *((resample(size), TypeError, WHOLE) for size in (2.0, (2, 2.0), (2, None), True, "22")),
    (lambda t: resample(t.tensor(2.0))(t), TypeError, WHOLE),
    (lambda t: resample((t.tensor(2.0), 2), mode="bilinear")(t), TypeError, WHOLE),
    (resample((2,)), ValueError, "Input and output must have the same number of spatial dimen"),
    (resample([2, 2, 2]), ValueError, "spatial dimensions of [4, 4] and output size of [2, 2, 2]"),
    (resample(scale_factor=(2,)), ValueError, "Input and scale_factor must have the same number"),
    (
        sample(mode="cubic"),
        ValueError,
        "to be 'bilinear', 'nearest' or 'bicubic', but got: 'cubic'",
    ),
    (sample(padding_mode="ones"), ValueError, "expected padding_mode to be 'zeros', 'border' or"),
    *((normalized(n, True, eps), ValueError, POSITIVE) for n in (2, 4) for eps in (0.0, -1.0)),
    (normalized(2, False, -1.0), ValueError, "eps must be non-negative, but got -1"),
    (
        score("cross_entropy", (10, 3), 10, 3),
        RuntimeError,
        "Expected floating point type for target with class probabilities, got int64",
    ),
    (
        lambda t: score("nll_loss", (3, 4), 3, weight=t.ones(4, dtype=t.float16))(t),
        RuntimeError,
        "expected scalar type float32 but found float16",
    ),
    (
        lambda t: t.nn.functional.cross_entropy(t.rand(2, 3), t.rand(2, 3), ignore_index=1),
        RuntimeError,
        "ignore_index is not supported for floating point target",
    ),
    (
        score("cross_entropy", (2, 3, 5), 2, 4),
        RuntimeError,
        "Expected target size 5 at dimension 1",
    ),
    (of_states("GRUCell"), ValueError, "Expected hidden to be 1D or 2D, got 4D instead"),
    (of_states("LSTMCell"), ValueError, "Expected hx[0] to be 1D or 2D, got 4D instead"),
    (score("multi_margin_loss", (5, 10), 3), RuntimeError, "Expected target size [5], but got [3]"),
    *(
        (pooled(n, dims), RuntimeError, f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expec")
        for n in (1, 2, 3)
        for dims in (n, n + 3)
    ),
    *(
        (cell(kind, 4, 3), RuntimeError, "inconsistent input_size: got 4 expected 2")
        for kind in CELLS
    ),
    *(
        (cell(kind, 2, 4), RuntimeError, "inconsistent hidden_size: got 4, expected 3")
        for kind in CELLS
    ),
    *(
        (of_doubles(kind), ValueError, "does not match weight dtype (torch.float32)")
        for kind in NETS
    ),
    *(
        (made(kind, 3, 5, **{name: value}), TypeError, f"{name} should be of type {wanted}, got: ")
        for kind in NETS
        for name, value, wanted in (("bias", 0, "bool"), ("batch_first", "False", "bool"))
    ),
    *((made(kind, 3.0, 5), TypeError, "input_size should be of type int, got: f") for kind in NETS),
    *(
        (made(kind, 3, "5"), TypeError, "hidden_size should be of type int, got: s")
        for kind in NETS
    ),
    (made("GroupNorm", 3, 10), ValueError, "num_channels (10) must be divisible by num_groups (3)"),
    (
        made("HuberLoss", delta=1j),
        TypeError,
        "delta must be a float or int, got: <class 'complex'>",
    ),
    *(
        (made(kind, dim=dim), TypeError, "dim must be an int or None")
        for kind in ("Softmax", "LogSoftmax")
        for dim in (True, 1.0)
    ),
    (lambda t: t.nn.LSTM(0, 3), ValueError, "input_size must be greater than zero"),
    (fold((1, 5, 9), (4, 5), (2, 3)), RuntimeError, "be divisible by the product of kernel_size"),
    (
        fold((1, 6, 10), (4, 5), (2, 3)),
        RuntimeError,
        "match the calculated number of sliding blocks 3 * 3 = 9",
    ),
    (fold((1, 12, 12), (4, 5), (2, 2), dilation=8), RuntimeError, BLOCKS + "(-4, -3)"),
    (
        unfold((1, 2, 2, 2), (2, 3)),
        RuntimeError,
        BLOCKS + "(1, 0), but its components must be at least one",
    ),
    (unfold((1, 2, 2, 3), (5, 3), padding=1), RuntimeError, BLOCKS + "(0, 3)"),
    (score("multi_margin_loss", (0,), 10), RuntimeError, VECTOR),
    (score("multilabel_margin_loss", (0,), 10), RuntimeError, VECTOR),
    (score("multilabel_margin_loss", (3, 5, 2), 3, 4, 2), RuntimeError, VECTOR),
    (score("nll_loss", (10, 3), 10, 2), RuntimeError, "0D or 1D target tensor expected, multi-"),
    (score("cross_entropy", (10, 3), 10, 2), RuntimeError, "0D or 1D target tensor expected"),
    (
        score("nll_loss", (2, 3, 4, 4), 2, 4),
        RuntimeError,
        "only batches of spatial targets supported (3D tensors)",
    ),
    (
        shares("binary_cross_entropy", (2, 3), (3,)),
        ValueError,
        "Using a target size (torch.Size([3])) that is different to the input size "
        "(torch.Size([2, 3])) is deprecated. Please ensure they have the same size.",
    ),
    (
        shares("binary_cross_entropy_with_logits", (2, 3), (3,)),
        ValueError,
        "Target size (torch.Size([3])) must be the same as input size (torch.Size([2, 3]))",
    ),
    (fractions(2, (1,), (3, 3)), RuntimeError, "kernel_size must either be a single Int or tuple"),
    (fractions(2, (), (3, 3)), RuntimeError, "kernel_size must either be a single Int or tuple"),
    (fractions(3, 2, (3, 3)), RuntimeError, "output_size must either be a single Int or tuple"),
    (
        fractions(2, (3, 2), (7, 3)),
        RuntimeError,
        "pool height 3 too large relative to input height",
    ),
    (fractions(3, 3, (3, 3, 7)), RuntimeError, "pool width 3 too large relative to input width 7"),
    (attend(BATCH, ONE, BATCH), AssertionError, BATCHED + "`key` and `value` to be 3-D but found"),
    (attend(ONE, BATCH, BATCH), AssertionError, SINGLE + "`key` and `value` to be 2-D but found"),
    (attend((4,), ONE, ONE), AssertionError, "query should be unbatched 2D or batched 3D tensor"),
    (
        attend(BATCH, BATCH, (3, 3, 4)),
        AssertionError,
        "key shape torch.Size([4, 3, 4]) does not match value shape torch.Size([3, 3, 4])",
    ),
    (
        mask(BATCH, key_padding_mask=(3, 4, 4)),
        AssertionError,
        BATCHED + "`key_padding_mask` to be `None` or 2-D but found 3-D",
    ),
    (
        mask(ONE, key_padding_mask=ONE),
        AssertionError,
        SINGLE + "`key_padding_mask` to be `None` or 1-D but found 2-D",
    ),
    (
        mask(BATCH, attn_mask=(2, 2, 2, 4)),
        AssertionError,
        BATCHED + "`attn_mask` to be `None`, 2-D or 3-D but found 4-D",
    ),
    (
        mask(ONE, attn_mask=(3, 4, 4)),
        AssertionError,
        "Expected `attn_mask` shape to be (4, 4, 4) but got torch.Size([3, 4, 4])",
    ),
    (
        mask(BATCH, attn_mask=(4, 3)),
        RuntimeError,
        "The shape of the 2D attn_mask is torch.Size([4, 3]), but should be (4, 4).",
    ),
    (
        mask(BATCH, attn_mask=(3, 4, 4)),
        RuntimeError,
        "The shape of the 3D attn_mask is torch.Size([3, 4, 4]), but should be (12, 4, 4).",
    ),
    (
        lambda torch: torch.nn.EmbeddingBag(10, 3, padding_idx=10),
        AssertionError,
        "padding_idx must be within num_embeddings",
    ),
    (
        lambda torch: torch.nn.Embedding(10, 3, padding_idx=10),
        AssertionError,
        "Padding_idx must be within num_embeddings",
    ),
    (
        lambda torch: torch.nn.functional.embedding(
            torch.zeros(1, dtype=torch.int64), torch.randn(10, 3), padding_idx=10
        ),
        AssertionError,
        "Padding_idx must be within num_embeddings",
    ),
    (
        lambda torch: torch.nn.functional.embedding_bag(
            torch.zeros(1, 1, 1, dtype=torch.int64), torch.randn(10, 3)
        ),
        ValueError,
        "input has to be 1D or 2D Tensor, but got Tensor of dimension 3",
    ),
    (
        lambda torch: torch.nn.functional.dropout1d(torch.randn(2, 3), 1.5),
        ValueError,
        "dropout probability has to be between 0 and 1, but got 1.5",
    ),
    (
        lambda torch: torch.nn.utils.prune.L1Unstructured("half"),
        TypeError,
        "Invalid type for amount",
    ),
    (lambda torch: torch.nn.utils.prune.L1Unstructured(1.5), ValueError, "in the range [0, 1]"),
]


@pytest.mark.parametrize("call, kind, words", CALLS, ids=[words[:50] for _, _, words in CALLS])
def test_a_check_is_told_in_torchs_words(torch, call, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        call(torch)


def test_several_gradients_are_told_apart_where_one_does_not_fit(torch):
    x = torch.randn(2, 3, requires_grad=True)
    words = (
        "Mismatch in shape: grad_output[1] has a shape of torch.Size([2]) and output[1] has a "
        "shape of torch.Size([2, 3])."
    )
    with pytest.raises(RuntimeError, match=re.escape(words)):
        torch.autograd.grad([x * 2, x * 3], x, [torch.ones(2, 3), torch.ones(2)])


@pytest.mark.parametrize("name", ["avg", "max"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_nothing_pooled_has_no_gradient(torch, name, n):
    x = torch.randn(2, 3, *(5,) * n, requires_grad=True)
    for operand in x, x[0]:
        y = getattr(torch.nn.functional, f"adaptive_{name}_pool{n}d")(operand, 0)
        assert y.numel() == 0
        with pytest.raises(RuntimeError, match="Expected grad_output to have non-zero size for"):
            y.sum().backward()


def test_the_loss_of_a_row_has_its_targets_shape(torch):
    row = torch.randn(5)
    loss = torch.nn.MultiMarginLoss(reduction="none")
    assert loss(row, torch.tensor([1])).shape == (1,)
    assert loss(row, torch.tensor(1)).shape == ()
    torch.testing.assert_close(loss(row, torch.tensor([1]))[0], loss(row, torch.tensor(1)))


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_losses_take_their_operands_by_name(torch, name):
    loss = getattr(torch.nn.functional, name)
    x, y, weight = torch.randn(3), torch.randn(3), torch.rand(3)
    named = loss(input=x, target=y, weight=weight)
    torch.testing.assert_close(named, loss(x, y, weight=weight))


def test_hooks_of_a_state_replace_it_only_by_the_older_name(torch):
    empty = lambda module, state, prefix, about: {}  # noqa: E731
    older = torch.nn.Linear(2, 2)
    older._register_state_dict_hook(empty)
    assert older.state_dict() == {}
    newer = torch.nn.Linear(2, 2)
    hook = lambda *_: {}  # noqa: E731
    newer.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="post-hook must return None"):
        newer.state_dict()
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post"):
        newer._register_state_dict_hook(hook)


def test_hooks_of_a_state_may_be_methods(torch):
    class Noted(torch.nn.Linear):
        def note(self, module, state, prefix, about):
            state["noted"] = module is self

    made = Noted(2, 2)
    made.register_state_dict_post_hook(made.note)
    assert made.state_dict()["noted"]


def test_a_buffer_is_registered_by_a_subclass_that_takes_no_more(torch):
    class Plain(torch.nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    made = Plain()
    made.kept = torch.nn.Buffer(torch.ones(2))
    assert list(made.state_dict()) == ["kept"]


def test_loading_a_state_leaves_no_cycles(torch):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LSTM(2, 2))
    state = {name: value.clone() for name, value in module.state_dict().items()}
    gc.collect()
    gc.disable()
    try:
        module.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("loss", ["cross_entropy", "nll_loss", "linear_cross_entropy"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
def test_a_target_of_another_shape_is_told_before_its_dtype(torch, loss, dtype):
    function, x = getattr(torch.nn.functional, loss), (torch.randn(4, 2),)
    x += (torch.randn(3, 2),) if loss == "linear_cross_entropy" else ()
    for shape, words in {
        (5,): "input batch_size (4) to match target batch_size (5)",
        (5, 2): "input batch_size (4) to match target batch_size (5)",
        (4, 9): "0D or 1D target tensor expected",
    }.items():
        with pytest.raises((ValueError, RuntimeError), match=re.escape(words)):
            function(*x, torch.zeros(shape, dtype=getattr(torch, dtype)))
    if dtype != "int64":
        with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte"):
            function(*x, torch.zeros(4, dtype=getattr(torch, dtype)))


@pytest.mark.parametrize("cell", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_take_states_of_their_batch_only(torch, cell):
    """A state of another batch size would broadcast."""
    made, x = getattr(torch.nn, cell)(5, 4), torch.rand(3, 5)
    for name, wrong, words in (
        ("batch", torch.rand(1, 4), r"Input batch size 3 doesn't match hidden{} batch size 1"),
        ("size", torch.rand(3, 1), r"hidden{} has inconsistent hidden_size: got .*, expected 4"),
    ):
        for place in range(2 if cell == "LSTMCell" else 1):
            states = [torch.rand(3, 4), torch.rand(3, 4)]
            states[place] = wrong
            hx = tuple(states) if cell == "LSTMCell" else states[0]
            with pytest.raises(RuntimeError, match=words.format(place)):
                made(x, hx)


def test_one_hot_of_a_count_that_is_none(torch):
    for count in 0, -2, -5:
        with pytest.raises(RuntimeError, match="num_classes must be positive"):
            torch.nn.functional.one_hot(torch.tensor([1]), count)
    assert torch.nn.functional.one_hot(torch.tensor([1]), -1).tolist() == [[0, 1]]


def test_what_a_module_moves_to(torch):
    m, f32 = torch.nn.Linear(2, 2), torch.float32
    like = torch.ones(1, dtype=torch.float64)
    for args, named in (
        (("cpu", f32, True), {}), ((f32, True), {}), ((like, True), {}), ((None, None), {}),
        ((), {"tensor": like}), (("cpu",), {"dtype": f32, "non_blocking": True}), ((), {}),
    ):  # fmt: skip
        assert m.to(*args, **named) is m
    for args, named in (
        (("cpu", True), {}), (("cpu", "x"), {}), ((f32, True, False, 1), {}),
        ((f32, f32), {"x": 1}), ((), {"other": like}), (("cpu",), {"device": "cpu"}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            m.to(*args, **named)
    for args, named in (("cpu", f32, True, True), {}), (("cpu",), {"copy": True}):
        with pytest.raises(RuntimeError, match="does not accept copy"):
            m.to(*args, **named)


@pytest.mark.parametrize("sizes", [(2, 5, 5.0), [["C", 2]], ((2,),), 5])
def test_unflattened_sizes_are_integers(torch, sizes):
    with pytest.raises(TypeError, match="unflattened_size must be a? ?tuple of ints, but found"):
        torch.nn.Unflatten(1, sizes)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", [(0, 0, 0, 0), (0, 0, -1, -1), (-1, 0, 0, 0), (1, 0, -1, 0)])
def test_padding_never_shows_its_input(torch, mode, pad):
    x = torch.rand(1, 3, 4, 4)
    before = x.clone()
    torch.nn.functional.pad(x, pad, mode=mode).fill_(4)
    assert torch.equal(x, before)
