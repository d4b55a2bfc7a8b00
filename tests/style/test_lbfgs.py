"""Batched L-BFGS against separate runs of torch.optim.LBFGS."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from triptych.style.optimise.optimizers.lbfgs import BatchedLbfgs

Problem = Callable[[Tensor], Tensor]
"""A differentiable function of a row [n]."""


def quadratic(condition: float, seed: int, n: int = 12) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))[0]
    curvatures = torch.logspace(0, torch.tensor(condition).log10(), n, dtype=torch.float64)
    matrix = basis @ torch.diag(curvatures) @ basis.T / condition
    return lambda x: 0.5 * x @ matrix @ x


def rosenbrock(x: Tensor) -> Tensor:
    return ((1 - x[:-1]) ** 2).sum() / 50 + ((x[1:] - x[:-1] ** 2) ** 2).sum()


def gram_like(x: Tensor) -> Tensor:
    """A quartic, like the distance of Gram matrices."""
    flat = x.view(3, -1)
    return ((flat @ flat.T - torch.eye(3, dtype=x.dtype)) ** 2).sum() / 10


def saddle(x: Tensor) -> Tensor:
    """Curves downwards almost everywhere, so that no pair is worth remembering."""
    return -0.01 * (x * x).sum().sqrt() - 1e-3 * (x**2).sum()


def ripples(x: Tensor) -> Tensor:
    """Curves now upwards, now downwards along the path: some pairs are skipped, some are not."""
    return (0.05 * x**2 + 0.1 * torch.cos(2 * x)).sum()


def separately(problem: Problem, start: Tensor, iterations: int, **options: float) -> Tensor:
    """Where one torch.optim.LBFGS run without tolerances ends."""
    x = start.clone().requires_grad_()
    exact = {"tolerance_grad": 0, "tolerance_change": 0}
    optimizer = torch.optim.LBFGS([x], max_iter=iterations, max_eval=10**6, **exact, **options)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = problem(x)
        loss.backward()
        return loss

    optimizer.step(closure)
    return x.detach()


def assert_as_torch(
    found: Tensor, problem: Problem, start: Tensor, iterations: int, **options: float
) -> None:
    """That `found` is where torch's own run ends, but for rounding that its steps amplify."""
    expected = separately(problem, start, iterations, **options)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def evaluate(problems: list[Problem], rows: Tensor) -> tuple[Tensor, Tensor]:
    rows = rows.detach().requires_grad_()
    losses = torch.stack([problem(row) for problem, row in zip(problems, rows, strict=True)])
    return losses.detach(), torch.autograd.grad(losses.sum(), rows)[0]


def together(
    problems: list[Problem], starts: Tensor, iterations: int, **options: float
) -> BatchedLbfgs:
    """The batched one, with torch's names for the options."""
    names = {"lr": "learning_rate", "history_size": "history"}
    renamed = {names[name]: value for name, value in options.items()}
    optimizer = BatchedLbfgs(starts.clone(), **renamed)  # type: ignore[arg-type]
    for _ in range(iterations):
        optimizer.step(*evaluate(problems, optimizer.rows))
    return optimizer


def starts(count: int, n: int = 12, seed: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, n, generator=generator, dtype=torch.float64)


PROBLEMS: list[Problem] = [
    quadratic(10, 0),
    quadratic(1e4, 1),
    rosenbrock,
    gram_like,
    saddle,
    ripples,
]


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 1.0, "history_size": 10},
        {"lr": 0.6, "history_size": 3},
        {"lr": 1.0, "history_size": 100},
    ],
)
def test_rows_equal_separate_runs_of_torch_after_40_steps(options):
    begin = starts(len(PROBLEMS))
    found = together(PROBLEMS, begin, 40, **options).rows
    for row, problem in enumerate(PROBLEMS):
        assert_as_torch(found[row], problem, begin[row], 40, **options)


@pytest.mark.parametrize("history", [3, 8])
def test_pairs_without_curvature_are_skipped_row_by_row(history):
    """A row that skips a pair keeps its oldest one, though the other rows' rings move on."""
    problems: list[Problem] = [ripples, ripples, quadratic(100, 4), saddle]
    begin = torch.cat([4 * starts(1, seed=2), starts(1, seed=2), starts(2)])
    options = {"lr": 0.4, "history_size": history}
    found = together(problems, begin, 40, **options).rows
    for row, problem in enumerate(problems):
        assert_as_torch(found[row], problem, begin[row], 40, **options)


def steep(x: Tensor) -> Tensor:
    """Curves downwards where it begins, with a gradient of 1e8; and has a minimum, at 1."""
    return 1e8 * ((x**2 - 1) ** 2).sum()


def test_a_reach_bounds_what_torch_leaps_when_the_first_pair_curves_downwards():
    begin = 0.05 + 0.01 * starts(1).abs()
    free = together([steep], begin, 2)
    assert free.rows.abs().max() > 1e6
    bound = BatchedLbfgs(begin.clone(), reach=0.5)
    for _ in range(60):
        before = bound.rows.clone()
        bound.step(*evaluate([steep], bound.rows))
        # A step that is taken back and made anew crosses what it went, and goes a tenth of it.
        assert (bound.rows - before).abs().max() <= 0.5 * (1 + 1e-12)
    torch.testing.assert_close(bound.rows.abs(), torch.ones_like(begin), rtol=0, atol=1e-6)


def test_a_step_that_a_clamp_cut_short_is_taken_back_to_where_it_began():
    rows = torch.tensor([[0.9, 0.2]], dtype=torch.float64)
    bound = BatchedLbfgs(rows, reach=0.5)
    bound.step(torch.ones(1), torch.tensor([[-1.0, 0.0]], dtype=torch.float64))  # to 1.4
    rows.clamp_(0, 1)
    bound.step(100 * torch.ones(1), torch.tensor([[3.0, 0.0]], dtype=torch.float64))
    torch.testing.assert_close(rows, torch.tensor([[0.95, 0.2]], dtype=torch.float64))
