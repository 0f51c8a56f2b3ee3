"""The prediction of an application from its demands and the measurements of candidates."""
