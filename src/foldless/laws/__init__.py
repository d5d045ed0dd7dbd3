"""The paper's mathematics: effects, priors, the conjugate update, and sufficient statistics."""
