"""What tests compare the package with: exact, literal or slower forms of its algorithms."""
