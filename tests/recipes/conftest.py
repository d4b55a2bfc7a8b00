"""What `fourth` holds is a paper of its own, tested where it is added."""

collect_ignore = ["fourth"]
