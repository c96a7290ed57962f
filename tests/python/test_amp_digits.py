"""The digits program's models, trained in float16 with a scaler, learn as they do in float32."""

import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "python"


@pytest.fixture(scope="module")
def program():
    """examples/python/digits.py as a module."""
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("digits_program", FOLDER / "digits.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(FOLDER))


def batches(torch, images, labels, size=32):
    order = torch.randperm(len(images))
    return [(images[i], labels[i]) for i in order.split(size)]


@pytest.mark.parametrize("form,epochs", [("mlp", 30), ("conv", 12)])
def test_float16_learns(torch, device, program, form, epochs, request):
    if request.config.getoption("--device") == "standin":
        if form == "conv":
            pytest.skip("a step takes the emulation's fibers more than a second: 12 minutes in all")
        epochs = 12  # half a minute less
    torch.manual_seed(0)
    learn, held_out = program.digits(ROOT / "examples" / "data" / "digits.safetensors")
    model = getattr(program, form)().to(device)
    images, labels = (t.to(device) for t in held_out)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    scaler = torch.amp.GradScaler(device, growth_interval=20)
    skipped = steps = 0
    for _ in range(epochs):
        for some, their in batches(torch, *learn):
            optimizer.zero_grad()
            with torch.autocast(device, dtype=torch.float16):
                logits = model(some.to(device))
                loss = program.loss_of(logits, their.to(device))
            assert logits.dtype == torch.float16 and loss.dtype == torch.float32
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            skipped, steps = skipped + scaler.skipped(optimizer), steps + 1
        scheduler.step()
    assert model[-1].weight.dtype == torch.float32
    assert 0 < skipped < steps / 10  # the factor grew until float16 overflowed, and went back
    with torch.autocast(device, dtype=torch.float16):
        _, _, accuracy = program.evaluate(model, images, labels)
    assert accuracy >= 0.97
