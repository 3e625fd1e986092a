"""What runs: settings, items, add-on, spiders, commands, report."""
