"""Renders results for people and programs: HTML, terminal, figures, JSON documents."""
