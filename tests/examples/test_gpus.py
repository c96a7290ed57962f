"""The examples where kernels are those of a GPU: on one, or over the stand-ins for NVIDIA's runtime
and libraries, where no call breaks a contract, for that ends a program with an error. Every
language learns there as on the cpu.
"""

import pytest
import zoo
from programs import accuracy, run
from test_chars import losses

CPU = ("--device", "cpu")


@pytest.mark.parametrize("form", ["perceptron", "conv"])
def test_every_language_learns_digits(gpus, languages, tmp_path, form):
    if form == "conv" and gpus:
        pytest.skip("a minute for each epoch over the stand-ins")
    options = ["--save", tmp_path / "w.safetensors", "--epochs", "3"]
    options += ["--conv"] if form == "conv" else []
    for name, command in languages.items():
        found, wanted = run([*command, *options], **gpus), run([*command, *options, *CPU])
        assert "device   cuda" in found, f"{name}\n{found}"
        assert abs(accuracy(found) - accuracy(wanted)) < 1, f"{name}\n{found}"


def test_every_language_learns_to_write(gpus, writers, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox. " * 20)
    options = ["--text", text, "--save", tmp_path / "w.safetensors", "--epochs", "2"]
    for name, command in writers.items():
        runs = (([], gpus), (CPU, {}))
        both = [losses(run([*command, *options, "--length", "4", *o], **env)) for o, env in runs]
        assert len(both[0]) == 2, f"{name}: {both}"
        assert both[0] == pytest.approx(both[1], rel=1e-2), f"{name}: {both}"


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["gpt2", "resnet50", "lstm"])
def test_models_learn_alike(gpus, in_python, tmp_path, name, dtype):
    """Two steps: the second one's loss follows from the first one's gradients. A batch norm of few
    images of one pixel turns a rounding of bf16 into a tenth of that loss: images are many."""
    text = tmp_path / "text.txt"
    text.write_text(zoo.TEXT)
    more = ["--steps", "2", "--dtype", dtype, "--warmup", "0"]
    more += ["--dropout", "0"] if name == "lstm" else []
    small = ["--width", "2", "--size", "8", "--batch-size", "32"]
    more += small if name == "resnet50" else ["--length", "1"]
    found, wanted = (zoo.train(name, text, *more, *o, **env) for o, env in (([], gpus), (CPU, {})))
    assert "device   cuda" in found
    near = 1e-3 if dtype == "f32" else 2e-2
    assert zoo.numbers(found) == pytest.approx(zoo.numbers(wanted), rel=near)


# One product after the other in plain arithmetic, and what attention is made of where its scores
# are written to memory.
PLAIN = {"gemm_kernel", "conv_kernel", "conv_data_kernel", "conv_weight_kernel"}
COMPOSED = {"softmax", "softmax_backward", "masked_fill", "triu", "bmm", "baddbmm"}
TILES = {"attention_forward_kernel", "attention_query_slopes_kernel", "attention_key_slopes_kernel"}


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("name", ["gpt2", "gpt2 that drops", "resnet50", "lstm"])
def test_products_and_scores_are_kept_from_plain_kernels(gpus, in_python, tmp_path, name, dtype):
    """No product of the models is a plain kernel's, and no score of attention leaves its own."""
    text = tmp_path / "text.txt"
    text.write_text(zoo.TEXT)
    more = ["--steps", "1", "--dtype", dtype, "--warmup", "0"]
    name, *dropped = name.split(" that drops")
    more += ["--width", "2", "--size", "8"] if name == "resnet50" else ["--length", "0"]
    more += ["--dropout", "0.1"] if dropped else []
    ran = zoo.kernels(name, text, tmp_path / "trace.json", *more, **gpus)
    assert not [pair for pair in ran if pair[1] in PLAIN], ran
    assert not [pair for pair in ran if pair[0] in COMPOSED], ran
    products = {symbol for _, symbol in ran if "conv_product" in symbol or "cublas" in symbol}
    assert len(products) == (2 if name == "resnet50" else 1), ran
    attention = {symbol for op, symbol in ran if op == "scaled_dot_product_attention"}
    assert attention == (TILES if name == "gpt2" else set()), ran


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_the_gpt_in_c_learns_alike(gpus, in_c, tmp_path, dtype):
    text = tmp_path / "text.txt"
    text.write_text(zoo.TEXT)
    command = [*in_c, *zoo.options("gpt2", text, "--steps", "2", "--dtype", dtype, "--length", "1")]
    found, wanted = run(command, **gpus), run([*command, *CPU])
    assert "device   cuda" in found
    near = 1e-3 if dtype == "f32" else 2e-2
    assert zoo.numbers(found) == pytest.approx(zoo.numbers(wanted), rel=near)
