"""Everyday sounds by how they are made: what the shipped audio model has heard."""
