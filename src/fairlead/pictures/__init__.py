"""Answers as a person reads them: tables and bars of text, one module an answer.

The command line prints them, and in Python they are the text of a result. Here belongs no deciding and no reading.
rich is imported inside the functions of the verbs, so that an answer in JSON does not wait for it.
"""
