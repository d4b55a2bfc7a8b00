"""What stands in for downloads: no paper imports it."""
