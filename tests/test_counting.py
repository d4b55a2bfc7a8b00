"""Counted operations against closed forms and against PyTorch's own counter."""

import pytest
import torch
from counting import counted, shaped, shapes_only
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from triptych.core.cost import Work


def test_a_convolution_counts_a_product_for_each_weight_and_position():
    with shapes_only():
        layer, images = nn.Conv2d(5, 7, 3, padding=1), torch.empty(2, 5, 32, 48)
        work = counted(lambda: layer(images))
    assert work.operations == 2 * 3 * 3 * 5 * 7 * 2 * 32 * 48


def test_going_backward_costs_as_much_for_weights_and_as_much_for_inputs():
    with shapes_only():
        layer, images = nn.Conv2d(5, 7, 3, padding=1), torch.empty(2, 5, 32, 48)
        forward = counted(lambda: layer(images)).operations
        weights = counted(lambda: layer(images).sum().backward()).operations
        images.requires_grad_()
        both = counted(lambda: layer(images).sum().backward()).operations
    assert weights == 2 * forward
    assert both == 3 * forward


def test_attention_counts_its_two_products_of_queries_and_keys():
    batch, heads, tokens, dim = 2, 3, 50, 16
    with shapes_only(), torch.no_grad():
        query, key, value = (torch.empty(batch, heads, tokens, dim) for _ in range(3))
        work = counted(lambda: functional.scaled_dot_product_attention(query, key, value))
    assert work.operations == 2 * (2 * batch * heads * tokens * tokens * dim)


def test_a_network_counts_as_pytorchs_own_counter_counts_it():
    layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))
    images = torch.zeros(4, 3, 8, 8)
    with FlopCounterMode(display=False) as counter:
        layers(images).sum().backward()
    assert counted(lambda: layers(images).sum().backward()).operations == counter.get_total_flops()


def test_products_of_another_library_count_alike_and_unknown_ones_are_not_passed_over():
    with shapes_only():
        inputs, weight = torch.empty(2, 5, 30), torch.empty(70, 30)
        own = lambda: torch.ops.mkldnn._linear_pointwise(inputs, weight, None, "none", [], "")  # noqa: E731
        assert counted(own) == counted(lambda: functional.linear(inputs, weight))
    boxes, scores = torch.zeros(3, 4), torch.zeros(3)
    import torchvision

    with pytest.raises(NotImplementedError, match="torchvision::nms"):
        counted(lambda: torchvision.ops.nms(boxes, scores, 0.5))


def test_kernels_without_products_count_what_they_read_and_write():
    with shapes_only():
        one, other = torch.empty(1000), torch.empty(1000)
        assert counted(lambda: one + other) == Work(0, 3 * 4000, 1)
        assert counted(lambda: one.relu_()) == Work(0, 2 * 4000, 1)
        assert counted(lambda: one.view(10, 100).T) == Work()
        assert counted(lambda: one.bfloat16() * 2) == Work(0, 4000 + 2000 + 2 * 2000, 2)


def test_counting_takes_neither_memory_nor_values():
    with shapes_only():
        matrix = torch.empty(400_000, 400_000)  # 640 GB
        assert counted(lambda: matrix @ matrix).operations == 2 * 400_000**3


def test_a_model_that_looks_at_its_first_weights_gets_a_shape_and_keeps_what_is_frozen():
    class Looks(nn.Linear):
        def __init__(self):
            super().__init__(3, 4)
            nn.init.trunc_normal_(self.weight)
            self.bias.requires_grad_(False)
            self.register_buffer("seen", torch.ones(2))

    with shapes_only():
        model = shaped(Looks)
        work = counted(lambda: model(torch.empty(5, 3)))
    assert work.operations == 2 * 5 * 3 * 4
    assert model.weight.requires_grad and not model.bias.requires_grad
    assert model.seen.shape == (2,)
