"""The families of kernels that speed.py times, each as a program of a few lines that both libraries
can run, with the bytes that have to be read and written at least, or the operations, so that its
time tells what share of the GPU it uses.
"""

from __future__ import annotations

from dataclasses import dataclass

BATCH, HEADS, WIDTH = 8, 16, 64  # of attention
CHANNELS, SIDE = 64, 56  # of images


@dataclass
class Family:
    name: str
    work: object  # makes, in a library, what is timed
    moved: int = 0  # bytes
    flops: int = 0

    @property
    def ceiling(self) -> str:
        """The family that shows the most of it that the GPU can do."""
        if self.moved:
            return "copy"
        return "matmul bf16" if "bf16" in self.name else "matmul f32"


def families(n, k):
    """Of about n elements, and products of k x k matrices."""
    images = (2 * (n // 2048 // SIDE**2 + 1), CHANNELS, SIDE, SIDE)
    grid = (n // 1024, 1024)
    listed = [*elementwise(n), *of_rows(n, grid), *indexed(n, grid), *of_images(images)]
    return [*listed, *products(k, images), *attention(k // 4), recurrent(k)]


def elementwise(n):
    yield Family("copy", on(lambda m, x, y: y.copy_(x), (n,), (n,)), moved=8 * n)
    yield Family("add f32", on(lambda m, x, y: x + y, (n,), (n,)), moved=12 * n)
    yield Family("add bf16", on(lambda m, x, y: x + y, (n,), (n,), half=True), moved=6 * n)
    yield from both_ways("gelu bf16", lambda m, x: call(m).gelu(x), (n,), moved=(4 * n, 6 * n))
    yield Family("rand f32", on(lambda m: m.rand(n, device=m.device)), moved=4 * n)
    yield Family("dropout f32", on(lambda m, x: call(m).dropout(x, 0.5), (n,)), moved=8 * n)
    yield Family("adam f32", adam(n // 4), moved=7 * n)


def of_rows(n, grid):
    yield Family("sum f32", on(lambda m, x: x.sum(), (n,)), moved=4 * n)
    yield Family("transpose f32", on(lambda m, x: x.t().contiguous(), grid), moved=8 * n)
    yield Family("cumsum f32", on(lambda m, x: x.cumsum(-1), grid), moved=8 * n)
    yield Family("sort f32", on(lambda m, x: x.sort(-1), grid), moved=16 * n)
    there_and_back = (8 * n, 12 * n)
    yield from both_ways("softmax f32", lambda m, x: x.softmax(-1), grid, moved=there_and_back)
    yield from both_ways(
        "layer_norm f32",
        lambda m, x: call(m).layer_norm(x, (1024,)),
        grid,
        moved=there_and_back,
    )
    yield from both_ways(
        "mse_loss f32", lambda m, x, y: call(m).mse_loss(x, y), grid, grid, moved=(8 * n, 16 * n)
    )
    yield from both_ways(
        "cross_entropy f32",
        lambda m, labels, x: call(m).cross_entropy(x, labels),
        grid,
        moved=(4 * n, 8 * n),
        prepare=lambda m: m.arange(grid[0], device=m.device) % 1024,
    )


def indexed(n, grid):
    def rows(m):  # every row once, far from its neighbours
        return m.arange(grid[0], device=m.device) * 7919 % grid[0]

    def places(m):
        return (m.arange(grid[1], device=m.device) * 7919 % grid[1]).expand(*grid).contiguous()

    yield Family("x[i] f32", prepared(rows, lambda m, i, x: x[i], grid), moved=8 * n)
    yield Family(
        "index_add f32",
        prepared(rows, lambda m, i, x, y: x.index_add(0, i, y), grid, grid),
        moved=12 * n,
    )
    gather = prepared(places, lambda m, i, x: x.gather(-1, i), grid)
    yield Family("gather f32", gather, moved=16 * n)
    yield from both_ways(
        "embedding f32",
        lambda m, i, w: call(m).embedding(i, w),
        grid,
        moved=(8 * n, 8 * n),
        prepare=rows,
    )


def of_images(images):
    n = images[0] * CHANNELS * SIDE**2
    there_and_back = (8 * n, 12 * n)
    yield from both_ways(
        "batch_norm f32",
        lambda m, x: call(m).batch_norm(x, None, None, training=True),
        images,
        moved=there_and_back,
    )
    yield from both_ways(
        "group_norm f32", lambda m, x: call(m).group_norm(x, 8), images, moved=there_and_back
    )
    for name in "max_pool2d", "avg_pool2d":
        yield from both_ways(
            f"{name} f32",
            lambda m, x, name=name: getattr(call(m), name)(x, 2),
            images,
            moved=(5 * n, 5 * n),
        )


def products(k, images):
    square, multiply = (k, k), lambda m, a, b: a @ b
    yield Family("matmul f32", on(multiply, square, square), flops=2 * k**3)
    both = (2 * k**3, 4 * k**3)
    yield from both_ways("matmul bf16", multiply, square, square, flops=both)
    once = 2 * images[0] * SIDE**2 * CHANNELS**2 * 9
    yield from both_ways(
        "conv2d bf16",
        lambda m, x, w: call(m).conv2d(x, w, padding=1),
        images,
        (CHANNELS, CHANNELS, 3, 3),
        flops=(once, 2 * once),
    )


def attention(length):
    once = 4 * BATCH * HEADS * length**2 * WIDTH
    yield from both_ways(
        "attention bf16",
        lambda m, q, k, v: call(m).scaled_dot_product_attention(q, k, v),
        *[(BATCH, HEADS, length, WIDTH)] * 3,
        flops=(once, 5 * once // 2),
    )


def recurrent(k):
    size, batch, steps = max(k // 8, 4), max(k // 64, 2), max(k // 64, 2)

    def make(m):
        layer = m.nn.LSTM(size, size).to(m.device)
        x = drawn(m, (steps, batch, size), "float32")
        return lambda: layer(x)[0]

    return Family("lstm f32", make, flops=16 * size**2 * batch * steps)


def call(m):
    return m.nn.functional


def drawn(m, size, dtype):
    return m.rand(size, device=m.device, dtype=m.float32).to(getattr(m, dtype))


def on(f, *sizes, half=False):
    """f(library, *operands) of these sizes."""
    return prepared(None, lambda m, _, *operands: f(m, *operands), *sizes, half=half)


def prepared(prepare, f, *sizes, half=False):
    """f(library, what was made before, *operands)."""

    def make(m):
        operands = [drawn(m, size, "bfloat16" if half else "float32") for size in sizes]
        before = prepare(m) if prepare else None
        return lambda: f(m, before, *operands)

    return make


def both_ways(name, f, *sizes, moved=(0, 0), flops=(0, 0), prepare=None):
    """A family and that of its gradient with respect to all operands."""
    half = name.endswith("bf16")
    given = f if prepare else lambda m, _, *operands: f(m, *operands)

    def make(m):
        operands = [drawn(m, size, "bfloat16" if half else "float32") for size in sizes]
        before = prepare(m) if prepare else None
        y = given(m, before, *[x.requires_grad_() for x in operands])
        slope = m.ones_like(y)
        return lambda: m.autograd.grad(y, operands, slope, retain_graph=True)

    yield Family(name, prepared(prepare, given, *sizes, half=half), moved[0], flops[0])
    yield Family(f"{name} backward", make, moved[1], flops[1])


def adam(n):
    def make(m):
        parameter = drawn(m, (n,), "float32").requires_grad_()
        parameter.grad = drawn(m, (n,), "float32")
        return m.optim.Adam([parameter]).step

    return make
