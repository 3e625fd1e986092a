"""The benchmarks: ``python -m benchmarks --list`` names them. They are no part of the installed package."""
