"""Speed of kgl beside the paper's route, other formulations and other packages."""
