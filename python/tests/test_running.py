"""How a call behaves while it runs: progress, Ctrl-C, threads, processes."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import structcomp
from structcomp import StructComp

GRACE = dict(model="grace", n_clusters=30, hidden=16, epochs=5, random_state=0)


def test_a_callback_is_called_after_every_epoch_and_may_stop(small):
    heard = []
    model = StructComp(callback=lambda epoch, loss: heard.append((epoch, loss)), **GRACE).fit(small)
    assert [epoch for epoch, _ in heard] == [1, 2, 3, 4, 5]
    assert [loss for _, loss in heard] == model.loss_history_.tolist()
    stopped = StructComp(callback=lambda epoch, loss: epoch < 3, **GRACE).fit(small)
    assert stopped.loss_history_.tolist() == model.loss_history_[:3].tolist()
    with pytest.raises(KeyError):
        StructComp(callback=lambda epoch, loss: {}[epoch], **GRACE).fit(small)


def test_a_callback_runs_in_the_calling_thread(small):
    threads = set()
    StructComp(callback=lambda *_: threads.add(threading.get_ident()), **GRACE).fit(small)
    assert threads == {threading.get_ident()}


def test_verbose(small, capsys):
    StructComp(verbose=True, **GRACE).fit(small)
    assert "5" in capsys.readouterr().err


def test_ctrl_c(small):
    """Ctrl-C takes effect after the current epoch; the estimator stays as it was."""
    program = """
import os, signal, structcomp
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
data = structcomp.generate(nodes=300, edges=900)
def stop(epoch, loss):
    if epoch == 3: os.kill(os.getpid(), signal.SIGINT)
    if epoch > 4: os._exit(9)
model = structcomp.StructComp(model="grace", epochs=10**6, hidden=8, callback=stop)
try: model.fit(data)
except KeyboardInterrupt: print("stopped", hasattr(model, "embedding_"))
print(structcomp.StructComp(model="grace", epochs=2, hidden=8).fit_transform(data).shape)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert said.stdout == "stopped False\n(300, 8)\n", said


def test_ctrl_c_during_an_evaluation():
    program = """
import os, signal, threading, time, numpy as np, structcomp
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.random.default_rng(0).normal(size=(20000, 64)).astype(np.float32)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try: structcomp.evaluate(x, np.arange(20000) % 40, runs=900, n_threads=1)
except KeyboardInterrupt: print("stopped")
"""
    started = time.monotonic()
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert said.stdout == "stopped\n", said
    assert time.monotonic() - started < 60


def test_the_interpreter_is_released_during_a_call(small):
    ticks, done = 0, threading.Event()
    thread = threading.Thread(
        target=lambda: (StructComp(**{**GRACE, "epochs": 200, "hidden": 128}).fit(small), done.set())
    )
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 20


def test_two_estimators_side_by_side(small):
    alone = StructComp(n_threads=1, **GRACE).fit_transform(small)
    found = {}
    meet = threading.Barrier(2, timeout=30)

    def fit(name):
        # Each waits for the other in the middle of training.
        model = StructComp(n_threads=1, callback=lambda epoch, loss: meet.wait() and None, **GRACE)
        found[name] = model.fit_transform(small)

    threads = [threading.Thread(target=fit, args=(name,)) for name in "ab"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert (found["a"] == alone).all() and (found["b"] == alone).all()


def test_ten_estimators_in_ten_threads(small):
    settings = [GRACE | {"random_state": seed} for seed in range(3)] + [{"random_state": 0}]
    alone = [StructComp(**these).fit_transform(small) for these in settings]
    found = {}

    def fit(number):
        found[number] = StructComp(**settings[number % 4]).fit_transform(small)

    threads = [threading.Thread(target=fit, args=(number,)) for number in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 10
    assert all((found[number] == alone[number % 4]).all() for number in found)


def test_the_interpreter_may_end_during_a_call():
    lines = [
        "import threading, structcomp",
        "data = structcomp.load_dataset('demo')",
        "fit = structcomp.StructComp(model='grace', epochs=100_000).fit",
        "threading.Thread(target=fit, args=(data.X,), kwargs={'adjacency': data.graph}, daemon=True).start()",
        "import time; time.sleep(0.5); print('end')",
    ]
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_a_call_works(small):
    expected = StructComp(**GRACE).fit_transform(small)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        same = (StructComp(**GRACE).fit_transform(small) == expected).all()
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_arrays_are_released(small):
    x = np.asarray(small.X).copy()
    before = sys.getrefcount(x)
    StructComp(**GRACE).fit(x, adjacency=small.graph)
    structcomp.compress(x, np.zeros(300, int))
    assert sys.getrefcount(x) == before


def test_verbose_without_tqdm(small, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    StructComp(verbose=True, **GRACE).fit(small)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5 and lines[0].startswith("epoch 1 of 5, loss ")
