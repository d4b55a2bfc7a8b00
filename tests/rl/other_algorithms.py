"""BCQ, TD3+BC and IQL with their references' values, for tests."""

import dataclasses

from triptych.rl.algorithms.bcq import Bcq
from triptych.rl.algorithms.iql import Iql
from triptych.rl.algorithms.td3_bc import Td3Bc

BCQ = Bcq(discount=0.99, phi=0.05, lmbda=0.75, target_samples=3)
TD3_BC = Td3Bc(discount=0.99, policy_noise=0.2, noise_clip=0.5, policy_freq=2, alpha=2.5)
IQL = Iql(discount=0.99, expectile=0.7, temperature=3.0, reference="authors")
CORL_IQL = dataclasses.replace(IQL, reference="corl")
