"""K networks side by side: their layers, sparse ones, observations, keyed draws."""
