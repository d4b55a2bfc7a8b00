"""Ways to prune: scores, masks, and what masks leave."""
