"""The digits programs: they learn, they score each other's weights bit for bit, and neither the
number of threads nor of workers nor the kind of device changes a result.
"""

import json
import os
import pty
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from programs import ROOT, accuracy, environment, python_digits, run

LOGITS = 359 * 10 * 4


def train(command, folder, name, *options, **env):
    """(output, logits) of a training whose weights go to folder/name.safetensors."""
    weights, logits = folder / f"{name}.safetensors", folder / f"{name}.logits"
    output = run([*command, "--save", weights, "--logits", logits, *options], **env)
    return output, logits.read_bytes()


def test_every_language_learns(languages, tmp_path):
    for name, command in languages.items():
        output, logits = train(command, tmp_path, name)
        assert accuracy(output) >= 97, f"{name}\n{output}"
        assert len(logits) == LOGITS
        assert "memory summary" in output and str(tmp_path / f"{name}.safetensors") in output


def test_c_and_rust_train_to_the_same_weights(languages, tmp_path):
    """Both take their batches from the library's own loader: nothing differs."""
    native = [command for name, command in languages.items() if name != "python"]
    trained = {train(command, tmp_path, "native", "--epochs", "3")[1] for command in native}
    assert len(trained) == 1


def test_the_convolutional_form_learns(tmp_path):
    output, _ = train(python_digits(), tmp_path, "conv", "--conv", "--epochs", "12")
    assert accuracy(output) >= 97, output


@pytest.mark.parametrize("form", ["mlp", "conv"])
def test_weights_score_the_same_in_every_language(languages, tmp_path, form):
    options = ["--conv"] if form == "conv" else []
    for author, command in languages.items():
        _, expected = train(command, tmp_path, author, "--epochs", "2", *options)
        for reader, other in languages.items():
            logits = tmp_path / "read.logits"
            weights = tmp_path / f"{author}.safetensors"
            run([*other, *options, "--weights", weights, "--logits", logits])
            assert logits.read_bytes() == expected, f"{reader} reads what {author} wrote"


def test_threads_workers_and_devices_change_nothing(languages, tmp_path):
    for name, command in languages.items():
        _, expected = train(command, tmp_path, name, "--epochs", "2", "--threads", "1")
        for options in (["--threads", "2"], ["--workers", "0"], ["--workers", "5"]):
            _, logits = train(command, tmp_path, name, "--epochs", "2", *options)
            assert logits == expected, f"{name} {options}"
        for schedule in ("eager", "lazy", "random"):
            gpu = {"FLAMBEAU_SIM": f"devices=1,as=cuda,schedule={schedule}"}
            output, logits = train(command, tmp_path, name, "--epochs", "2", **gpu)
            assert "device   cuda" in output and "simulated" in output
            assert logits == expected, f"{name} on a simulated GPU, {schedule}"
        _, other = train(command, tmp_path, name, "--epochs", "2", "--seed", "1")
        assert other != expected


def test_the_plot_is_one_svg_with_the_curves(languages, tmp_path):
    path = tmp_path / "curves.svg"
    for name, command in languages.items():
        train(command, tmp_path, "plot", "--epochs", "3", "--plot", path)
        root = ElementTree.parse(path).getroot()
        curves = root.findall(".//{http://www.w3.org/2000/svg}polyline")
        assert [len(c.get("points").split()) for c in curves] == [3, 3, 3], name
        path.unlink()


def test_progress_is_logged_as_json(tmp_path):
    path = tmp_path / "log.jsonl"
    train(python_digits(), tmp_path, "log", "--epochs", "2", "--log", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[-1]["event"] == "end" and lines[-1]["done"] == lines[-1]["total"]
    assert any(line["event"] == "progress" and line["values"]["loss"] > 0 for line in lines)
    assert sum(line["event"] == "message" for line in lines) == 3


def on_a_terminal(command, **more):
    """What a program writes to a terminal."""
    main, other = pty.openpty()
    process = subprocess.Popen(
        [str(c) for c in command],
        cwd=ROOT,
        env=environment(**{"TERM": "xterm", "LC_ALL": "C.UTF-8"} | more),
        stdout=other,
    )
    os.close(other)
    written = b""
    while True:
        try:
            chunk = os.read(main, 65536)
        except OSError:  # the program closed its end
            break
        if not chunk:
            break
        written += chunk
    os.close(main)
    assert process.wait() == 0
    return written.decode()


def test_the_bar_is_drawn_on_terminals_only(languages, tmp_path):
    for name, command in languages.items():
        options = ["--epochs", "2", "--save", tmp_path / "bar.safetensors"]
        plain = run([*command, *options])
        assert "\x1b" not in plain and "\r" not in plain and "epoch   2/2" in plain, name
        drawn = on_a_terminal([*command, *options])
        for part in ("━", "100 %", "memory", "left", "epoch   2/2"):
            assert part in drawn, f"{name}\n{drawn}"


BAR = """
from flambeau.utils.progress import Progress
with Progress(2, interval=1e-9) as bar:
    bar.advance()
"""


@pytest.mark.parametrize(
    "locale, drawn",
    [("C", False), ("en_US.ISO-8859-1", False)]
    + [(f"en_US.{name}", True) for name in ("UTF-8", "utf-8", "utf8", "UTF8", "Utf-8")],
)
def test_the_bar_has_the_letters_that_the_locale_names(locale, drawn):
    assert ("━" in on_a_terminal([sys.executable, "-c", BAR], LC_ALL=locale)) == drawn


def test_wrong_options_are_refused_before_training(languages):
    for name, command in languages.items():
        assert "usage: digits" in run([*command, "--help"]), name
        for option, value in (
            ("--epochs", "0"),
            ("--batch-size", "0"),
            ("--threads", "0"),
            ("--workers", "-1"),
            ("--lr", "fast"),
            ("--epochs", "9" * 30 + "x"),
        ):
            text = run([*command, option, value], fails=True)
            assert option in text and "data     " not in text, f"{name} {option}\n{text}"
            assert "Traceback" not in text, text
        absent = run([*command, "--data", "absent.safetensors"], fails=True)
        assert "Traceback" not in absent, absent


def test_one_epoch_can_be_plotted(tmp_path):
    path = tmp_path / "curves.svg"
    train(python_digits(), tmp_path, "plot", "--epochs", "1", "--plot", path)
    assert "nan" not in path.read_text()
    ElementTree.parse(path)


def test_an_interrupt_leaves_no_trace(tmp_path):
    """Ctrl-C ends a training with one word and the shell's code for it."""
    process = subprocess.Popen(
        [*python_digits(), "--epochs", "100000", "--save", str(tmp_path / "w.safetensors")],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job's children begin with the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while "epoch   1/" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, problem = process.communicate(timeout=60)
    assert process.returncode == 130 and problem == "interrupted\n"


def test_what_cannot_be_had_is_said(languages, tmp_path):
    absent = tmp_path / "absent.safetensors"
    for name, command in languages.items():
        assert "absent.safetensors" in run([*command, "--weights", absent], fails=True), name
        assert "toaster" in run([*command, "--device", "toaster"], fails=True), name
        text = run([*command, "--device", "cuda:7"], fails=True, FLAMBEAU_SIM="devices=1,as=cuda")
        assert "cuda:7" in text, name
