"""Training of the models for template detection."""
