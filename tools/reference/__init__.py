"""The pages of docs/reference that are made from the program: commands, metrics, reasons, annotations, schemas."""
