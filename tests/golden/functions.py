"""Functions on fixed inputs in float64, with first and second derivatives: what both PyTorch
(make.py) and the tests compute. Inputs follow from a formula of the position."""

import math

from tests.golden.layers import numbers, summary

SEQ, IMG, VOL, ROWS = (2, 4, 9), (2, 4, 7, 6), (1, 3, 5, 4, 4), (3, 4)
SIGNS = (1.0, -1.0, 1.0)

# name: (function of (torch, F, inputs...), shapes of the inputs)
CASES = {}


def case(name, function, *shapes):
    CASES[name] = (function, shapes)


def signs(torch, x):
    return torch.tensor(SIGNS, dtype=torch.float64, device=x.device)


def classes(torch, values, x):
    return torch.tensor(values, device=x.device)


for mode in "reflect", "replicate", "circular":
    case(f"pad {mode} 1", lambda torch, F, x, m=mode: F.pad(x, (2, 1), m), SEQ)
    case(f"pad {mode} 2", lambda torch, F, x, m=mode: F.pad(x, (1, 2, 2, -1), m), IMG)
    case(f"pad {mode} 3", lambda torch, F, x, m=mode: F.pad(x, (1, 0, 2, 1, 0, 2), m), VOL)
case("pad", lambda torch, F, x: F.pad(x, (-1, 2, 1, -2), value=1.5), IMG)
case(
    "conv2d same",
    lambda torch, F, x, w: F.conv2d(x, w, padding="same", dilation=(2, 1)),
    IMG,
    (3, 4, 3, 2),
)
case(
    "conv3d",
    lambda torch, F, x, w, b: F.conv3d(x, w, b, stride=2, padding=1),
    VOL,
    (2, 3, 2, 3, 2),
    (2,),
)
case(
    "conv_transpose1d",
    lambda torch, F, x, w: F.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1),
    SEQ,
    (4, 3, 3),
)
case(
    "conv_transpose3d",
    lambda torch, F, x, w: F.conv_transpose3d(x, w, stride=2, groups=3),
    VOL,
    (3, 2, 2, 1, 2),
)
case("max_pool1d", lambda torch, F, x: F.max_pool1d(x, 3, 2, 1, return_indices=True), SEQ)
case("max_pool2d", lambda torch, F, x: F.max_pool2d(x, (3, 2), 2, 1, return_indices=True), IMG)
case("max_pool3d", lambda torch, F, x: F.max_pool3d(x, 2, dilation=2, ceil_mode=True), VOL)
case("avg_pool1d", lambda torch, F, x: F.avg_pool1d(x, 3, 2, 1), SEQ)
case(
    "avg_pool3d",
    lambda torch, F, x: F.avg_pool3d(x, 2, padding=1, ceil_mode=True, count_include_pad=False),
    VOL,
)
case("adaptive_avg_pool1d", lambda torch, F, x: F.adaptive_avg_pool1d(x, 4), SEQ)
case("adaptive_avg_pool3d", lambda torch, F, x: F.adaptive_avg_pool3d(x, (2, None, 3)), VOL)
for n, shape, size in (1, SEQ, 4), (2, IMG, (3, None)), (3, VOL, 2):
    case(
        f"adaptive_max_pool{n}d",
        lambda torch, F, x, n=n, s=size: getattr(F, f"adaptive_max_pool{n}d")(x, s, True),
        shape,
    )
case("lp_pool1d", lambda torch, F, x: F.lp_pool1d(x, 2, 3, 2), SEQ)
case("lp_pool2d", lambda torch, F, x: F.lp_pool2d(x * x + 0.1, 3, 2), IMG)
case("lp_pool3d", lambda torch, F, x: F.lp_pool3d(x, 2, 2), VOL)
for n, shape in (1, SEQ), (2, IMG), (3, VOL):
    case(
        f"max_unpool{n}d",
        lambda torch, F, x, n=n: getattr(F, f"max_unpool{n}d")(
            *getattr(F, f"max_pool{n}d")(x, 2, return_indices=True), 2, output_size=x.shape
        ),
        shape,
    )
case("group_norm", lambda torch, F, x, w, b: F.group_norm(x, 2, w, b), IMG, (4,), (4,))
case("instance_norm", lambda torch, F, x, w: F.instance_norm(x, weight=w), IMG, (4,))
case("rms_norm", lambda torch, F, x, w: F.rms_norm(x, (6,), w), IMG, (6,))
case("rms_norm plain", lambda torch, F, x: F.rms_norm(x, (7, 6), eps=0.01), IMG)
case("local_response_norm", lambda torch, F, x: F.local_response_norm(x, 3, alpha=0.3), IMG)
case("normalize", lambda torch, F, x: F.normalize(x), IMG)
case("cosine_similarity", lambda torch, F, a, b: F.cosine_similarity(a, b), ROWS, ROWS)
case("pairwise_distance", lambda torch, F, a, b: F.pairwise_distance(a, b), ROWS, ROWS)
case("glu", lambda torch, F, x: F.glu(x, 1), IMG)
case("prelu", lambda torch, F, x, w: F.prelu(x, w), IMG, (4,))
case("rrelu", lambda torch, F, x: F.rrelu(x), ROWS)
case("hardshrink", lambda torch, F, x: F.hardshrink(x), ROWS)
case("softshrink", lambda torch, F, x: F.softshrink(x, 0.3), ROWS)
for mode in "mean", "sum", "none":
    named = {"reduction": mode}
    case(
        f"margin_ranking_loss {mode}",
        lambda torch, F, a, b, r=named: F.margin_ranking_loss(a, b, signs(torch, a), 0.1, **r),
        (3,),
        (3,),
    )
    case(
        f"hinge_embedding_loss {mode}",
        lambda torch, F, a, r=named: F.hinge_embedding_loss(a, signs(torch, a), 0.7, **r),
        (3,),
    )
    case(
        f"cosine_embedding_loss {mode}",
        lambda torch, F, a, b, r=named: F.cosine_embedding_loss(a, b, signs(torch, a), 0.1, **r),
        ROWS,
        ROWS,
    )
    case(
        f"triplet_margin_loss {mode}",
        lambda torch, F, a, b, c, r=named: F.triplet_margin_loss(a, b, c, swap=True, **r),
        ROWS,
        ROWS,
        ROWS,
    )
    case(
        f"soft_margin_loss {mode}",
        lambda torch, F, a, r=named: F.soft_margin_loss(a, signs(torch, a), **r),
        (3,),
    )
    case(
        f"multi_margin_loss {mode}",
        lambda torch, F, a, r=named: F.multi_margin_loss(
            a, classes(torch, [0, 2, 3], a), 2, 0.8, a[0].detach().abs(), **r
        ),
        ROWS,
    )
    case(
        f"multilabel_margin_loss {mode}",
        lambda torch, F, a, r=named: F.multilabel_margin_loss(
            a, classes(torch, [[0, 2, -1, 1], [3, -1, 0, 0], [1, 2, 3, 0]], a), **r
        ),
        ROWS,
    )
    case(
        f"multilabel_soft_margin_loss {mode}",
        lambda torch, F, a, r=named: F.multilabel_soft_margin_loss(a, (a > 0).double(), **r),
        ROWS,
    )
    case(
        f"poisson_nll_loss {mode}",
        lambda torch, F, a, r=named: F.poisson_nll_loss(
            a, classes(torch, [0.0, 1, 3], a).double(), full=True, **r
        ),
        (3,),
    )
    case(
        f"gaussian_nll_loss {mode}",
        lambda torch, F, a, v, r=named: F.gaussian_nll_loss(
            a, a.detach() + 0.3, v * v + 0.1, full=True, **r
        ),
        ROWS,
        (3, 1),
    )
for mode, align in (
    ("nearest", None),
    ("nearest-exact", None),
    ("bilinear", False),
    ("bilinear", True),
    ("bicubic", False),
    ("bicubic", True),
    ("area", None),
):
    kind = {"mode": mode, "align_corners": align}
    case(
        f"interpolate {mode} {align} size",
        lambda torch, F, x, k=kind: F.interpolate(x, (5, 11), **k),
        (1, 2, 7, 6),
    )
    case(
        f"interpolate {mode} {align} scale",
        lambda torch, F, x, k=kind: F.interpolate(x, scale_factor=(1.7, 0.6), **k),
        (1, 2, 7, 6),
    )
for mode in "bilinear", "bicubic":
    case(
        f"interpolate {mode} antialias",
        lambda torch, F, x, m=mode: F.interpolate(x, (3, 9), mode=m, antialias=True),
        (1, 2, 7, 6),
    )
case(
    "interpolate linear",
    lambda torch, F, x: F.interpolate(x, scale_factor=2, mode="linear"),
    (1, 2, 5),
)
case(
    "interpolate trilinear",
    lambda torch, F, x: F.interpolate(x, (3, 5, 6), mode="trilinear", align_corners=True),
    (1, 2, 4, 3, 4),
)
for mode in "bilinear", "nearest", "bicubic":
    for padding in "zeros", "border", "reflection":
        for align in True, False:
            case(
                f"grid_sample {mode} {padding} {align}",
                lambda torch, F, x, g, k=(mode, padding, align): F.grid_sample(x, 1.3 * g, *k),
                (2, 2, 5, 4),
                (2, 3, 2, 2),
            )
case(
    "grid_sample 3",
    lambda torch, F, x, g: F.grid_sample(x, g, align_corners=False),
    VOL,
    (1, 2, 2, 3, 3),
)
case(
    "affine_grid",
    lambda torch, F, t: F.affine_grid(t, (2, 1, 3, 4), align_corners=False),
    (2, 2, 3),
)
case(
    "affine_grid 3",
    lambda torch, F, t: F.affine_grid(t, (2, 1, 3, 2, 2), align_corners=True),
    (2, 3, 4),
)
case("pixel_shuffle", lambda torch, F, x: F.pixel_shuffle(x, 2), IMG)
case("pixel_unshuffle", lambda torch, F, x: F.pixel_unshuffle(x, 2), (2, 1, 4, 6))
case("channel_shuffle", lambda torch, F, x: F.channel_shuffle(x, 2), IMG)
case("unfold", lambda torch, F, x: F.unfold(x, (3, 2), padding=1, stride=2), IMG)
case("fold", lambda torch, F, x: F.fold(x, (5, 6), (2, 3), padding=1, stride=2), (2, 12, 9))
case("bilinear", lambda torch, F, *xs: F.bilinear(*xs), (3, 4), (3, 5), (2, 4, 5), (2,))
HEADS = (2, 3, 4, 5)
case("attention", lambda torch, F, *qkv: F.scaled_dot_product_attention(*qkv), HEADS, HEADS, HEADS)
case(
    "attention causal",
    lambda torch, F, *qkv: F.scaled_dot_product_attention(*qkv, is_causal=True, scale=0.3),
    HEADS,
    HEADS,
    HEADS,
)
case(
    "attention masked",
    lambda torch, F, *qkv: F.scaled_dot_product_attention(
        *qkv, attn_mask=classes(torch, [[True, False, True], [False] * 3], qkv[0])
    ),
    (2, 2, 5),
    (2, 3, 5),
    (2, 3, 5),
)
case(
    "attention grouped",
    lambda torch, F, *qkv: F.scaled_dot_product_attention(*qkv, enable_gqa=True),
    (1, 4, 3, 5),
    (1, 2, 3, 5),
    (1, 2, 3, 5),
)
for mode in "sum", "mean", "max":
    case(
        f"embedding_bag {mode}",
        lambda torch, F, w, m=mode: F.embedding_bag(
            classes(torch, [1, 2, 4, 0, 2, 1, 3], w), w, classes(torch, [0, 2, 2, 5], w), mode=m
        ),
        (5, 3),
    )
    case(
        f"embedding_bag rows {mode}",
        lambda torch, F, w, m=mode: F.embedding_bag(
            classes(torch, [[1, 2, 4], [0, 2, 2]], w), w, mode=m, padding_idx=2
        ),
        (5, 3),
    )
case(
    "embedding_bag weighted",
    lambda torch, F, w, p: F.embedding_bag(
        classes(torch, [1, 2, 4, 0], w),
        w,
        classes(torch, [0, 3], w),
        mode="sum",
        per_sample_weights=p,
    ),
    (5, 3),
    (4,),
)
case(
    "embedding by frequency",
    lambda torch, F, w: F.embedding(
        classes(torch, [[1, 2], [2, 2]], w), w, scale_grad_by_freq=True
    ),
    (5, 3),
)


def _weighted(torch, t, phase):
    return (t * torch.tensor(numbers(tuple(t.shape), phase), device=t.device)).sum()


def results(torch, name, device="cpu"):
    """Values, and every gradient folded to one number; second ones None where there are none."""
    function, shapes = CASES[name]
    inputs = [
        torch.tensor(2 * numbers(s, i + 0.3), device=device, requires_grad=True)
        for i, s in enumerate(shapes)
    ]
    output = function(torch, torch.nn.functional, *inputs)
    output, places = output if isinstance(output, tuple) else (output, None)
    total = _weighted(torch, output, 20)
    first = torch.autograd.grad(total, inputs)
    stored = {
        "output": summary(torch, output),
        "places": None if places is None else summary(torch, places),
        "first": [float(_weighted(torch, g, 30)) for g in first],
    }
    stored["second"] = _second(torch, lambda *xs: function(torch, torch.nn.functional, *xs), inputs)
    return stored


def _second(torch, function, inputs):
    """Derivatives of a sum of the gradients; None where PyTorch has not derived them."""
    output = function(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    try:
        first = torch.autograd.grad(_weighted(torch, output, 20), inputs, create_graph=True)
        total = sum(_weighted(torch, g, 30) for g in first)
        if not total.requires_grad:
            return [0.0 for _ in inputs]
        second = torch.autograd.grad(total, inputs, allow_unused=True)
    except RuntimeError as error:
        if "derivative for" not in str(error):
            raise
        return None
    sums = [0.0 if g is None else float(_weighted(torch, g, 40)) for g in second]
    return None if any(math.isnan(s) for s in sums) else sums
