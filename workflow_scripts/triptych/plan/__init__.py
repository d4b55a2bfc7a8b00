"""What a run of the workflow will take, before it starts."""
