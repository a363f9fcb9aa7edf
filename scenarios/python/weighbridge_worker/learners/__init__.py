"""One file for each learner: it takes the gradient of a loss through its pipeline, as its users would."""
