"""Algorithms of offline RL: what each is (`registry`), and a module of losses for each."""
