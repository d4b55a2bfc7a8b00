"""Sparse three-layer networks in compiled loops: one state at a time, or a block of rows.

Both forms are the same sum, y += scalar * vector over what pruning left, with the sum held in
the processor's vector registers:

- strips, for one row: 16 output units make a strip; each input that reaches any of them is one
  vector of 16 weights times one scalar activation;
- blocks, for many rows: one weight is the scalar, and an input unit's activations in 16 or 64
  rows are the vector (activations are kept unit by unit, [units, rows]).

`sparse_layers` makes the arrays of both forms.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

Compiled = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""values float32, columns uint16, pointers uint64, biases float32, sizes uint64."""

STRIP = 16
NARROW, WIDE = 16, 64  # rows of a block
UNROLLED = 4  # independent sums, since one would wait for each addition to end

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba, keeping the machine code on disk where some folder can be written."""
    dispatcher: Any
    try:
        dispatcher = numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # a read-only package and no home: compile in each process
        dispatcher = numba.njit(error_model="numpy")(function)
    return dispatcher


def _sum_of_products(width: int, vectors_are_gathered: bool) -> Any:
    """A compiled `target[at:at+width] += sum over k in [start, stop) of scalar * vector`.

    With gathered vectors, entry k takes scalars[k] and the vector numbered columns[k];
    otherwise vector number k and scalars[columns[k]]. stop - start is a multiple of UNROLLED.
    Numba has no vector types, and its optimiser cannot know that target overlaps no other
    array, hence LLVM's instructions themselves; LLVM fits them to any processor.
    """

    @intrinsic
    def add(typing_context, target, at, vectors, scalars, columns, start, stop):  # type: ignore
        signature = types.void(
            target, types.uint64, vectors, scalars, columns, types.uint64, types.uint64
        )

        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            index, vector = ir.IntType(64), ir.VectorType(ir.FloatType(), width)
            data = {
                i: context.make_array(signature.args[i])(context, builder, arguments[i]).data
                for i in (0, 2, 3, 4)
            }

            def vector_at(array, position):  # type: ignore[no-untyped-def]
                pointer = builder.gep(array, [position])
                return builder.bitcast(pointer, vector.as_pointer())

            def repeated(number):  # type: ignore[no-untyped-def]
                nothing = ir.Constant(vector, ir.Undefined)
                first = builder.insert_element(nothing, number, ir.IntType(32)(0))
                zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
                return builder.shuffle_vector(first, nothing, zeros)

            result = vector_at(data[0], arguments[1])
            sums = [cgutils.alloca_once(builder, vector) for _ in range(UNROLLED)]
            builder.store(builder.load(result, align=4), sums[0])
            for each in sums[1:]:
                builder.store(ir.Constant(vector, [0.0] * width), each)
            begin, end = arguments[5:]
            step = index(UNROLLED)
            with cgutils.for_range_slice(builder, begin, end, step, intp=index) as (k, _):
                for offset, each in enumerate(sums):
                    entry = builder.add(k, index(offset))
                    column = builder.load(builder.gep(data[4], [entry]))
                    column = builder.zext(column, index)
                    which, scalar = (column, entry) if vectors_are_gathered else (entry, column)
                    factor = builder.load(builder.gep(data[3], [scalar]))
                    place = vector_at(data[2], builder.mul(which, index(width)))
                    product = builder.fmul(
                        builder.load(place, align=4), repeated(factor), flags=("contract",)
                    )
                    total = builder.fadd(builder.load(each), product, flags=("contract",))
                    builder.store(total, each)
            total = builder.load(sums[0])
            for each in sums[1:]:
                total = builder.fadd(total, builder.load(each))
            builder.store(total, result, align=4)
            return context.get_dummy_value()

        return signature, generate

    return add


_add_strip = _sum_of_products(STRIP, vectors_are_gathered=False)
_add_narrow = _sum_of_products(NARROW, vectors_are_gathered=True)
_add_wide = _sum_of_products(WIDE, vectors_are_gathered=True)


@compiled
def forward_strips(network: Compiled, current: np.ndarray, following: np.ndarray) -> np.ndarray:
    """Outputs of one row whose inputs stand in `current`; returns the array that holds them."""
    values, columns, pointers, biases, sizes = network
    group, first = np.uint64(0), np.uint64(0)
    for layer in range(1, sizes.size):
        strips = (sizes[layer] + np.uint64(15)) // np.uint64(16)
        for strip in range(strips):
            at = np.uint64(strip) * np.uint64(16)
            for unit in range(16):
                following[at + np.uint64(unit)] = biases[first + at + np.uint64(unit)]
            start, stop = pointers[group], pointers[group + np.uint64(1)]
            _add_strip(following, at, values, current, columns, start, stop)
            group += np.uint64(1)
        first += strips * np.uint64(16)
        if layer < sizes.size - 1:
            for unit in range(strips * np.uint64(16)):
                following[unit] = max(following[unit], np.float32(0))
        current, following = following, current
    return current


@compiled
def forward_rows(
    network: Compiled, width: int, current: np.ndarray, following: np.ndarray
) -> np.ndarray:
    """Outputs [units, width] of `width` (16 or 64) rows whose inputs stand so in `current`."""
    values, columns, pointers, biases, sizes = network
    wide = np.uint64(width)
    unit = np.uint64(0)
    for layer in range(1, sizes.size):
        for output in range(sizes[layer]):
            at = np.uint64(output) * wide
            for row in range(width):
                following[at + np.uint64(row)] = biases[unit]
            start, stop = pointers[unit], pointers[unit + np.uint64(1)]
            if width == 16:
                _add_narrow(following, at, current, values, columns, start, stop)
            else:
                _add_wide(following, at, current, values, columns, start, stop)
            if layer < sizes.size - 1:
                for row in range(width):
                    place = at + np.uint64(row)
                    following[place] = max(following[place], np.float32(0))
            unit += np.uint64(1)
        current, following = following, current
    return current


@compiled
def squashed_strips(
    network: Compiled,
    scale: float,
    a: np.ndarray,
    b: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
) -> None:
    """Fill outputs [rows, out] with scale * tanh of the network, row by row. a, b: scratch."""
    for row in range(inputs.shape[0]):
        for column in range(inputs.shape[1]):
            a[column] = inputs[row, column]
        result = forward_strips(network, a, b)
        for column in range(outputs.shape[1]):
            outputs[row, column] = scale * np.tanh(result[column])


@compiled
def squashed_rows(
    network: Compiled,
    scale: float,
    width: int,
    a: np.ndarray,
    b: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
) -> None:
    """The same, `width` rows at a time."""
    for first in range(0, inputs.shape[0], width):
        rows = min(width, inputs.shape[0] - first)
        for column in range(inputs.shape[1]):
            for row in range(width):
                inside = row < rows
                a[column * width + row] = inputs[first + row, column] if inside else 0.0
        result = forward_rows(network, width, a, b)
        for column in range(outputs.shape[1]):
            for row in range(rows):
                outputs[first + row, column] = scale * np.tanh(result[column * width + row])


@compiled
def bcq_rows(
    decoder: Compiled,
    actor: Compiled,
    critic: Compiled,
    width: int,
    a: np.ndarray,
    b: np.ndarray,
    proposed: np.ndarray,
    observations: np.ndarray,
    latents: np.ndarray,
    max_action: float,
    phi: float,
    best: np.ndarray,
    chosen: np.ndarray,
    actions: np.ndarray,
) -> None:
    """BCQ's whole policy, the candidates of all observations in blocks of `width` rows.

    observations [B, S], latents [B, n, L]; proposed: scratch for A * width actions; filled are
    best [B] (the largest Q1), chosen [B] (its candidate) and actions [B, A].
    """
    states, candidates, size = observations.shape[1], latents.shape[1], actions.shape[1]
    total = observations.shape[0] * candidates
    limit, shift = np.float32(max_action), np.float32(phi * max_action)
    best[:] = -np.inf
    for first in range(0, total, width):
        rows = min(width, total - first)
        for network in range(3):  # decoder, actor, critic
            for row in range(width):
                # Beyond the last candidate, repeat it: its results are not read.
                candidate = first + min(row, rows - 1)
                observation = candidate // candidates
                for column in range(states):
                    a[column * width + row] = observations[observation, column]
                if network == 0:
                    for column in range(latents.shape[2]):
                        latent = latents[observation, candidate % candidates, column]
                        a[(states + column) * width + row] = latent
            if network == 0:
                result = forward_rows(decoder, width, a, b)
                for place in range(size * width):
                    proposed[place] = limit * np.tanh(result[place])
                continue
            a[states * width : (states + size) * width] = proposed[: size * width]
            if network == 1:
                result = forward_rows(actor, width, a, b)
                for place in range(size * width):
                    moved = proposed[place] + shift * np.tanh(result[place])
                    proposed[place] = min(max(moved, -limit), limit)
                continue
            result = forward_rows(critic, width, a, b)
            for row in range(rows):
                observation = (first + row) // candidates
                if result[row] > best[observation]:
                    best[observation] = result[row]
                    chosen[observation] = (first + row) % candidates
                    for column in range(size):
                        actions[observation, column] = proposed[column * width + row]
