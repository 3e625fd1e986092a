"""What a paper prints and the default does not use."""
