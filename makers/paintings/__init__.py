"""Style images, each painted from a seed."""
