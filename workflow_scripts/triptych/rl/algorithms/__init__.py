"""Algorithms of offline RL: what each is, its networks, its losses and how it acts."""
