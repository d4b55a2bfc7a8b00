"""Tasks, the experiment table, simulations, and data turned into transitions."""
