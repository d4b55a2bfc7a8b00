"""What a precision means, before any GPU is asked for."""

import pytest
import torch

from triptych.core.device import precision_context

CPU = torch.device("cpu")


@pytest.mark.parametrize(("precision", "rounded"), [("float32", False), ("tf32", True)])
def test_float32_rounds_neither_products_nor_convolutions(precision, rounded):
    torch.backends.cudnn.allow_tf32 = not rounded
    precision_context(CPU, precision)
    assert torch.backends.cudnn.allow_tf32 is rounded
    assert (torch.get_float32_matmul_precision() == "high") is rounded


def test_an_unknown_precision_is_named():
    with pytest.raises(ValueError, match="'double' is not one of float32, tf32, bf16"):
        precision_context(CPU, "double")
