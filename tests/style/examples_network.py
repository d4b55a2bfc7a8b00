"""pytorch/examples' fast_neural_style network, written anew as functions of a state dict."""

import torch
from torch.nn.functional import conv2d, conv_transpose2d, instance_norm, pad, relu


def _convolved(state, name, x, stride=1):
    weight = state[f"{name}.conv2d.weight"]
    margin = weight.shape[-1] // 2
    padded = pad(x, (margin, margin, margin, margin), mode="reflect")
    return conv2d(padded, weight, state[f"{name}.conv2d.bias"], stride)


def _normed(state, name, x):
    return instance_norm(x, weight=state[f"{name}.weight"], bias=state[f"{name}.bias"], eps=1e-5)


def examples_forward(state, x, transposed=False):
    """The network's output, 0 to 255, for x [N, 3, H, W] of 0 to 255."""
    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = relu(_normed(state, f"in{number}", _convolved(state, f"conv{number}", x, stride)))
    for number in range(1, 6):
        name = f"res{number}"
        y = relu(_normed(state, f"{name}.in1", _convolved(state, f"{name}.conv1", x)))
        x = x + _normed(state, f"{name}.in2", _convolved(state, f"{name}.conv2", y))
    for number in (1, 2):
        name = f"deconv{number}"
        if transposed:
            weight, bias = state[f"{name}.conv2d.weight"], state[f"{name}.conv2d.bias"]
            x = conv_transpose2d(x, weight, bias, stride=2, padding=1, output_padding=1)
        else:
            x = _convolved(state, name, x.repeat_interleave(2, 2).repeat_interleave(2, 3))
        x = relu(_normed(state, f"in{number + 3}", x))
    return _convolved(state, "deconv3", x)


def examples_state(width=32, transposed=False, seed=0):
    """A random state dict with the published names and shapes, and unused running statistics."""
    generator = torch.Generator().manual_seed(seed)
    one, two, four = width, 2 * width, 4 * width
    state = {}

    def convolution(name, inputs, outputs, kernel, swap=False):
        shape = (inputs, outputs) if swap else (outputs, inputs)
        weight = torch.randn(*shape, kernel, kernel, generator=generator)
        state[f"{name}.conv2d.weight"] = weight / (inputs * kernel**2) ** 0.5
        state[f"{name}.conv2d.bias"] = torch.randn(outputs, generator=generator) / 10

    def norm(name, channels):
        state[f"{name}.weight"] = 1 + torch.randn(channels, generator=generator) / 5
        state[f"{name}.bias"] = torch.randn(channels, generator=generator) / 5
        state[f"{name}.running_mean"] = torch.zeros(channels)
        state[f"{name}.running_var"] = torch.ones(channels)

    for number, inputs, outputs, kernel in ((1, 3, one, 9), (2, one, two, 3), (3, two, four, 3)):
        convolution(f"conv{number}", inputs, outputs, kernel)
        norm(f"in{number}", outputs)
    for number in range(1, 6):
        for half in (1, 2):
            convolution(f"res{number}.conv{half}", four, four, 3)
            norm(f"res{number}.in{half}", four)
    for number, inputs, outputs in ((1, four, two), (2, two, one)):
        convolution(f"deconv{number}", inputs, outputs, 3, swap=transposed)
        norm(f"in{number + 3}", outputs)
    convolution("deconv3", one, 3, 9)
    return state
