"""The image of all components: what goes into it, how it is built, and its bill of materials."""
