"""What an assistant is told once, when it connects."""

INSTRUCTIONS = """\
Findspot searches this project's code and documentation from a local index, by meaning and by \
keyword at once. Prefer it to reading whole files or to repeated grep.

Which tool:
- search_code: where something is implemented, how it works, what defines a name. Ask in plain words \
or give an identifier. mode "regex" for exact patterns; path_filter, extensions or languages to \
narrow; similar_to "path:start-end" for more like a passage; offset for the next page.
- code_research: relations rather than places: "what calls NAME()", "all implementations of NAME", "how \
does A reach B", "what imports PATH"; focus "architecture" for the shape of a project.
- search_docs: questions that Markdown, text or other documentation answers.
- search_by_path: file names by glob, such as "src/**/*.ts".
- get_index_status: whether there is an index, what it holds, what was skipped and why. list_projects: \
every indexed project.
- index_codebase: index a folder, or bring its index up to date after many changes; create_index: the \
same for the current project. reindex_file: one file you have just changed. reindex_project: rebuild \
everything; delete_index: remove the index.

Follow-up questions: a document that the user put into the chat is read in full once, for instance \
to summarise it. For later questions about it ("find X", "where does it mention Y") call search_docs \
instead of reading it again: the answer is more precise and takes less context.

Good to know:
- Results carry path, startLine and endLine: read those lines when a text was shortened.
- score is 0..1; low scores on every result mean the index probably holds no answer.
- max_tokens bounds an answer. format "toon" is the most compact.
- status "confirmation_required" comes with a question: ask the user, then call again with confirm: \
true. Never confirm on your own.
- INDEX_NOT_FOUND: call index_codebase (or create_index), then search again.
"""
