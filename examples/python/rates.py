"""What share of a GPU's arithmetic a training uses: floating-point operations by formula, over what
the vendor says the device can do. Operations that are made again, such as those of checkpointed
activations, do not count, so shares of different programs compare (Chowdhery et al., 2022, arXiv
2204.02311, appendix B: model FLOPs utilization)."""

import flambeau as torch

# Dense TFLOP/s of tensor cores; f32 is without TF32, which flambeau uses only where it is asked to.
# Sources: NVIDIA's data sheets of H100, H200, A100 and T4, whose doubled figures are for sparse
# matrices. T4 has no bf16.
PEAKS = {
    "H100 80GB HBM3": {"f16": 989.4, "bf16": 989.4, "f32": 66.9},
    "H100 PCIe": {"f16": 756.0, "bf16": 756.0, "f32": 51.2},
    "H100 NVL": {"f16": 835.5, "bf16": 835.5, "f32": 60.0},
    "H200 NVL": {"f16": 835.5, "bf16": 835.5, "f32": 60.0},
    "H200": {"f16": 989.4, "bf16": 989.4, "f32": 66.9},
    "A100": {"f16": 312.0, "bf16": 312.0, "f32": 19.5},
    "T4": {"f16": 65.0, "f32": 8.1},
}


def peak_of(name, dtype):
    """FLOP/s of the device with this name at "f32", "bf16" or "f16"; None where it is not known."""
    for known, peaks in PEAKS.items():
        if known.split() == [w for w in name.replace("-", " ").split() if w in known.split()]:
            return peaks[dtype] * 1e12 if dtype in peaks else None
    return None


def peak(device, dtype):
    """FLOP/s of a device; None where it is no GPU, or its peak is not known."""
    if device.type != "cuda":
        return None
    if dtype == "f32" and torch.get_float32_matmul_precision() != "highest":
        return None  # TF32 in some products, f32 in others
    return peak_of(torch.cuda.get_device_name(device), dtype)


def of_transformer(parameters, layers, width, length):
    """FLOPs of training on one token, forward and backward: six for each parameter of a product,
    and the products of attention, of which causal ones are counted whole (2204.02311, equation of
    appendix B)."""
    return 6 * parameters + 12 * layers * width * length


def of_products(parameters):
    """FLOPs of training with weights that a sample meets once: two for each forward, and four
    backward, for the gradients of input and weight."""
    return 6 * parameters


@torch.no_grad()
def of_images(model, size):
    """FLOPs of training on one image: those of its convolutions and linear layers, each two for
    every weight and place of its output, three times: forward, and the gradients of input and
    weight. The model is on meta, so that nothing is computed."""
    counted = []

    def count(module, _, output):
        counted.append(2 * module.weight[0].numel() * output.numel())

    layers = [m for m in model.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    model(torch.zeros(2, 3, size, size, device="meta"))
    for hook in hooks:
        hook.remove()
    return 3 * sum(counted) / 2
