"""Expert policies, trained by PPO."""
