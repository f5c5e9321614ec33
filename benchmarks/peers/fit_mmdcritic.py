"""Fit the prototypes of mmd-critic with a Gaussian kernel of the width of the median distance."""

import numpy as np
from _fit import median_distance, time_fit
from mmd_critic import MMDCritic
from mmd_critic.kernels import RBFKernel


def fit(source, target, k, seed):
    numbers = np.arange(len(source))
    critic = MMDCritic(source, RBFKernel(median_distance(source)), labels=numbers)
    return critic.select_prototypes(k)[1]


time_fit("mmd-critic", fit)
