"""Tests of the compiled core, beside what it replaces."""
