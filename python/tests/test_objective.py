"""Custom losses."""

import pickle

import numpy as np
import pytest
from structcomp import Objective, StructComp, autograd

SMALL = dict(n_clusters=30, hidden=16, epochs=20, random_state=0)


def scaled(a, b):
    """CCA-SSG as the library has it, in numpy."""
    n, lambda_ = len(a), 5e-4
    total, gradients = 0.0, []
    a, b = a.astype(float), b.astype(float)
    standard = [(z - z.mean(0)) / z.std(0, ddof=1) for z in (a, b)]
    total -= (standard[0] * standard[1]).sum() / n
    for z, own, other in ((a, standard[0], standard[1]), (b, standard[1], standard[0])):
        rest = np.eye(a.shape[1]) - own.T @ own / n
        total += lambda_ * (rest**2).sum()
        g = -other / n - 4 * lambda_ / n * own @ rest
        gradients.append((g - g.mean(0) - own * (g * own).sum(0) / (n - 1)) / z.std(0, ddof=1))
    return total, gradients


def test_the_library_s_loss_in_numpy_trains_the_same(small):
    ours = StructComp(model="cca-ssg", **SMALL).fit(small)
    theirs = StructComp(model=Objective(scaled), **SMALL).fit(small)
    assert (theirs.partition_ == ours.partition_).all()
    # Two orders of rounding, twenty steps of Adam.
    np.testing.assert_allclose(theirs.loss_history_, ours.loss_history_, rtol=1e-4)
    np.testing.assert_allclose(theirs.embedding_, ours.embedding_, atol=1e-3)


def spread(z):
    """One view: lengths of one. A plain function of a module can be pickled."""
    length = (z**2).sum(1, keepdims=True) - 1
    return (length**2).mean(), 4 * length * z / len(z)


def test_one_view(small, tmp_path):
    model = StructComp(model=Objective(spread, views=1), learning_rate=0.02, **SMALL).fit(small)
    assert model.loss_history_[-1] < 0.2 * model.loss_history_[0]
    model.save(tmp_path / "w.safetensors")
    loaded = StructComp.load(tmp_path / "w.safetensors")
    assert (loaded.transform(small) == model.embedding_).all()
    assert (pickle.loads(pickle.dumps(model)).transform(small) == model.embedding_).all()


def test_a_plain_function_has_two_views_and_a_head_may_follow(small):
    shapes = []

    def loss(a, b):
        shapes.append((a.shape, b.shape, a.dtype))
        return ((a - b) ** 2).sum(), [2 * (a - b), 2 * (b - a)]

    StructComp(model=loss, **{**SMALL, "epochs": 1}).fit(small)
    StructComp(model=Objective(loss, projection=7), **{**SMALL, "epochs": 1}).fit(small)
    assert shapes == [((30, 16), (30, 16), np.float32)] * 2


def test_what_a_loss_raises_is_raised(small):
    def broken(a, b):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        StructComp(model=broken, **SMALL).fit(small)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda a, b: 1.0, "must return a tuple of the loss and its gradients"),
        (lambda a, b: (1.0, [a]), "the gradients have shapes"),
        (lambda a, b: (1.0, [a, b[:, :3]]), "the gradients have shapes"),
        (lambda a, b: (1.0, [a, np.full(b.shape, "x")]), "a gradient must be numbers"),
        (lambda a, b: (np.nan, [a, b]), "diverged in epoch 1"),
        (lambda a, b: (1.0, [a * np.inf, b]), "diverged in epoch 1"),
    ],
)
def test_bad_answers(small, answer, said):
    with pytest.raises(ValueError, match=said):
        StructComp(model=answer, **SMALL).fit(small)


def test_bad_objectives():
    with pytest.raises(ValueError, match="views must be 1 or 2, not 3"):
        Objective(spread, views=3)
    with pytest.raises(ValueError, match="must be a function"):
        Objective("spread")


def barlow_twins(a, b):
    a, b = ((z - z.mean(0)) / z.std(0) for z in (a, b))
    c = a.T @ b / len(a)
    return ((1 - c.diag()) ** 2).sum() + 0.005 * (c - c.diag().diag()).pow(2).sum()


def test_a_loss_in_torch(small):
    pytest.importorskip("torch", reason="PyTorch is not installed, so losses by autograd are not tested")
    import structcomp

    model = StructComp(model=autograd(barlow_twins), **SMALL).fit(small)
    assert model.loss_history_[-1] < model.loss_history_[0]
    own = structcomp.evaluate(model.embedding_, small.y, runs=10)["mean"]
    assert (
        own
        > structcomp.evaluate(np.random.default_rng(0).normal(size=(300, 16)), small.y, runs=10)["mean"] + 10
    )
    one = StructComp(
        model=autograd(lambda z: (z.pow(2).sum(1) - 1).pow(2).mean(), views=1), learning_rate=0.02, **SMALL
    )
    theirs = StructComp(model=Objective(spread, views=1), learning_rate=0.02, **SMALL)
    np.testing.assert_allclose(one.fit(small).loss_history_, theirs.fit(small).loss_history_, rtol=1e-4)


def test_a_module_is_trained_with_the_encoder(small):
    """A head of its own, which starts at zero, takes the loss down; the module that was passed stays as it is."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.zeros(()))

        def forward(self, z):
            return (1 - self.scale) ** 2 + 0 * z.sum()

    head = Head()
    model = StructComp(model=autograd(head, views=1), learning_rate=0.05, **SMALL)
    first = model.fit(small).loss_history_
    assert first[0] == pytest.approx(1) and first[-1] < 0.2
    assert model.module_.scale.item() > 0.5 and head.scale.item() == 0
    assert (model.fit(small).loss_history_ == first).all(), "every fit starts anew"
    with pytest.raises(ValueError, match=r"a parameter of shape \(\) that would not be trained"):
        StructComp(model=autograd(lambda z: head(z), views=1), **SMALL).fit(small)
    fixed = StructComp(model=autograd(lambda z: (z * head.scale.detach()).sum(), views=1), **SMALL)
    assert fixed.fit(small).embedding_.shape == (300, 16)
