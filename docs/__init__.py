"""The documentation: pages in Markdown, and `making`, the code that builds the site from them."""
