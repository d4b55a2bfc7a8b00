"""A study in a folder of one's own, with the workflow elsewhere."""
