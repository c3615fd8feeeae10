"""kubectl, so that the commands of the documentation run as people type them."""
