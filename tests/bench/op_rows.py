"""What ops_bench.py times: each row is a function of the package, flambeau or PyTorch, that returns
one call. Both packages run the same lines, without autograd unless the row's name says backward. A
row says what bounds it, the least that an implementation must do: bytes read and written, or
operations of the products of a type.
"""

from __future__ import annotations

from typing import NamedTuple

MILLION = 1 << 20
SQUARE = (1024, 1024)
IMAGE = (8, 32, 64, 64)


class Row(NamedTuple):
    make: object  # package -> call
    bound: str  # copy (bytes both ways), read (bytes read, next to none written) or f32, f64, bf16
    amount: float  # bytes, or operations


ROWS: dict[str, Row] = {}


def row(name, bound, amount):
    def keep(make):
        ROWS[name] = Row(make, bound, amount)
        return make

    return keep


def pointwise(name, call, low=-4.0, high=4.0, dtype="float32", size=MILLION):
    """A row of one function of a vector of numbers between low and high."""
    width = 8 if dtype == "float64" else 2 if dtype in ("bfloat16", "float16") else 4

    @row(name, "copy", 2 * width * size)
    def make(torch):
        x = (torch.rand(size) * (high - low) + low).to(getattr(torch, dtype))
        return lambda: call(torch, x)


FUNCTIONS = {
    "exp": (-4, 4),
    "exp2": (-4, 4),
    "expm1": (-4, 4),
    "log": (0.1, 4.1),
    "log2": (0.1, 4.1),
    "log10": (0.1, 4.1),
    "log1p": (0.1, 4.1),
    "tanh": (-4, 4),
    "sigmoid": (-4, 4),
    "erf": (-4, 4),
    "erfc": (-4, 4),
    "sin": (-4, 4),
    "cos": (-4, 4),
    "tan": (-4, 4),
    "sinh": (-4, 4),
    "cosh": (-4, 4),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atan": (-4, 4),
    "asinh": (-4, 4),
    "acosh": (1, 5),
    "atanh": (-1, 1),
    "sqrt": (0.1, 4.1),
    "rsqrt": (0.1, 4.1),
    "reciprocal": (0.1, 4.1),
    "lgamma": (0.1, 4.1),
    "digamma": (0.1, 4.1),
    "erfinv": (-1, 1),
    "abs": (-4, 4),
    "floor": (-4, 4),
    "round": (-4, 4),
}
for name, (low, high) in FUNCTIONS.items():
    pointwise(name, lambda torch, x, name=name: getattr(torch, name)(x), low, high)

ACTIVATIONS = {
    "gelu": {},
    "gelu tanh": {"approximate": "tanh"},
    "silu": {},
    "softplus": {},
    "relu": {},
    "elu": {},
    "leaky_relu": {},
    "hardswish": {},
    "mish": {},
    "logsigmoid": {},
    "softsign": {},
}


def activation(name, options):
    function = name.split()[0]
    pointwise(name, lambda torch, x: getattr(torch.nn.functional, function)(x, **options))


for name, options in ACTIVATIONS.items():
    activation(name, options)

for dtype, names in {
    "float64": ("exp", "log", "tanh", "sigmoid", "sin", "cos", "erf", "log1p", "sqrt"),
    "bfloat16": ("exp", "tanh", "sigmoid", "log", "sin", "erf"),
    "float16": ("exp", "tanh"),
}.items():
    for name in names:
        low = 0.1 if name.startswith("log") or name == "sqrt" else -4
        call = lambda torch, x, name=name: getattr(torch, name)(x)
        pointwise(f"{name} {dtype}", call, low, 4, dtype)
pointwise("gelu bfloat16", lambda torch, x: torch.nn.functional.gelu(x), dtype="bfloat16")
# Values of a trained net, of which some are far from 0.
for dtype in ("float32", "bfloat16"):
    call = lambda torch, x: torch.nn.functional.gelu(x)
    pointwise(f"gelu, wide {dtype}", call, -16, 16, dtype)
pointwise("erfc, wide", lambda torch, x: torch.erfc(x), -16, 16)
pointwise("x % 0.7", lambda torch, x: x % 0.7)
pointwise("x // 0.7, large x", lambda torch, x: x // 0.7, -4e8, 4e8)
pointwise("x // 0.7 bfloat16", lambda torch, x: x // 0.7, dtype="bfloat16")

pointwise("x * 2", lambda torch, x: x * 2)
pointwise("x * 2 float16", lambda torch, x: x * 2, dtype="float16")
pointwise("neg bfloat16", lambda torch, x: -x, dtype="bfloat16")
pointwise("clamp", lambda torch, x: x.clamp(-1, 1))
pointwise("pow 2.5", lambda torch, x: x**2.5, 0.1, 4.1)
pointwise("pow 3", lambda torch, x: x**3)
pointwise("dropout", lambda torch, x: torch.nn.functional.dropout(x, 0.5))


def binary(name, call, dtype="float32", made=None, amount=None):
    width = {"float64": 8, "int64": 8, "bfloat16": 2, "float16": 2}.get(dtype, 4)

    @row(name, "copy", amount or 3 * width * MILLION)
    def make(torch):
        make_one = made or (lambda t: t.rand(MILLION) * 4 + 0.1)
        x, y = (make_one(torch).to(getattr(torch, dtype)) for _ in range(2))
        return lambda: call(torch, x, y)


binary("add", lambda torch, x, y: x + y)
binary("mul", lambda torch, x, y: x * y)
binary("div", lambda torch, x, y: x / y)
binary("pow", lambda torch, x, y: torch.pow(x, y))
binary("atan2", lambda torch, x, y: torch.atan2(x, y))
binary("x == y", lambda torch, x, y: x == y, amount=9 * MILLION)
binary("float64 add", lambda torch, x, y: x + y, "float64")
binary("int64 add", lambda torch, x, y: x + y, "int64")
binary("bfloat16 add", lambda torch, x, y: x + y, "bfloat16")
binary("float16 add", lambda torch, x, y: x + y, "float16")
binary("where", lambda torch, x, y: torch.where(x > 2, x, y), amount=15 * MILLION)
binary("cat", lambda torch, x, y: torch.cat((x, y)), amount=16 * MILLION)
binary("stack", lambda torch, x, y: torch.stack((x, y)), amount=16 * MILLION)
binary("stack, last dim", lambda torch, x, y: torch.stack((x, y), -1), amount=16 * MILLION)
binary("lerp", lambda torch, x, y: torch.lerp(x, y, 0.3))


def cast(source, target):
    widths = {"float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "float64": 8, "uint8": 1}

    @row(f"{source} to {target}", "copy", (widths[source] + widths[target]) * MILLION)
    def make(torch):
        x = (torch.rand(MILLION) * 100).to(getattr(torch, source))
        return lambda: x.to(getattr(torch, target))


for source, target in (
    ("float32", "bfloat16"),
    ("bfloat16", "float32"),
    ("float32", "float16"),
    ("float16", "float32"),
    ("float32", "float64"),
    ("float32", "int64"),
    ("int64", "float32"),
    ("uint8", "float32"),
):
    cast(source, target)


def of_square(name, call, bound="read", amount=4 * MILLION, shape=SQUARE, dtype="float32"):
    @row(name, bound, amount)
    def make(torch):
        x = torch.randn(*shape).to(getattr(torch, dtype))
        return lambda: call(torch, x)


BOTH = ("copy", 8 * MILLION)
of_square("sum", lambda torch, x: x.sum())
of_square("row sums", lambda torch, x: x.sum(1))
of_square("column sums", lambda torch, x: x.sum(0))
of_square("row sums of bfloat16", lambda torch, x: x.sum(1), "read", 2 * MILLION, dtype="bfloat16")
of_square("row sums 4096x1024", lambda torch, x: x.sum(1), "read", 16 * MILLION, (4096, 1024))
of_square("column sums 4096x1024", lambda torch, x: x.sum(0), "read", 16 * MILLION, (4096, 1024))
of_square("sums of 16 terms", lambda torch, x: x.sum(1), shape=(65536, 16))
of_square("sums of 3 terms", lambda torch, x: x.sum(1), shape=(349525, 3))
of_square("sums over the middle", lambda torch, x: x.sum(1), shape=(64, 64, 256))
of_square("sums over outer and inner", lambda torch, x: x.sum((0, 2)), shape=(16, 64, 1024))
of_square("mean", lambda torch, x: x.mean())
of_square("row means", lambda torch, x: x.mean(1))
of_square("std", lambda torch, x: x.std())
of_square("row variances", lambda torch, x: x.var(1))
of_square("column variances", lambda torch, x: x.var(0))
of_square("norm", lambda torch, x: x.norm())
of_square("row norms", lambda torch, x: x.norm(dim=1))
of_square("prod of rows", lambda torch, x: x.prod(1))
of_square("max", lambda torch, x: x.max())
of_square("max with indices, rows", lambda torch, x: x.max(1))
of_square("max with indices, columns", lambda torch, x: x.max(0))
of_square("argmax, rows", lambda torch, x: x.argmax(1))
of_square("argmax", lambda torch, x: x.argmax())
of_square("amax, columns", lambda torch, x: x.amax(0))
of_square("logsumexp", lambda torch, x: x.logsumexp(1))
of_square("any", lambda torch, x: (x > 9).any())
of_square("softmax", lambda torch, x: x.softmax(1), *BOTH)
of_square("softmax over dim 0", lambda torch, x: x.softmax(0), *BOTH)
of_square("softmax of 16 terms", lambda torch, x: x.softmax(1), *BOTH, (65536, 16))
of_square("log_softmax", lambda torch, x: x.log_softmax(1), *BOTH)
of_square("log_softmax over dim 1 of 4", lambda torch, x: x.log_softmax(1), *BOTH, (16, 16, 64, 64))
of_square(
    "softmax of bfloat16", lambda torch, x: x.softmax(1), "copy", 4 * MILLION, SQUARE, "bfloat16"
)
of_square("cumsum", lambda torch, x: x.flatten().cumsum(0), *BOTH)
of_square("cumsum, rows", lambda torch, x: x.cumsum(1), *BOTH)
of_square("cumsum, columns", lambda torch, x: x.cumsum(0), *BOTH)
of_square("cumprod, rows", lambda torch, x: x.cumprod(1), *BOTH)
of_square("cummax, rows", lambda torch, x: x.cummax(1), "copy", 16 * MILLION)
of_square("logcumsumexp, rows", lambda torch, x: x.logcumsumexp(1), *BOTH)
of_square("transpose", lambda torch, x: x.t().contiguous(), *BOTH)
of_square(
    "transpose of bfloat16",
    lambda torch, x: x.t().contiguous(),
    "copy",
    4 * MILLION,
    SQUARE,
    "bfloat16",
)
of_square(
    "transpose of float64",
    lambda torch, x: x.t().contiguous(),
    "copy",
    16 * MILLION,
    SQUARE,
    "float64",
)
of_square("add to a transpose", lambda torch, x: x + x.t(), *BOTH)
of_square("NCHW to NHWC", lambda torch, x: x.permute(0, 2, 3, 1).contiguous(), *BOTH, IMAGE)
of_square(
    "NHWC to NCHW", lambda torch, x: x.permute(0, 3, 1, 2).contiguous(), *BOTH, (8, 64, 64, 32)
)
of_square("heads apart", lambda torch, x: x.transpose(1, 2).contiguous(), *BOTH, (8, 256, 8, 64))
of_square(
    "heads apart of bfloat16",
    lambda torch, x: x.transpose(1, 2).contiguous(),
    "copy",
    4 * MILLION,
    (8, 256, 8, 64),
    "bfloat16",
)
of_square(
    "dimensions reversed", lambda torch, x: x.permute(2, 1, 0).contiguous(), *BOTH, (64, 64, 256)
)
of_square("flip", lambda torch, x: x.flip(1), *BOTH)
of_square("roll", lambda torch, x: x.roll(3, 1), *BOTH)
of_square("tril", lambda torch, x: x.tril(), *BOTH)
of_square("pad", lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1)), *BOTH)
of_square(
    "pad by reflection",
    lambda torch, x: torch.nn.functional.pad(x, (2, 2, 2, 2), "reflect"),
    *BOTH,
    (16, 64, 32, 32),
)
of_square("cat, last dim", lambda torch, x: torch.cat((x, x), 1), "copy", 16 * MILLION)
of_square("cat of two, last dim", lambda torch, x: torch.cat((x[:512], x[512:]), 1), *BOTH)
of_square("repeat", lambda torch, x: x.repeat(2, 2), "copy", 20 * MILLION)
of_square("repeat_interleave", lambda torch, x: x.repeat_interleave(2, 0), "copy", 12 * MILLION)
of_square("topk", lambda torch, x: x.topk(10, 1))
of_square("topk of a vector", lambda torch, x: x.flatten().topk(100))
of_square("sort, rows", lambda torch, x: x.sort(1), "copy", 16 * MILLION)
of_square("median, rows", lambda torch, x: x.median(1))
of_square("nonzero", lambda torch, x: (x > 1).nonzero())
of_square("m[m > 1]", lambda torch, x: x[x > 1])
of_square("masked_fill", lambda torch, x: x.masked_fill(x > 1, 0.0), "copy", 12 * MILLION)
of_square("row by row add", lambda torch, x: x + x[0], *BOTH)
of_square("column by column add", lambda torch, x: x + x[:, :1], *BOTH)
of_square("strided add", lambda torch, x: x[:, ::2] + 1.0, "copy", 6 * MILLION)
of_square(
    "one_hot",
    lambda torch, x: torch.nn.functional.one_hot((x[0].abs() * 9).long(), 1024),
    "copy",
    8 * MILLION,
)


def along_index(name, call, amount, dtype="float32"):
    """A row of a matrix and indices of its shape."""

    @row(name, "copy", amount)
    def make(torch):
        x = torch.randn(*SQUARE).to(getattr(torch, dtype))
        index = torch.randint(0, 1024, SQUARE)
        return lambda: call(torch, x, index)


along_index("gather", lambda torch, x, index: x.gather(1, index), 16 * MILLION)
along_index("gather, columns", lambda torch, x, index: x.gather(0, index), 16 * MILLION)
along_index(
    "gather of bfloat16", lambda torch, x, index: x.gather(1, index), 12 * MILLION, "bfloat16"
)
along_index("gather of int64", lambda torch, x, index: x.gather(1, index), 24 * MILLION, "int64")
along_index("scatter", lambda torch, x, index: x.scatter(1, index, x), 20 * MILLION)
along_index(
    "scatter_add",
    lambda torch, x, index: torch.zeros(1024, 1024).scatter_add(1, index, x),
    16 * MILLION,
)
along_index(
    "scatter_add of bfloat16",
    lambda torch, x, index: x.scatter_add(1, index, x),
    14 * MILLION,
    "bfloat16",
)


@row("index_select, rows", "copy", 4 * MILLION)
def index_select(torch):
    x, index = torch.randn(*SQUARE), torch.randint(0, 1024, (512,))
    return lambda: x.index_select(0, index)


@row("index_select, columns", "copy", 4 * MILLION)
def index_select_columns(torch):
    x, index = torch.randn(*SQUARE), torch.randint(0, 1024, (512,))
    return lambda: x.index_select(1, index)


@row("rows by index", "copy", 4 * MILLION)
def rows_by_index(torch):
    x, index = torch.randn(*SQUARE), torch.randint(0, 1024, (512,))
    return lambda: x[index]


@row("index_add", "copy", 4 * MILLION)
def index_add(torch):
    x, index, y = torch.randn(*SQUARE), torch.randint(0, 1024, (512,)), torch.randn(512, 1024)
    return lambda: x.index_add_(0, index, y)


@row("index_add of bfloat16", "copy", 7 * MILLION)
def index_add_bfloat16(torch):
    x, y = (torch.randn(n, 1024).to(torch.bfloat16) for n in (1024, 512))
    index = torch.randint(0, 1024, (512,))
    return lambda: x.index_add(0, index, y)


@row("index_fill", "copy", 10 * MILLION)
def index_fill(torch):
    x, index = torch.randn(*SQUARE), torch.randint(0, 1024, (512,))
    return lambda: x.index_fill(0, index, 1.0)


@row("embedding", "copy", 2 * 4 * 2048 * 128)
def embedding(torch):
    table, index = torch.randn(32000, 128), torch.randint(0, 32000, (2048,))
    return lambda: torch.nn.functional.embedding(index, table)


@row("cross_entropy", "read", 4 * MILLION)
def cross_entropy(torch):
    x, target = torch.randn(*SQUARE), torch.randint(0, 1024, (1024,))
    return lambda: torch.nn.functional.cross_entropy(x, target)


@row("cross_entropy backward", "copy", 8 * MILLION)
def cross_entropy_backward(torch):
    target = torch.randint(0, 1024, (1024,))
    with torch.enable_grad():
        x = torch.randn(*SQUARE, requires_grad=True)
        loss = torch.nn.functional.cross_entropy(x, target)
    return lambda: torch.autograd.grad(loss, x, retain_graph=True)


@row("nll_loss", "read", 12 * 65536)
def nll_loss(torch):
    x, target = torch.randn(65536, 16), torch.randint(0, 16, (65536,))
    return lambda: torch.nn.functional.nll_loss(x, target)


@row("mse_loss", "read", 8 * MILLION)
def mse_loss(torch):
    x, y = torch.randn(*SQUARE), torch.randn(*SQUARE)
    return lambda: torch.nn.functional.mse_loss(x, y)


def image(name, make_call, amount, shape=IMAGE, bound="copy"):
    @row(name, bound, amount)
    def make(torch):
        call, x = make_call(torch.nn.functional, torch), torch.randn(*shape)
        return lambda: call(x)


for mode in ("nearest", "bilinear", "bicubic"):
    image(
        f"{mode} resize x2",
        lambda f, torch, mode=mode: lambda x: f.interpolate(x, scale_factor=2.0, mode=mode),
        20 * MILLION,
    )
image(
    "bilinear resize to 0.4",
    lambda f, torch: lambda x: f.interpolate(x, (26, 26), mode="bilinear"),
    4 * MILLION,
)
image("max pool 2x2", lambda f, torch: lambda x: f.max_pool2d(x, 2), 5 * MILLION)
image("max pool 3x3 stride 2", lambda f, torch: lambda x: f.max_pool2d(x, 3, 2, 1), 5 * MILLION)
image("average pool 2x2", lambda f, torch: lambda x: f.avg_pool2d(x, 2), 5 * MILLION)
image("average pool 3x3 stride 1", lambda f, torch: lambda x: f.avg_pool2d(x, 3, 1, 1), 8 * MILLION)
image("adaptive max pool to 8", lambda f, torch: lambda x: f.adaptive_max_pool2d(x, 8), 4 * MILLION)
image("adaptive pool to 1", lambda f, torch: lambda x: f.adaptive_avg_pool2d(x, 1), 4 * MILLION)


@row("batch norm", "copy", 8 * MILLION)
def batch_norm(torch):
    norm, x = torch.nn.BatchNorm2d(32), torch.randn(*IMAGE)
    return lambda: norm(x)


@row("batch norm in eval", "copy", 8 * MILLION)
def batch_norm_eval(torch):
    norm, x = torch.nn.BatchNorm2d(32).eval(), torch.randn(*IMAGE)
    return lambda: norm(x)


@row("group norm", "copy", 8 * MILLION)
def group_norm(torch):
    norm, x = torch.nn.GroupNorm(8, 32), torch.randn(*IMAGE)
    return lambda: norm(x)


@row("layer norm", "copy", 8 * MILLION)
def layer_norm(torch):
    norm, x = torch.nn.LayerNorm(1024), torch.randn(*SQUARE)
    return lambda: norm(x)


@row("RMS norm", "copy", 8 * MILLION)
def rms_norm(torch):
    norm, x = torch.nn.RMSNorm(1024), torch.randn(*SQUARE)
    return lambda: norm(x)


def backward_of(name, amount, make_forward):
    """The backward pass alone: the forward's graph is kept."""

    @row(f"{name} backward", "copy", amount)
    def make(torch):
        with torch.enable_grad():
            y, leaves = make_forward(torch)
        grad = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True)


def norm_forward(make_norm, shape):
    def make(torch):
        norm, x = make_norm(torch.nn), torch.randn(*shape, requires_grad=True)
        return norm(x), (x, *norm.parameters())

    return make


def function_forward(call, shape=SQUARE):
    def make(torch):
        x = torch.randn(*shape, requires_grad=True)
        return call(torch, x), (x,)

    return make


def loss_forward(name):
    def make(torch):
        x = torch.randn(*SQUARE, requires_grad=True)
        target = torch.rand(*SQUARE).requires_grad_(name == "mse_loss")
        y = getattr(torch.nn.functional, name)(x, target)
        return y, (x, target) if name == "mse_loss" else (x,)

    return make


backward_of("layer norm", 12 * MILLION, norm_forward(lambda nn: nn.LayerNorm(1024), SQUARE))
backward_of("RMS norm", 12 * MILLION, norm_forward(lambda nn: nn.RMSNorm(1024), SQUARE))
backward_of("batch norm", 12 * MILLION, norm_forward(lambda nn: nn.BatchNorm2d(32), IMAGE))
backward_of("group norm", 12 * MILLION, norm_forward(lambda nn: nn.GroupNorm(8, 32), IMAGE))
backward_of("softmax", 12 * MILLION, function_forward(lambda torch, x: x.softmax(1)))
backward_of("softmax over dim 0", 12 * MILLION, function_forward(lambda torch, x: x.softmax(0)))
backward_of("log_softmax", 12 * MILLION, function_forward(lambda torch, x: x.log_softmax(1)))
backward_of("gelu", 12 * MILLION, function_forward(lambda torch, x: torch.nn.functional.gelu(x)))
backward_of("tanh", 12 * MILLION, function_forward(lambda torch, x: x.tanh()))
backward_of("sigmoid", 12 * MILLION, function_forward(lambda torch, x: x.sigmoid()))
backward_of("silu", 12 * MILLION, function_forward(lambda torch, x: torch.nn.functional.silu(x)))
backward_of("relu", 12 * MILLION, function_forward(lambda torch, x: x.relu()))
for name in ("logsigmoid", "softplus", "tanhshrink", "elu"):
    slope = lambda torch, x, name=name: getattr(torch.nn.functional, name)(x)
    backward_of(name, 12 * MILLION, function_forward(slope))
backward_of("mse_loss", 16 * MILLION, loss_forward("mse_loss"))
backward_of("BCE with logits", 12 * MILLION, loss_forward("binary_cross_entropy_with_logits"))
backward_of("glu", 10 * MILLION, function_forward(lambda torch, x: torch.nn.functional.glu(x)))
backward_of("digamma", 12 * MILLION, function_forward(lambda torch, x: x.abs().digamma()))
backward_of("max with indices", 4 * MILLION, function_forward(lambda torch, x: x.max(1)[0]))
backward_of("sort, rows", 16 * MILLION, function_forward(lambda torch, x: x.sort(1)[0]))
backward_of("cumsum, rows", 8 * MILLION, function_forward(lambda torch, x: x.cumsum(1)))
backward_of(
    "max pool 2x2",
    10 * MILLION,
    function_forward(lambda torch, x: torch.nn.functional.max_pool2d(x, 2), IMAGE),
)
backward_of(
    "average pool 2x2",
    5 * MILLION,
    function_forward(lambda torch, x: torch.nn.functional.avg_pool2d(x, 2), IMAGE),
)
backward_of(
    "bilinear resize x2",
    20 * MILLION,
    function_forward(
        lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
        IMAGE,
    ),
)


@row("embedding backward", "copy", 4 * 32000 * 128)
def embedding_backward(torch):
    index = torch.randint(0, 32000, (2048,))
    with torch.enable_grad():
        table = torch.randn(32000, 128, requires_grad=True)
        y = torch.nn.functional.embedding(index, table)
    grad = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, table, grad, retain_graph=True)


def product(name, left, right, bound="f32", call=None, amount=None):
    dtype = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}

    @row(name, bound, amount or 2.0 * left[-1] * right[-1] * prod(left[:-1]))
    def make(torch):
        x, y = (torch.randn(*sizes).to(getattr(torch, dtype[bound])) for sizes in (left, right))
        apply = call or torch.matmul
        return lambda: apply(x, y)


def prod(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


for dtype, width in (("float32", 4), ("bfloat16", 2)):

    @row(f"dot of 100000{' of bfloat16' if width == 2 else ''}", "read", 2 * width * 100_000)
    def make(torch, dtype=dtype):
        x, y = (torch.randn(100_000).to(getattr(torch, dtype)) for _ in range(2))
        return lambda: x.dot(y)


for n in (64, 128, 256, 512, 1024):
    product(f"product {n}", (n, n), (n, n))
product("product 1024, right transposed", SQUARE, SQUARE, call=lambda x, y: x @ y.t())
product("product 1024, left transposed", SQUARE, SQUARE, call=lambda x, y: x.t() @ y)
product("product 1024 of float64", SQUARE, SQUARE, "f64")
product("product 1024 of bfloat16", SQUARE, SQUARE, "bf16")
product("product 1024 of float16", SQUARE, SQUARE, "f16")
product("product 8x1024 by 1024", (8, 1024), SQUARE)
product("product 16x1024 by 1024", (16, 1024), SQUARE)
product("product 1024 by 1024x8", SQUARE, (1024, 8))
product("product 128x784 by 512", (128, 784), (784, 512))
product("bmm 10000 x 2x2x2", (10000, 2, 2), (10000, 2, 2))
product("bmm 10000 x 3x3x1", (10000, 3, 3), (10000, 3, 1))
product("bmm 64 x 64x64x64", (64, 64, 64), (64, 64, 64))
product("bmm 64 x 256x32x256", (64, 256, 32), (64, 32, 256))
product("bmm 64 x 64x64x64 of bfloat16", (64, 64, 64), (64, 64, 64), "bf16")
product("bmm 16 x 256x256x256 of bfloat16", (16, 256, 256), (16, 256, 256), "bf16")


@row("matrix by vector", "read", 4 * MILLION)
def matrix_vector(torch):
    x, y = torch.randn(*SQUARE), torch.randn(1024)
    return lambda: x @ y


@row("vector by matrix", "read", 4 * MILLION)
def vector_matrix(torch):
    x, y = torch.randn(*SQUARE), torch.randn(1024)
    return lambda: y @ x


def matrix_vector_forward(torch):
    x, y = torch.randn(*SQUARE, requires_grad=True), torch.randn(1024, requires_grad=True)
    return x @ y, (x, y)


backward_of("matrix by vector", 8 * MILLION, matrix_vector_forward)


def conv(name, c, h, o, kernel, stride=1, padding=0, groups=1, n=8, layout=None, dtype="float32"):
    size = (h + 2 * padding - kernel) // stride + 1
    flops = 2.0 * n * o * size * size * (c // groups) * kernel * kernel

    @row(f"conv {name}", "bf16" if dtype == "bfloat16" else "f32", flops)
    def make(torch):
        x = torch.randn(n, c, h, h)
        w, b = torch.randn(o, c // groups, kernel, kernel), torch.randn(o)
        if layout:
            x = x.to(memory_format=torch.channels_last)
            w = w.to(memory_format=torch.channels_last)
        x, w, b = (t.to(getattr(torch, dtype)) for t in (x, w, b))
        return lambda: torch.nn.functional.conv2d(x, w, b, stride, padding, 1, groups)

    if layout or dtype != "float32":
        return

    @row(f"conv {name} backward", "f32", 2 * flops)
    def make_backward(torch):
        with torch.enable_grad():
            x = torch.randn(n, c, h, h, requires_grad=True)
            w = torch.randn(o, c // groups, kernel, kernel, requires_grad=True)
            y = torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)
        grad = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, (x, w), grad, retain_graph=True)


conv("1x1", 32, 64, 64, 1)
conv("1x1, 256 to 64", 256, 28, 64, 1)
conv("3x3", 32, 64, 64, 3)
conv("3x3 padded", 64, 56, 64, 3, padding=1)
conv("3x3, 256 on 14x14", 256, 14, 256, 3, padding=1)
conv("3x3 of colours", 3, 64, 32, 3, padding=1)
conv("3x3 stride 2", 64, 56, 128, 3, 2, 1)
conv("7x7 stride 2 of colours", 3, 224, 64, 7, 2, 3, n=1)
conv("5x5", 32, 28, 64, 5, padding=2)
conv("3x3 depthwise", 128, 28, 128, 3, padding=1, groups=128)
conv("3x3 depthwise of bfloat16", 128, 28, 128, 3, padding=1, groups=128, dtype="bfloat16")
conv("3x3, 512 on 7x7", 512, 7, 512, 3, padding=1)
conv("3x3 in 8 groups", 64, 28, 64, 3, padding=1, groups=8)
conv("3x3 padded, channels_last", 64, 56, 64, 3, padding=1, layout="nhwc")
conv("1x1, channels_last", 32, 64, 64, 1, layout="nhwc")
conv("1x1 of bfloat16", 64, 32, 64, 1, n=16, dtype="bfloat16")
conv("3x3 of bfloat16", 64, 32, 64, 3, padding=1, n=16, dtype="bfloat16")
conv("3x3 stride 2 of bfloat16", 64, 32, 64, 3, 2, 1, n=16, dtype="bfloat16")


def conv_norm(name, c, h, o, kernel, padding=0, groups=1, n=8):
    size = h + 2 * padding - kernel + 1
    flops = 2.0 * n * o * size * size * (c // groups) * kernel * kernel

    @row(f"conv {name} + BN + ReLU, eval", "f32", flops)
    def make(torch):
        nn = torch.nn
        conv = nn.Conv2d(c, o, kernel, padding=padding, groups=groups, bias=False)
        net = nn.Sequential(conv, nn.BatchNorm2d(o), nn.ReLU()).eval()
        x = torch.randn(n, c, h, h)
        return lambda: net(x)


conv_norm("3x3", 64, 56, 64, 3, padding=1)
conv_norm("1x1", 256, 28, 64, 1)
conv_norm("3x3 depthwise", 128, 28, 128, 3, padding=1, groups=128)


def attention(name, sizes, dtype="float32", kv_heads=None, **options):
    n, heads, length, width = sizes

    @row(f"attention {name}", "f32", 4.0 * n * heads * length * length * width)
    def make(torch):
        kv = (n, kv_heads or heads, length, width)
        q, k, v = (torch.randn(*s).to(getattr(torch, dtype)) for s in (sizes, kv, kv))
        call = torch.nn.functional.scaled_dot_product_attention
        return lambda: call(q, k, v, **options)


attention("8x8x256x64", (8, 8, 256, 64))
attention("8x8x256x64 causal", (8, 8, 256, 64), is_causal=True)
attention("8x8x256x64, 2 heads of k and v", (8, 8, 256, 64), kv_heads=2, enable_gqa=True)
attention("1x8x1024x64 causal", (1, 8, 1024, 64), is_causal=True)
attention("8x8x256x64 of bfloat16", (8, 8, 256, 64), "bfloat16")
attention("8x8x256x64, dropout", (8, 8, 256, 64), dropout_p=0.1)


@row("attention 8x8x256x64 backward, learnt mask", "f32", 14.0 * 8 * 8 * 256 * 256 * 64)
def attention_of_a_learnt_mask(torch):
    """Forward's two products, and backward's five, two of them forward's again."""
    q, k, v, grad = (torch.randn(8, 8, 256, 64) for _ in range(4))
    mask = torch.randn(8, 256, 256)
    leaves = [t.requires_grad_() for t in (q, k, v, mask)]

    def step():
        with torch.enable_grad():
            y = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
        return torch.autograd.grad(y, leaves, grad)

    return step


def sequences(name, lengths, window):
    """One after the other, 8 heads of 64 columns; PyTorch has it on GPUs alone."""
    scores = sum(n * n for n in lengths)

    @row(f"varlen_attn {name}", "f32", 4.0 * 8 * 64 * scores)
    def make(torch):
        from importlib import import_module

        call = import_module(f"{torch.__name__}.nn.attention.varlen").varlen_attn
        q, k, v = (torch.randn(sum(lengths), 8, 64) for _ in range(3))
        starts = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        at = torch.tensor(starts, dtype=torch.int32)
        return lambda: call(q, k, v, at, at, max(lengths), max(lengths), window_size=window)


sequences("of 64 to 512 places", (512, 64, 300, 172, 500, 100, 300, 100), (-1, -1))
sequences("of 64 to 512 places, causal", (512, 64, 300, 172, 500, 100, 300, 100), (-1, 0))
sequences("of 1024 places, window of 64", (1024, 1024), (64, 0))


def decoding(name, queries, keys, kv_heads=8, dtype="float32", masked=False, **options):
    """A few queries, whose keys and values are read once: 4 texts, 8 heads of 64 columns."""
    width = 4 if dtype == "float32" else 2

    @row(f"attention {name}", "read", 2 * width * 4 * kv_heads * keys * 64)
    def make(torch):
        sizes = (4, 8, queries, 64), (4, kv_heads, keys, 64), (4, kv_heads, keys, 64)
        q, k, v = (torch.randn(*s).to(getattr(torch, dtype)) for s in sizes)
        mask = torch.rand(4, 1, 1, keys) > 0.2 if masked else None
        call = torch.nn.functional.scaled_dot_product_attention
        return lambda: call(q, k, v, attn_mask=mask, **options)


decoding("of 1 query, 256 keys", 1, 256)
decoding("of 1 query, 256 keys of bfloat16", 1, 256, dtype="bfloat16")
decoding("of 1 query, 256 keys, masked", 1, 256, masked=True)
decoding("of 1 query, 2048 keys, 2 heads of k and v", 1, 2048, kv_heads=2, enable_gqa=True)
decoding("of 4 queries, 1000 keys", 4, 1000)
decoding("of 8 queries, 256 keys of bfloat16", 8, 256, dtype="bfloat16")


def recurrent(name, backward):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[name]
    flops = 2.0 * (32 * 64) * (128 + 128) * gates * 128 * (1.5 if backward else 1)

    @row(f"{name} 128, batch 32 of 64{' backward' if backward else ''}", "f32", flops)
    def make(torch):
        layer, x = getattr(torch.nn, name)(128, 128, batch_first=True), torch.randn(32, 64, 128)
        if not backward:
            return lambda: layer(x)
        with torch.enable_grad():
            y = layer(x)[0]
        grad = torch.randn_like(y)
        leaves = tuple(layer.parameters())
        return lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True)


for name in ("LSTM", "GRU", "RNN"):
    recurrent(name, False)
    recurrent(name, True)
