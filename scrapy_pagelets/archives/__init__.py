"""Read pages from archives: WARC files and folders of HTML files."""
