"""Stand-ins for downloads: scenes, pictures and recordings. No study imports them."""
