"""Answers as HTML for a notebook: tables and small inline SVG, no script, no style sheet, nothing from elsewhere.

Every text is escaped in `parts`; a name with HTML in it is shown as text.
"""
