"""A page: from bytes to a node table, and what its nodes say as text."""
