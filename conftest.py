"""Keeps pytest, when it is started on the whole tree, from collecting the same modules under a second name."""

collect_ignore = ["crawler", "middlewares", "pipelines"]
