"""Style losses of Version 1, a module each; its name is the config's `style_loss`.

A module has LABEL and two functions: `statistics(features)` of a layer's features [N, C, H, W],
[N, ...], and `distance(statistics, targets, scaling)` of an image's statistics to a painting's,
[N]. The target of several paintings is the weighted mean of their statistics.
"""
