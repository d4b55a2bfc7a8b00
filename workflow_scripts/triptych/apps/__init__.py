"""What people run on their own files: the commands that belong to no study."""
