"""What a task is, the experiment table, simulations, and data turned into transitions."""
