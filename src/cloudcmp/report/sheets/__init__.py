"""The report's tables, one file a subject; each turns a book into sheets of plain text, without any markup."""
