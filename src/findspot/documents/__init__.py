"""Named full-text indexes: documents, ranked by TF-IDF, with highlights."""
