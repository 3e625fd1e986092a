"""The item side: segment and strip."""
