"""The figures, one file a kind; each turns a book into drawings that share one look."""
