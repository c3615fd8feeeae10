"""What developing Fairlead needs beyond the package itself. Nothing here is shipped or imported by `fairlead`."""
