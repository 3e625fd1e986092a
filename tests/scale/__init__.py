"""Tests of hostile and large input, killed processes, full disks, sanitizers and a Spark cluster."""
