"""Pages of archives: WARC files and folders."""
