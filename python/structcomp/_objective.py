"""Losses of the caller's own."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ._arrays import single


class Objective:
    """A contrastive model of your own: a loss with its gradient.

    Parameters
    ----------
    function : callable
        Called in every epoch with the embeddings of the views, one array of shape (n_clusters, width)
        each. Returns the loss, and the gradient of the loss in each view: a pair of a number and a list of
        arrays of the same shapes, or a single array where there is one view.
    views : int
        1 for the clusters alone; 2 for a second view that averages half the members of each cluster, drawn
        anew in every epoch. With 1 the embedding is linear in two hops (SGC), with 2 it is that of a GCN.
    projection : int, optional
        The width of a two-layer projection head between the embedding and the loss; none by default.

    See Also
    --------
    autograd : makes one from a loss written in PyTorch.

    Examples
    --------
    Two views of each cluster are pulled together, and all rows kept at length one:

    >>> import numpy as np
    >>> from structcomp import Objective, StructComp, generate
    >>> def bring_together(a, b):
    ...     apart = a - b
    ...     lengths = [(z**2).sum(1, keepdims=True) - 1 for z in (a, b)]
    ...     loss = (apart**2).sum() + sum((length**2).sum() for length in lengths)
    ...     return loss, [2 * apart + 4 * lengths[0] * a, -2 * apart + 4 * lengths[1] * b]
    >>> data = generate(nodes=300, edges=900)
    >>> model = StructComp(model=Objective(bring_together), hidden=16, epochs=30, random_state=0)
    >>> losses = model.fit(data).loss_history_
    >>> bool(losses[-1] < losses[0] / 2)
    True
    """

    def __init__(
        self, function: Callable[..., Any], *, views: int = 2, projection: Optional[int] = None
    ) -> None:
        if not callable(function):
            raise ValueError(f"an objective is a function, not {function!r}")
        if views not in (1, 2):
            raise ValueError(f"an objective has 1 or 2 views, not {views}")
        self.function = function
        self.views = views
        self.projection = projection

    def __call__(self, *views: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The loss and one gradient a view, checked."""
        answer = self.function(*views)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError("an objective returns the loss and its gradients: a tuple of two")
        loss, gradients = answer
        if isinstance(gradients, np.ndarray) and len(views) == 1 and gradients.ndim == 2:
            gradients = [gradients]
        gradients = [single("a gradient", gradient) for gradient in gradients]
        shapes, wanted = [gradient.shape for gradient in gradients], [view.shape for view in views]
        if shapes != wanted:
            raise ValueError(f"the gradients have shapes {shapes}, but the views {wanted}")
        return float(loss), gradients

    @property
    def parameters(self) -> dict[str, Any]:
        """What the library must know of it."""
        return {"two_views": self.views == 2, "projection": self.projection}

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Objective({name}, views={self.views}, projection={self.projection})"


def autograd(function: Callable[..., Any], *, views: int = 2, projection: Optional[int] = None) -> Objective:
    """An `Objective` from a loss written in PyTorch, which then computes the gradient.

    PyTorch is imported when the loss is first called.

    Parameters
    ----------
    function : callable
        Takes one tensor of shape (n_clusters, width) a view, and returns the loss as a tensor.
    views : int
        As in `Objective`.
    projection : int, optional
        As in `Objective`.

    Returns
    -------
    objective : Objective

    Examples
    --------
    >>> from structcomp import StructComp, autograd
    >>> def barlow_twins(a, b):
    ...     a, b = ((z - z.mean(0)) / z.std(0) for z in (a, b))
    ...     c = a.T @ b / len(a)
    ...     return ((1 - c.diag()) ** 2).sum() + 0.005 * (c - c.diag().diag()).pow(2).sum()
    >>> model = StructComp(model=autograd(barlow_twins), epochs=20)
    """
    return Objective(_Autograd(function), views=views, projection=projection)


class _Autograd:
    """The call of a PyTorch function; a class, so that it can be pickled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "loss")

    def __call__(self, *views: np.ndarray) -> tuple[float, list[np.ndarray]]:
        import torch

        with torch.enable_grad():
            tensors = [torch.from_numpy(view).requires_grad_() for view in views]
            loss = self.function(*tensors)
            gradients = torch.autograd.grad(loss, tensors, allow_unused=True)
        zero = [np.zeros_like(view) for view in views]
        return loss.item(), [z if g is None else g.numpy() for z, g in zip(zero, gradients)]
