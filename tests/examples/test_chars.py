"""The programs that learn to write: they learn, one writes what another's weights say, byte for
byte, devices agree, and wrong options are refused before anything is trained.
"""

import re

import pytest
from programs import run

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
LENGTH = 120


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(TEXT)
    return path


def losses(output):
    return [float(x) for x in re.findall(r"epoch .* loss ([0-9.]+)", output)]


def written(output):
    """What comes after the report."""
    return output.split("\n\n")[-1].rstrip("\n")


def learn(command, text, weights, *options, **env):
    given = ["--text", text, "--save", weights, "--prompt", "the ", "--length", LENGTH]
    return run([*command, *given, *options], **env)


def test_every_language_learns_to_write(writers, text, tmp_path):
    for name, command in writers.items():
        output = learn(command, text, tmp_path / "w.safetensors", "--temperature", "0")
        assert losses(output)[-1] < 0.2, f"{name}\n{output}"
        assert written(output) == ("the " + TEXT[4:])[: LENGTH + 4], f"{name}\n{output}"


def test_weights_write_the_same_in_every_language(writers, text, tmp_path):
    for author, command in writers.items():
        weights = tmp_path / f"{author}.safetensors"
        expected = written(learn(command, text, weights, "--epochs", "2"))
        assert len(expected) == LENGTH + 4
        for reader, other in writers.items():
            read = [*other, "--weights", weights, "--prompt", "the ", "--length", LENGTH]
            assert written(run(read)) == expected, f"{reader} reads what {author} wrote"
            assert written(run([*read, "--seed", "1"])) != expected


def test_devices_write_the_same(writers, text, tmp_path):
    """What is likeliest does not depend on the device; random numbers do, as in PyTorch."""
    weights = tmp_path / "w.safetensors"
    learn(writers["c"], text, weights, "--epochs", "3")
    read = ["--weights", weights, "--temperature", "0", "--length", LENGTH]
    expected = written(run([*writers["c"], *read]))
    for name, command in writers.items():
        gpu = run([*command, *read], FLAMBEAU_SIM="devices=1,as=cuda")
        assert "device   cuda" in gpu and written(gpu) == expected, name


def test_c_and_rust_learn_the_same_weights(writers, text, tmp_path):
    """Both take their batches from the library's own loader: nothing differs."""
    found = set()
    for name in set(writers) - {"python"}:
        weights = tmp_path / f"{name}.safetensors"
        learn(writers[name], text, weights, "--epochs", "2")
        found.add(weights.read_bytes())
    assert len(found) == 1


def test_wrong_options_are_refused_before_training(writers, text, tmp_path):
    for name, command in writers.items():
        assert "usage: chars" in run([*command, "--help"]), name
        wrong = [("--epochs", "0"), ("--lr", "fast"), ("--temperature", "-1"), ("--prompt", "")]
        for option, value in wrong:
            said = run([*command, option, value], fails=True)
            assert option in said and "Traceback" not in said, f"{name} {option}\n{said}"
        absent = run([*command, "--text", tmp_path / "absent.txt"], fails=True)
        assert "absent.txt" in absent and "Traceback" not in absent, f"{name}\n{absent}"
        said = run([*command, "--text", text, "--prompt", "THE"], fails=True)
        assert "epoch" not in said and "Traceback" not in said, f"{name}\n{said}"
        short = tmp_path / "short.txt"
        short.write_text("too short")
        assert "short.txt" in run([*command, "--text", short], fails=True), name
