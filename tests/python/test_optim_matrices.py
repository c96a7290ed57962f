"""Optimizers that treat matrices as matrices, Adafactor and Muon, beside PyTorch 2.15's numbers."""

import flambeau as torch
import pytest

F64 = torch.float64


def run(optimizer, params):
    """Four steps of a loss that couples the parameters."""
    target = torch.tensor([[1.0, 2.0], [-0.5, 0.25], [0.0, 1.0]], dtype=F64).to(params[0].device)
    w, b = params
    for _ in range(4):
        w.grad = b.grad = None
        (((w - target) ** 2).sum() + ((b - w.sum(0)) ** 2).sum()).backward()
        optimizer.step()
    return optimizer.state_dict()["state"][0]


def parameters(device):
    values = [[0.5, -1.25], [3.0, 0.75], [0.1, -0.2]], [0.4, -2.0]
    return [torch.nn.Parameter(torch.tensor(v, dtype=F64, device=device)) for v in values]


def near(tensor, want, tolerance):
    assert tensor.cpu().numpy().ravel().tolist() == pytest.approx(want, rel=tolerance)


def test_adafactor(device):
    params = parameters(device)
    state = run(torch.optim.Adafactor(params), params)
    near(
        params[0].detach(),
        [0.4571884936501787, -1.1560732481575067, 2.9483559219852618]
        + [0.7084880658626944, 0.04689291123968867, -0.20467358642137343],
        1e-12,
    )
    near(params[1].detach(), [0.4566318385077434, -1.9428483133569179], 1e-12)
    assert list(state) == ["step", "row_var", "col_var"] and state["step"].item() == 4
    near(state["row_var"], [20.73779344740317, 93.07273916764125, 20.31664437759273], 1e-12)
    near(state["col_var"], [80.31692213125496, 9.101195863836473], 1e-12)


def test_adafactors_options(device):
    params = parameters(device)
    options = {"lr": 0.5, "weight_decay": 0.1, "maximize": True, "eps": (1e-4, 1e-2), "d": 1.5}
    run(torch.optim.Adafactor(params, **options), params)
    near(params[1].detach(), [-5.867234365354789, -5.997486084151724], 1e-12)


def test_adafactor_goes_on_from_its_state_dict():
    params, again = parameters("cpu"), parameters("cpu")
    first, second = torch.optim.Adafactor(params), torch.optim.Adafactor(again)
    run(first, params)
    with torch.no_grad():
        for p, q in zip(params, again):
            q.copy_(p)
    second.load_state_dict(first.state_dict())
    run(first, params)
    run(second, again)
    assert all(p.equal(q) for p, q in zip(params, again))


@pytest.mark.parametrize(
    "options, want",
    [
        (
            {},
            [0.3170290301144517, -0.8039305164383755, 2.594274410723552]
            + [0.5102385558782746, -0.056376891101357844, -0.1596122358010051],
        ),
        (
            {"nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0},
            [0.4519626533838319, -1.1249675823286216, 2.9182688525178437]
            + [0.6853187276548497, 0.05548088158670619, -0.18777077408327833],
        ),
    ],
)
def test_muon(device, options, want):
    w, b = parameters(device)
    b.requires_grad_(False)
    optimizer = torch.optim.Muon([w], lr=0.1, **options)
    target = torch.tensor([[1.0, 2.0], [-0.5, 0.25], [0.0, 1.0]], dtype=F64, device=device)
    free = torch.nn.Parameter(b.clone())
    for _ in range(4):
        w.grad = None
        (((w - target) ** 2).sum() + ((free - w.sum(0)) ** 2).sum()).backward()
        optimizer.step()
    near(w.detach(), want, 5e-3)  # the iteration is in bfloat16


def test_what_they_refuse():
    w = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        torch.optim.Muon([w])
    with pytest.raises(ValueError, match="Adjust learning rate function x is not supported"):
        torch.optim.Muon([w], adjust_lr_fn="x")
    with pytest.raises(ValueError, match="Clipping threshold d should be >= 1 but is: 0.5"):
        torch.optim.Adafactor([w], d=0.5)


def test_state_is_looked_for_once(monkeypatch):
    """Parameters of several dimensions have several states; steps after the first ask for none."""
    params = [torch.nn.Parameter(torch.ones(shape)) for shape in ((2, 3), (3,), (2, 2, 2), ())]
    optimizer, asked = torch.optim.Adafactor(params), []
    begun = torch.optim.Adafactor._begun
    monkeypatch.setattr(
        torch.optim.Adafactor, "_begun", lambda self, *a: asked.append(a) or begun(self, *a)
    )
    for k in range(3):
        for p in params:
            p.grad = torch.full_like(p, k + 1.0)
        optimizer.step()
        if k == 0:
            assert len(asked) >= len(params)
            asked.clear()
    assert not asked
    kept = [sorted(optimizer.state[p]) for p in params]
    assert kept == [["col_var", "row_var", "step"], ["step", "variance"]] * 2
