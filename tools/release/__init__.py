"""What a release consists of: wheel, sdist and the plugin of kubectl, with the same bytes wherever they are built."""
