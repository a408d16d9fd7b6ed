"""Custom losses."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np

from ._arrays import single


class Objective:
    """A contrastive model of your own: a loss with its gradient.

    Parameters
    ----------
    function : callable
        Called in every epoch with one array of shape (n_clusters, width) per view. Returns a tuple of the
        loss and its gradients: a list with one array per view, of the view's shape. With one view, the array
        alone is enough.
    views : int
        1 compares the clusters with each other. 2 adds a second view, which averages a random half of each
        cluster's members in every epoch. The encoder is an SGC with two hops for one view, a GCN for two.
    projection : int, optional
        Width of a two-layer projection head between the embedding and the loss; none by default.

    See Also
    --------
    autograd : an objective from a loss written in PyTorch.

    Examples
    --------
    Pull the two views of each cluster together, and keep all rows at length one:

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
            raise ValueError(f"an objective must be a function, not {function!r}")
        if views not in (1, 2):
            raise ValueError(f"views must be 1 or 2, not {views}")
        self.function = function
        self.views = views
        self.projection = projection

    def __call__(self, *views: np.ndarray) -> tuple[float, list[np.ndarray]]:
        """The loss and one gradient per view, checked."""
        answer = self.function(*views)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError("an objective must return a tuple of the loss and its gradients")
        loss, gradients = answer
        if isinstance(gradients, np.ndarray) and len(views) == 1 and gradients.ndim == 2:
            gradients = [gradients]
        gradients = [single("a gradient", gradient) for gradient in gradients]
        shapes, wanted = [gradient.shape for gradient in gradients], [view.shape for view in views]
        if shapes != wanted:
            raise ValueError(f"the gradients have shapes {shapes}, but the views have {wanted}")
        return float(loss), gradients

    @property
    def parameters(self) -> dict[str, Any]:
        """Settings of the library."""
        return {"two_views": self.views == 2, "projection": self.projection}

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"Objective({name}, views={self.views}, projection={self.projection})"


def autograd(function: Callable[..., Any], *, views: int = 2, projection: Optional[int] = None) -> Objective:
    """An `Objective` from a loss written in PyTorch, with gradients by autograd.

    PyTorch is imported when the loss is first called.

    Parameters
    ----------
    function : callable
        Takes one tensor of shape (n_clusters, width) per view and returns the loss as a tensor.
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


def with_model(
    parameters: dict[str, Any], model: Union[str, Objective, Callable[..., Any]]
) -> tuple[Optional[Objective], dict[str, Any]]:
    """The custom loss, if there is one, and the parameters with the model's settings."""
    if isinstance(model, str):
        return None, {**parameters, "model": model}
    objective = model if isinstance(model, Objective) else Objective(model)
    return objective, {**parameters, **objective.parameters, "model": "own"}


class _Autograd:
    """A class, so that it can be pickled."""

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
